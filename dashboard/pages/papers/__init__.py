"""The Papers page: what the five papers print, with ours beside it."""
