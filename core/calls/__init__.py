"""Calls of tools: the call, its outcome, and the health of servers between calls."""
