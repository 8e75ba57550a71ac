"""The Network page: two routers through the same simulated or live network, step by step.

`job.py` makes a `RunTimeline` in the background, `view.py` draws it at a step.
"""
