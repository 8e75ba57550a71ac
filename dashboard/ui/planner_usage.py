"""What the planner's language model has used since the start; nothing where none is set."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.planning.base import Usage
from core.shared import units
from dashboard.ui.text import escaped


def planner_usage(app: App) -> None:
    """One line below everything else: it changes with every request to the model."""
    usage = app.routing.planner_usage()
    if usage is not None:
        st.caption(f":material/smart_toy: {_line(usage)}")


def _line(usage: Usage) -> str:
    """
    >>> _line(Usage("small", calls=2, failed=1, input_tokens=1200, output_tokens=80, cost_usd=0.0, cache_hits=3))
    'small since the start: 2 replies, 1,200 tokens read, 80 written, 0 m\\\\$; 3 from the cache, 1 failed, 0 invented names refused.'
    >>> "price not known" in _line(Usage("small", calls=1, cost_usd=None))
    True
    """
    cost = "price not known" if usage.cost_usd is None else escaped(units.price(usage.cost_usd))
    return (
        f"{escaped(usage.model, 60)} since the start: {usage.calls:,} replies, {usage.input_tokens:,} tokens read, "
        f"{usage.output_tokens:,} written, {cost}; {usage.cache_hits:,} from the cache, {usage.failed:,} failed, "
        f"{usage.invented:,} invented names refused."
    )
