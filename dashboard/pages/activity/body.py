"""What the Activity page shows below its totals: calls, decisions or charts. Owns `activity.view`."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.events import ActivityFilter
from dashboard.pages.activity.calls import calls_body
from dashboard.pages.activity.charts_view import charts_body
from dashboard.pages.activity.decisions import decisions_body
from dashboard.pages.activity.extras import export_menu
from dashboard.pages.activity.filter import Listing, clear_filter
from dashboard.pages.activity.live import live_switch
from dashboard.pages.activity.refused import refused_body
from dashboard.ui.navigation import open_page

VIEW = "activity.view"
CALLS, DECISIONS, REFUSED, CHARTS = "calls", "decisions", "refused", "charts"
VIEWS = {CALLS: "Calls", DECISIONS: "Decisions", REFUSED: "Refused", CHARTS: "Charts"}


def view_bar(app: App, view: str, live: str, refused: int) -> tuple[str, bool]:
    """What to look at and whether it is live; both start from the URL's text. The export stands beside them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.session_state.setdefault(VIEW, view if view in VIEWS else CALLS)
        st.segmented_control(
            "Show",
            list(VIEWS),
            key=VIEW,
            format_func=lambda name: _title(name, refused),
            required=True,
            label_visibility="collapsed",
        )
        alive = live_switch(live)
        export_menu(app)
    return st.session_state[VIEW] or CALLS, alive


def _title(view: str, refused: int) -> str:
    return f"{VIEWS[view]} ({refused:,})" if view == REFUSED and refused else VIEWS[view]


def view_body(app: App, view: str, shown: Listing) -> str:
    """The table or the charts; returns the id of the chosen row, or nothing."""
    if shown.count == 0:
        _nothing_found(view, shown)
        return ""
    if view == CHARTS:
        charts_body(app, shown)
        return ""
    bodies = {DECISIONS: decisions_body, REFUSED: refused_body}
    return bodies.get(view, calls_body)(app, shown)


def _nothing_found(view: str, shown: Listing) -> None:
    thing = {DECISIONS: "decision", REFUSED: "refused request"}.get(view, "call")
    if view == REFUSED and shown.admitted == ActivityFilter():
        st.info(
            "Nothing was refused yet. What a scope, a budget, an approval, a changed definition, a rate or a paused server holds up is "
            "listed here as it happens, with what would allow it.",
            icon=":material/verified_user:",
        )
        return
    if shown.admitted == ActivityFilter():
        st.info(f"There is no {thing} yet. A call is made on the Call page, or from a candidate of the Route page.")
        return
    st.info(f"No {thing} meets the filter.", icon=":material/search_off:")
    st.button("Clear the filter", key="activity.clear", icon=":material/backspace:", on_click=clear_filter)


def nothing_yet() -> None:
    """The empty page: what it is for, and where to begin."""
    st.markdown("#### Nothing has happened yet")
    st.markdown(
        "Every decision and every call is listed here as it happens: what it cost, how it went, what was learnt from it."
    )
    if st.button("Make the first decision", key="activity.first", type="primary", icon=":material/alt_route:"):
        open_page("route")
