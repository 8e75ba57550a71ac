"""Runs and sweeps on several machines, with Ray. Each worker opens an app of its own over a copy of the store."""
