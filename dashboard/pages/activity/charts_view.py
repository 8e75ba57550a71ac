"""The charts of a filter: what was spent, how calls went, and what was learnt of one tool. Owns `activity.learnt`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import plotly.graph_objects as go
import streamlit as st

from core.app import App
from core.domain.events import ActivityFilter
from dashboard.pages.activity.charts.spending import spending_by_server, spending_over_time
from dashboard.pages.activity.charts.statistics import latency_history, success_history
from dashboard.pages.activity.charts.trends import latency_over_time, success_over_time
from dashboard.pages.activity.filter import Listing
from dashboard.ui.chart import chart
from dashboard.ui.charts.time_axes import bucket_for

LEARNT = "activity.learnt"
CALLS_READ = 2000
Tool = tuple[str, str, str]


def charts_body(app: App, shown: Listing) -> None:
    """Four charts of the filter's calls, then the history of what was learnt of one tool."""
    activity, admitted, zone = app.store.activity, shown.admitted, shown.zone
    newest = activity.calls(admitted, limit=1)["at"]
    oldest = activity.calls(admitted, limit=1, offset=shown.count - 1)["at"]
    bucket = bucket_for((newest.max() - oldest.min()).to_pytimedelta())
    money, trends = (
        activity.spending_over_time(bucket, admitted),
        activity.success_and_latency_over_time(bucket, admitted),
    )
    judged = trends.loc[trends["calls"] > 0]
    of = whose(admitted)
    left, right = st.columns(2)
    with left:
        _chart(spending_by_server(activity.spending_by_server(admitted)), "servers", "Spent by server")
        _chart(success_over_time(judged, bucket, zone, of=of), "success", "Share of calls that succeeded over time")
    with right:
        _chart(spending_over_time(money, bucket, zone), "money", "Spent over time")
        _chart(latency_over_time(judged, bucket, zone, of=of), "latency", "Latency over time")
    _learnt(app, admitted, zone)


def whose(admitted: ActivityFilter) -> str:
    """Whose calls the trends show.

    >>> whose(ActivityFilter()), whose(ActivityFilter(server="a")), whose(ActivityFilter(server="a", tool="b"))
    ('all calls', 'a', 'a::b')
    """
    if not admitted.server:
        return "all calls"
    return f"{admitted.server}::{admitted.tool}" if admitted.tool else admitted.server


def _learnt(app: App, admitted: ActivityFilter, zone: str) -> None:
    tools = _real_tools(app, admitted)
    if not tools:
        st.caption("Nothing was learnt from these calls: statistics learn from real calls only.")
        return
    if st.session_state.get(LEARNT) not in tools:
        st.session_state[LEARNT] = tools[0]
    choice, about = st.columns([1, 1.6], vertical_alignment="bottom")
    choice.selectbox(
        "What was learnt of", tools, key=LEARNT, format_func=lambda tool: f"{tool[1]}::{tool[2]} ({tool[0]})"
    )
    catalog, server, tool = st.session_state[LEARNT]
    history = app.store.activity.statistics_history(catalog, server, tool)
    about.caption(
        f"The running statistics of EHRR (8) after each of the last {len(history):,} calls of this tool. "
        "The server's statistics also learn from its other tools."
    )
    name = f"{server}::{tool}"
    left, right = st.columns(2)
    with left:
        _chart(success_history(history, zone, tool=name), "learnt-success", "Learnt success over time")
    with right:
        _chart(latency_history(history, zone, tool=name), "learnt-latency", "Learnt latency over time")


def _real_tools(app: App, admitted: ActivityFilter) -> list[Tool]:
    """Tools that were really called, the most called first."""
    if admitted.simulated:
        return []
    calls = app.store.activity.calls(replace(admitted, simulated=False), limit=CALLS_READ)
    names = zip(calls["catalog"], calls["server"], calls["tool"], strict=True)
    return [tool for tool, _ in Counter(names).most_common()]


def _chart(figure: go.Figure, key: str, about: str) -> None:
    chart(figure, key=f"activity:chart:{key}", about=about)
