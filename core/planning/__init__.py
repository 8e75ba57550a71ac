"""Interpretation of a query: the `Planner` protocol, rules that need no model, and a language model behind an endpoint."""
