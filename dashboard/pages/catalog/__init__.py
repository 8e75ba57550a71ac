"""The Catalog page: servers and tools with their statistics, prices set by hand, Lint, imports and connections."""
