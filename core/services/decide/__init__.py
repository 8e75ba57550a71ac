"""Catalogs, routing, What if, and the log of decisions."""
