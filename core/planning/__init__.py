"""Interpretation of a query: the `Planner` protocol, rules that need no model, and a language model behind an endpoint.

A new question to a planner is a method of the protocol in `base.py`, of `rules.py` and of `model.py`, with its prompt
there and its reply in `model_replies.py`.
"""
