"""The section of stored runs: the table, which runs are chosen, and how they compare, in charts and in words."""
