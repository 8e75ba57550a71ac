"""The Call page: a form made from a tool's JSON Schema, the call, its result, and the statistics after it.

`schema.py` is pure; the other modules draw.
"""
