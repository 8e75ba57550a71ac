"""The calls of Activity, and the requests of agents that were refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from core.app import App
from core.domain import units
from core.domain.outcome import OutcomeKind
from core.domain.untrusted_text import visible
from dashboard.pages.activity.frames import (
    OPEN_SESSION,
    call_columns,
    call_styler,
    listing,
    refusal_words,
    refused_columns,
    refused_tool,
    row_key,
)
from dashboard.pages.activity.totals import Listing
from dashboard.ui.table import Column, table
from dashboard.ui.text import cell_text, escaped, injected_badge, missing, outcome_words, source_words, timestamp
from dashboard.ui.url_state import open_page

HISTORY_READ = 20_000


def calls_body(app: App, shown: Listing) -> str:
    """Draw a page of calls and the chosen call. Returns its id, or ""."""
    call_id, record = listing(
        shown, "calls", app.store.activity.calls, lambda _: call_columns(shown.zone), call_styler, nothing="unpriced"
    )
    if record is not None:
        call_detail(app, record, shown.zone)
    return call_id


def call_detail(app: App, record: Mapping[str, Any], zone: str) -> None:
    """Show the stored record of a call. Arguments and results are not stored."""
    with st.container(border=True):
        _head(record)
        left, right = st.columns(2)
        with left:
            st.caption("The record. Arguments and results are not stored: they may be confidential.")
            _pairs(record_rows(record, zone))
        with right:
            if record["error"]:
                st.caption("The error of the tool or the connection, or what the policy cut from the result")
                st.code(visible(record["error"]), language=None, wrap_lines=True)
            _statistics(app, record)


def record_rows(record: Mapping[str, Any], zone: str) -> list[tuple[str, str]]:
    return [
        ("time", timestamp(record["at"].to_pydatetime(), zone)), ("outcome", outcome_words(record["kind"])),
        ("source", source_words(bool(record["simulated"]))),
        *((("network injected", cell_text(record["injected"])),) if record["injected"] else ()),
        ("latency", units.seconds(record["latency_s"])), ("connect", _connect(record)),
        ("attempts", f"{record['attempts']}"), ("price", units.price(record["price_usd"])),
        ("origin", cell_text(record["origin"])),
        *((("client", cell_text(record["client"])),) if record["client"] else ()),
        ("catalog", cell_text(record["catalog"])), ("for the sub-task", cell_text(record["subtask"]) or "no decision"),
        ("router", cell_text(record["router"]) or "–"), ("call id", record["id"]),
    ]  # fmt: skip


def _connect(record: Mapping[str, Any]) -> str:
    if missing(record["connect_s"]):
        return "–" if record["simulated"] else OPEN_SESSION
    return units.seconds(record["connect_s"])


def statistics_rows(after: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("tool: success r", units.share(after["tool_success"])),
        ("tool: latency", units.seconds(after["tool_latency_s"])),
        ("tool: calls counted", f"{after['tool_calls']:,}"),
        ("server: success r", units.share(after["server_success"])),
        ("server: variance of r", f"{after['server_success_variance']:.3g}"),
        ("server: post-accept failure", units.share(after["server_post_accept_failure"])),
        ("server: call time", units.seconds(after["server_call_s"])),
        ("server: connection time", units.seconds(after["server_conn_s"])),
        ("server: calls counted", f"{after['server_calls']:,}"),
    ]


def show_decision(decision_id: str) -> None:
    """Show a decision in the next run. For `on_click`."""
    st.session_state["activity.view"] = "decisions"
    st.session_state[row_key("decisions")] = decision_id


def _head(record: Mapping[str, Any]) -> None:
    text, decision, repeat = st.columns([4.4, 1.2, 1.2], vertical_alignment="center")
    tool = f"{record['server']}::{record['tool']}"
    text.text(cell_text(tool, 160))
    colour = "green" if record["kind"] == OutcomeKind.OK else "orange"
    text.markdown(f":{colour}[**{outcome_words(record['kind'])}**] · {source_words(bool(record['simulated']))}")
    if record["injected"]:
        with text:
            injected_badge(record["injected"])
    if not missing(record["decision_id"]):
        decision.button(
            "Its decision", key="activity.call.decision", icon=":material/alt_route:", width="stretch",
            on_click=show_decision, args=(record["decision_id"],),
        )  # fmt: skip
    if repeat.button(
        "Call again", key="activity.call.again", icon=":material/play_arrow:", type="primary", width="stretch"
    ):
        open_page("call", catalog=record["catalog"], tool=tool)


def _statistics(app: App, record: Mapping[str, Any]) -> None:
    history = app.store.activity.statistics_history(
        record["catalog"], record["server"], record["tool"], limit=HISTORY_READ
    )
    rows = history[history["outcome_id"] == record["id"]]
    if rows.empty:
        st.caption("No statistics are stored for this call.")
        return
    teaches = not record["simulated"] and not record["injected"] and OutcomeKind(record["kind"]).counts
    st.caption(
        "Statistics after it, EHRR (8)"
        if teaches
        else "Statistics at its end. Calls that are simulated, cancelled, not made or under an injected network do not change them"
    )
    _pairs(statistics_rows(rows.iloc[-1].to_dict()))


def _pairs(rows: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["name", "value"])
    table(frame, (Column("name", width=170),))


GOVERNED = {
    "approval_needed",
    "approval_denied",
    "definition_changed",
    "definition_waits",
    "budget_spent",
    "not_allowed",
    "rate_limited",
}
"""Refusals that the Govern page can lift. Others end with time."""


def refused_body(app: App, shown: Listing) -> str:
    """Draw a page of refused requests and the chosen request. Returns its id, or ""."""
    sequence, record = listing(
        shown, "refused", app.store.activity.refused, lambda _: refused_columns(shown.zone), lambda frame: frame.style,
        thing="refused requests", id_column="sequence",
    )  # fmt: skip
    if record is not None:
        _detail(record, shown.zone)
    return sequence


def _detail(record: Mapping[str, Any], zone: str) -> None:
    with st.container(border=True):
        text, button = st.columns([5, 1.2], vertical_alignment="center")
        text.markdown(
            f"**{escaped(cell_text(record['client'], 80))}** · {escaped(refused_tool(record['server'], record['tool']))} · :orange[**{escaped(refusal_words(record['error']))}**]"
        )
        text.text(cell_text(record["why"], 600))
        text.markdown(f"**To allow it**  \n{escaped(cell_text(record['advice'], 600))}")
        repeats = f" · {record['repeated']:,} more of the same before it" if record["repeated"] else ""
        text.caption(
            f"{timestamp(record['at'].to_pydatetime(), zone)}{repeats} · record {record['sequence']} of the sealed log"
        )
        if record["error"] in GOVERNED and button.button(
            "Open Govern",
            key="activity.refused.govern",
            icon=":material/shield_person:",
            type="primary",
            width="stretch",
        ):
            open_page("govern")
