"""Rules for agents at the endpoint: scopes, budgets, rates, breakers, approvals, changed definitions, and the policy.

The rules work on plain values. State between two calls is an object that its owner locks, time is an argument, and
nothing here reads or writes. `core/governance/governance.py` applies these rules before and after each call, and
stores the lasting state.
"""
