"""The decisions of a filter, and the chosen one in full. Owns the keys `activity.decision.*`."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.events import ActivityFilter, DecisionEvent
from core.shared.errors import WayfareError
from dashboard.pages.activity.filter import Listing
from dashboard.pages.activity.frames import (
    NOT_CALLED,
    call_columns,
    call_frame,
    call_styler,
    decision_columns,
    decision_frame,
    decision_styler,
)
from dashboard.pages.activity.table import PAGE_ROWS, choice_table, page_number, pager
from dashboard.pages.activity.trace import candidates_frame, changed, parameters, route_query, shortlist_frame
from dashboard.session import first_catalog
from dashboard.ui.event_words import one_line, origin_words, timestamp
from dashboard.ui.navigation import open_page
from dashboard.ui.text import escaped

CALLS_READ = 5000
PLAIN = {"origin", "error", "subtask", "catalog"}


def decisions_body(app: App, shown: Listing) -> str:
    """One page of decisions and the chosen one; returns its id, or nothing."""
    activity, zone = app.store.activity, shown.zone
    offset = (page_number(shown.count, shown.linked.get("page", "")) - 1) * PAGE_ROWS
    decisions = activity.decisions(shown.admitted, limit=PAGE_ROWS, offset=offset)
    if decisions.empty:
        return ""
    since = ActivityFilter(since=decisions["at"].min().to_pydatetime())  # nothing is called before it was decided
    calls = activity.calls(since, limit=CALLS_READ)
    uncalled = NOT_CALLED if len(calls) < CALLS_READ else "choose it to see"  # older calls were not read
    frame = decision_frame(decisions, calls, zone, uncalled=uncalled)
    chosen = choice_table(
        decision_styler(frame), decisions["id"].tolist(), decision_columns(zone),
        name="decisions", linked=shown.linked.get("row", ""), about="Decisions, newest first",
    )  # fmt: skip
    pager(shown.count, "decisions")
    event = activity.decision(chosen) if chosen else None
    if event is not None:
        decision_detail(app, event, zone)
    return chosen


def decision_detail(app: App, event: DecisionEvent, zone: str) -> None:
    """The query, who was considered, what the knobs were, and what came of it."""
    with st.container(border=True):
        _head(app, event, zone)
        servers, tools = st.columns([1, 1.1])
        with servers:
            _table(
                "Short-list, by utility: ✓ accepted the posted price, ✗ did not",
                shortlist_frame(event),
                "No server was on the short-list.",
            )
        with tools:
            _table("Candidates, by utility: ★ won", candidates_frame(event), "There was no candidate.")
        knobs, calls = st.columns([1, 1.9])
        with knobs:
            _table(
                "Parameters that differ from their defaults",
                parameter_frame(app, event),
                "None: every knob stood at its default.",
            )
        with calls:
            _calls(app, event, zone)


def parameter_frame(app: App, event: DecisionEvent) -> pd.DataFrame:
    """Parameter, value and default of what was changed."""
    defaults = _defaults(app, event.router)
    values = changed(parameters(event), defaults)
    return pd.DataFrame(
        {
            "parameter": [one_line(name) for name in values],
            "value": [one_line(str(value)) for value in values.values()],
            "default": [one_line(str(defaults[name])) if name in defaults else "unknown today" for name in values],
        }
    )


def _head(app: App, event: DecisionEvent, zone: str) -> None:
    text, button = st.columns([5, 1.2], vertical_alignment="center")
    hint = f" · server hint “{one_line(event.server_hint, 120)}”" if event.server_hint else ""
    text.text(one_line(event.subtask, 400))
    text.text(f"router {one_line(event.router, 40)} · catalog {one_line(event.catalog, 60)}{hint}")
    text.text(one_line(event.reason, 600))
    client = f", the client {escaped(event.client, 60)}" if event.client else ""
    text.caption(
        f"{timestamp(event.at, zone)} · decided in {event.total_ms:.1f} ms · for {origin_words(event.origin)}{client}"
    )
    query = route_query(event, _defaults(app, event.router), first_catalog())
    if button.button(
        "Open in Route", key="activity.decision.route", icon=":material/alt_route:", type="primary", width="stretch"
    ):
        open_page("route", **query)


def _calls(app: App, event: DecisionEvent, zone: str) -> None:
    made = app.store.activity.decision_outcomes(event.id)
    st.caption("Calls made on this decision")
    if not made:
        st.text("No call was made on it.")
        return
    rows = pd.DataFrame([{name: getattr(outcome, name) for name in outcome.__slots__} for outcome in made])
    rows["at"] = pd.to_datetime(rows["at"], utc=True)
    frame = call_frame(
        rows.assign(subtask=event.subtask).astype({"connect_s": "float64", "price_usd": "float64"}), zone
    )
    frame = frame.drop(columns=["subtask", "catalog"])
    st.dataframe(
        call_styler(frame),
        hide_index=True,
        column_config=call_columns(zone),
        height="content",
        key="activity.decision.calls",
        placeholder="unpriced",
    )


def _table(title: str, frame: pd.DataFrame, nothing: str) -> None:
    st.caption(title)
    if frame.empty:
        st.text(nothing)
    else:
        st.dataframe(frame, hide_index=True, height="content")


def _defaults(app: App, router: str) -> dict[str, object]:
    """The router's default parameters; none where there is no such router any more."""
    try:
        return dict(app.routing.parameters(router).values())
    except WayfareError:
        return {}
