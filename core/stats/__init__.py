"""Outcomes to statistics: running averages (EHRR (8)) that can be recomputed from the stored outcomes at any time.

A new running figure is a field of `ema.py::Running`, a line of `SOURCES` there, and a field of the statistics in
`core.domain.statistics`.
"""
