"""What the Activity page shows below its figures: calls, decisions or charts. Owns `activity.view`."""

from __future__ import annotations

import streamlit as st

from core.console import Console
from dashboard.pages import open_page
from dashboard.widgets.activity_calls import calls_body
from dashboard.widgets.activity_charts import charts_body
from dashboard.widgets.activity_decisions import decisions_body
from dashboard.widgets.activity_extras import export_menu
from dashboard.widgets.activity_filter import Listing, clear_filter
from dashboard.widgets.activity_live import live_switch

VIEW = "activity.view"
CALLS, DECISIONS, CHARTS = "calls", "decisions", "charts"
VIEWS = {CALLS: "Calls", DECISIONS: "Decisions", CHARTS: "Charts"}


def view_bar(console: Console, view: str, live: str) -> tuple[str, bool]:
    """What to look at and whether it is live; both start from the URL's text. The export stands beside them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.session_state.setdefault(VIEW, view if view in VIEWS else CALLS)
        st.segmented_control(
            "Show", list(VIEWS), key=VIEW, format_func=VIEWS.__getitem__, required=True, label_visibility="collapsed"
        )
        alive = live_switch(live)
        export_menu(console.store.activity)
    return st.session_state[VIEW] or CALLS, alive


def view_body(console: Console, view: str, shown: Listing) -> str:
    """The table or the charts; returns the id of the chosen row, or nothing."""
    if shown.count == 0:
        st.info(f"No {'decision' if view == DECISIONS else 'call'} meets the filter.", icon=":material/search_off:")
        st.button("Clear the filter", key="activity.clear", icon=":material/backspace:", on_click=clear_filter)
        return ""
    if view == CHARTS:
        charts_body(console.store.activity, shown)
        return ""
    return decisions_body(console, shown) if view == DECISIONS else calls_body(console, shown)


def nothing_yet() -> None:
    """The empty page: what it is for, and where to begin."""
    st.markdown("#### Nothing has happened yet")
    st.markdown(
        "Every decision and every call is listed here as it happens: what it cost, how it went, what was learnt from it."
    )
    if st.button("Make the first decision", key="activity.first", type="primary", icon=":material/alt_route:"):
        open_page("route")
