"""The decisions of Activity, and the trace of a decision."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.app import App
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.events import ActivityFilter, DecisionEvent
from dashboard.pages.activity.frames import (
    NOT_CALLED,
    call_columns,
    call_styler,
    decision_columns,
    decision_styler,
    listing,
)
from dashboard.pages.activity.totals import Listing
from dashboard.session import first_catalog
from dashboard.theme import ACCEPTED_SIGN, CHOSEN_SIGN, REJECTED_SIGN
from dashboard.ui.question import QueryForm
from dashboard.ui.table import Column, frame_of, table
from dashboard.ui.text import cell_text, escaped, origin_words, timestamp
from dashboard.ui.url_state import open_page


def shortlist_frame(event: DecisionEvent) -> pd.DataFrame:
    servers = _rows(_document(event.trace_json, {}).get("servers"))
    return pd.DataFrame(
        {
            "": [ACCEPTED_SIGN if row.get("accepted") else REJECTED_SIGN for row in servers],
            "server": [cell_text(row.get("server")) for row in servers],
            "utility U": _texts(servers, "utility", _plain),
            "similarity": _texts(servers, "similarity", _plain),
            "time to success C": _texts(servers, "cost_s", units.seconds),
            "posted price τ": _texts(servers, "posted_price_usd", units.price, "not asked"),
            "ask price c": _texts(servers, "ask_usd", units.price, "none advertised"),
        }
    )


def candidates_frame(event: DecisionEvent) -> pd.DataFrame:
    tools = _rows(_document(event.candidates_json, []))
    return pd.DataFrame(
        {
            "": [CHOSEN_SIGN if row.get("tool") == event.winner else "" for row in tools],
            "tool": [cell_text(row.get("tool")) for row in tools],
            "utility U": _texts(tools, "utility", _plain),
            "similarity": _texts(tools, "similarity", _plain),
            "price": _texts(tools, "price_usd", units.price, "unpriced"),
            "payment": _texts(tools, "payment_usd", units.price, "unpriced"),
            "time cost": _texts(tools, "time_cost_s", units.seconds),
            "success": _texts(tools, "success", units.share),
            "tokens": _texts(tools, "tokens", lambda count: f"{count:,.0f}"),
        }
    )


def parameters(event: DecisionEvent) -> dict[str, Any]:
    values = _document(event.parameters_json, {})
    return values if isinstance(values, dict) else {}


def changed(used: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that differ from today's defaults.

    >>> changed({"k": 3, "n": 3, "b": None}, {"k": 5, "n": 3, "b": None})
    {'k': 3}
    """
    return {name: value for name, value in used.items() if name not in defaults or defaults[name] != value}


def route_query(event: DecisionEvent, defaults: Mapping[str, Any], first_catalog: str) -> dict[str, str]:
    """Returns the query of Decision with the same request and knobs. Knobs that no longer exist are left out."""
    query = QueryForm(event.subtask, event.server_hint, event.catalog, event.router).texts(first_catalog)
    knobs = {name: str(value) for name, value in changed(parameters(event), defaults).items() if name in defaults}
    return {name: text for name, text in {**query, **knobs}.items() if text}


def _document(text: str, otherwise: Any) -> Any:
    """Returns a JSON document of the type of `otherwise`, or `otherwise`: events of other versions may differ."""
    try:
        document = json.loads(text)
    except ValueError:
        return otherwise
    return document if isinstance(document, type(otherwise)) else otherwise


def _rows(document: Any) -> list[dict[str, Any]]:
    return [row for row in document if isinstance(row, dict)] if isinstance(document, list) else []


def _texts(rows: list[dict[str, Any]], name: str, show: Any, nothing: str = "–") -> list[str]:
    values = [row.get(name) for row in rows]
    return [show(value) if isinstance(value, int | float) else nothing for value in values]


def _plain(value: float) -> str:
    return f"{value:z.3f}"


