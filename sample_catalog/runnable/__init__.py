"""Runnable MCP servers: `python -m sample_catalog.runnable.<module>` speaks stdio, or HTTP with `--http PORT`."""
