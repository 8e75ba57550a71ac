"""Govern: what agents may do, what waits for a person, what is left of budgets, who has a token."""
