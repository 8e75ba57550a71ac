"""Connecting servers: what will be run, the values it needs, discovery in the background, and the open sessions."""
