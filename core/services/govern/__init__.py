"""Who may call what, at what cost, and what waits for a person."""
