"""Charts whose points choose something: a click tells the point's name."""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from dashboard.charts.base import CONFIG


def clickable(figure: go.Figure, key: str, choose: Callable[[str], None]) -> None:
    """Show a chart; a click on a point calls `choose` with the point's customdata."""
    st.plotly_chart(
        figure,
        key=key,
        config=CONFIG,
        on_select=lambda: _clicked(key, choose),
        selection_mode="points",
        width="stretch",
    )


def _clicked(key: str, choose: Callable[[str], None]) -> None:
    points = st.session_state[key]["selection"]["points"]
    if points and points[0].get("customdata"):  # nothing where a second click let the point go
        name = points[0]["customdata"]
        choose(name[0] if isinstance(name, list) else name)
