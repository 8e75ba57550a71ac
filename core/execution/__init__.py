"""Calling tools: the port, and what stands behind it."""
