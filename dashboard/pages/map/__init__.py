"""The Map page: a catalog's tools in two dimensions, with the sub-task and its candidates among them."""
