"""Exact what-if for one sub-task: at which value of a parameter another tool wins, and what would make a chosen tool win.

`strips` is the plain data, `case` and `points` decide one sub-task for many values at once, `events` and `strip_of` find the
values at which the decision changes.
"""