CALLS_READ = 5000


def decisions_body(app: App, shown: Listing) -> str:
    """Draw a page of decisions and the chosen decision. Returns its id, or ""."""
    activity = app.store.activity

    def columns(decisions: pd.DataFrame) -> Sequence[Column]:
        since = ActivityFilter(since=decisions["at"].min().to_pydatetime())  # a call follows its decision
        calls = activity.calls(since, limit=CALLS_READ)
        uncalled = NOT_CALLED if len(calls) < CALLS_READ else "select it"  # older calls were not read
        return decision_columns(calls, shown.zone, uncalled=uncalled)

    decision_id, _ = listing(shown, "decisions", activity.decisions, columns, decision_styler)
    event = activity.decision(decision_id) if decision_id else None
    if event is not None:
        decision_detail(app, event, shown.zone)
    return decision_id


def decision_detail(app: App, event: DecisionEvent, zone: str) -> None:
    with st.container(border=True):
        _head(app, event, zone)
        servers, tools = st.columns([1, 1.1])
        with servers:
            _table(
                "Short-list, by utility: ✓ accepted the posted price, ✗ did not",
                shortlist_frame(event),
                "No server was on the short-list."
                if event.trace_json
                else "It was removed with the trace, whose time is over.",
            )
        with tools:
            _table("Candidates, by utility: ★ won", candidates_frame(event), "There was no candidate.")
        knobs, calls = st.columns([1, 1.9])
        with knobs:
            _table(
                "Parameters that differ from their defaults",
                parameter_frame(app, event),
                "None: every knob was at its default.",
            )
        with calls:
            _calls(app, event, zone)


def parameter_frame(app: App, event: DecisionEvent) -> pd.DataFrame:
    defaults = _defaults(app, event.router)
    values = changed(parameters(event), defaults)
    return pd.DataFrame(
        {
            "parameter": [cell_text(name) for name in values],
            "value": [cell_text(str(value)) for value in values.values()],
            "default": [cell_text(str(defaults[name])) if name in defaults else "unknown today" for name in values],
        }
    )


def _head(app: App, event: DecisionEvent, zone: str) -> None:
    text, button = st.columns([5, 1.2], vertical_alignment="center")
    hint = f" · server hint “{cell_text(event.server_hint, 120)}”" if event.server_hint else ""
    text.text(cell_text(event.subtask, 400))
    text.text(f"router {cell_text(event.router, 40)} · catalog {cell_text(event.catalog, 60)}{hint}")
    text.text(cell_text(event.reason, 600))
    client = f", the client {escaped(event.client, 60)}" if event.client else ""
    text.caption(
        f"{timestamp(event.at, zone)} · decided in {event.total_ms:.1f} ms · for {origin_words(event.origin)}{client}"
    )
    query = route_query(event, _defaults(app, event.router), first_catalog())
    if button.button(
        "Open in Decision", key="activity.decision.route", icon=":material/alt_route:", type="primary", width="stretch"
    ):
        open_page("route", **query)


def _calls(app: App, event: DecisionEvent, zone: str) -> None:
    outcomes = app.store.activity.decision_outcomes(event.id)
    st.caption("Calls made on this decision")
    if not outcomes:
        st.text("No calls yet.")
        return
    columns = [column for column in call_columns(zone) if column.name not in {"subtask", "catalog"}]
    frame = frame_of(outcomes, columns).astype({"price_usd": "float64"})
    table(call_styler(frame), columns, key="activity.decision.calls", placeholder="unpriced")


def _table(title: str, frame: pd.DataFrame, nothing: str) -> None:
    st.caption(title)
    if frame.empty:
        st.text(nothing)
    else:
        table(frame)


def _defaults(app: App, router: str) -> dict[str, object]:
    """Returns the default parameters of a router, or {} if the router no longer exists."""
    try:
        return dict(app.routing.parameters(router).values())
    except WayfareError:
        return {}
