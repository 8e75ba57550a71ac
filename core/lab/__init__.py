"""Measurements of routers: retrieval measures, benchmarks, thresholds, what-if curves, recovery, and the scenarios.

Imports `core.routers` and everything below; it stores nothing. A new measure is a line in `measures.py`, a new experiment a
file of its own that `core.services` offers to pages and commands.
"""
