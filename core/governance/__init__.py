"""What agents may do through the endpoint: scopes, budgets, rates, breakers, approvals, changed definitions, and the policy.

Rules alone, in plain values: what is kept between two calls is an object that its owner locks, time is an argument, and nothing
here reads or writes. `core/services/govern/governance.py` asks these rules before and after each call, and keeps what has to last.
"""
