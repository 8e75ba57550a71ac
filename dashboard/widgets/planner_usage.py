"""What the language model that plans has taken since the start; nothing where none is set."""

from __future__ import annotations

import streamlit as st

from core import units
from core.console import Console
from core.planning.usage import Usage
from dashboard.widgets.text import escaped


def planner_usage(console: Console) -> None:
    """One line below everything else: it changes with every question that the model is asked."""
    usage = console.planner_usage()
    if usage is not None:
        st.caption(f":material/smart_toy: {_line(usage)}")


def _line(usage: Usage) -> str:
    """
    >>> _line(Usage("small", calls=2, failed=1, input_tokens=1200, output_tokens=80, cost_usd=0.0, cache_hits=3))
    'small since the start: 2 answers, 1,200 tokens read, 80 written, 0 m\\\\$; 3 from memory, 1 failed, 0 invented names refused.'
    >>> "price not known" in _line(Usage("small", calls=1, cost_usd=None))
    True
    """
    cost = "price not known" if usage.cost_usd is None else escaped(units.price(usage.cost_usd))
    return (
        f"{escaped(usage.model, 60)} since the start: {usage.calls:,} answers, {usage.input_tokens:,} tokens read, "
        f"{usage.output_tokens:,} written, {cost}; {usage.cache_hits:,} from memory, {usage.failed:,} failed, "
        f"{usage.invented:,} invented names refused."
    )
