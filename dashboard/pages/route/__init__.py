"""Decision: one sub-task routed, from the query to the candidates, with the reasons and the cost curves.

`view.py` has the page without a query, `decision.py` a decision, `why.py` the parts beside it, `plan.py` a query of several steps.
"""
