"""Pages: one a file, no logic."""
