"""Charts whose points choose something: a click puts the point's name into a session key."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from dashboard.charts.base import CONFIG


def clickable(figure: go.Figure, key: str, target: str) -> None:
    """Show a chart; a click on a point sets `st.session_state[target]` to the point's customdata."""
    st.plotly_chart(
        figure, key=key, config=CONFIG, on_select=lambda: _chosen(key, target), selection_mode="points", width="stretch"
    )


def _chosen(key: str, target: str) -> None:
    points = st.session_state[key]["selection"]["points"]
    if points and points[0].get("customdata"):
        name = points[0]["customdata"]
        st.session_state[target] = name[0] if isinstance(name, list) else name
