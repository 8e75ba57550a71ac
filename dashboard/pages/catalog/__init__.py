"""The Catalog page: servers and tools with their statistics, prices set by hand, Lint, imports and connections.

`imports` is the dialog that reads documents, `connections` the one that connects servers and their state, `lint` the findings.
"""
