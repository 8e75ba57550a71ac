"""The Papers page: the figures that five papers print, with ours beside them."""
