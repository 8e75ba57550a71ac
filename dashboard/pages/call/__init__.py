"""The Call page: a form made from a tool's JSON Schema, the call, its result, and what it changed.

`schema*.py`, `values.py`, `flat_table.py`, `media.py` and `statistics_change.py` are pure; the others draw.
"""
