"""The open catalogs: tools, index and statistics of each, edits, followed files, server sign-ins and values, and the log of decisions."""
