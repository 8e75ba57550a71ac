"""Outcomes to statistics: running averages (EHRR (8)) that can be recomputed from the stored outcomes at any time.

Imports `core.domain` and `core.economics`. A new running figure is a field of `Running`, a line of `SOURCES` in `running_table.py`
and a field of the statistics in `core.domain.statistics`.
"""
