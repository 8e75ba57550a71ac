"""The charts of the What if page."""
