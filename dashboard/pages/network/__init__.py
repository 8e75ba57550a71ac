"""The Network page: two routers through the same simulated or live network, step by step.

`run_both.py` makes a `RunTimeline` in a background job, `player.py` draws it at a step. `editor` is the dialog that edits a
network, `runs` the section of stored runs.
"""
