"""The Map page: the tools of a catalog in two dimensions, with a sub-task and its candidates among them."""
