"""The calls of a filter, and the chosen one in full. Owns the keys `activity.call.*`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.outcome import OutcomeKind
from core.shared import units
from core.shared.untrusted_text import visible
from dashboard.pages.activity.filter import Listing
from dashboard.pages.activity.frames import OPEN_SESSION, call_columns, call_frame, call_styler
from dashboard.pages.activity.table import PAGE_ROWS, choice_table, page_number, pager, row_key
from dashboard.ui.event_words import missing, one_line, outcome_words, source_words, timestamp
from dashboard.ui.fault_badge import injected_badge
from dashboard.ui.navigation import open_page

RECORD = "activity:call"
HISTORY_READ = 20_000


def calls_body(app: App, shown: Listing) -> str:
    """One page of calls and the chosen one; returns its id, or nothing."""
    offset = (page_number(shown.count, shown.linked.get("page", "")) - 1) * PAGE_ROWS
    calls = app.store.activity.calls(shown.admitted, limit=PAGE_ROWS, offset=offset)
    if calls.empty:
        return ""
    ids = calls["id"].tolist()
    chosen = choice_table(
        call_styler(call_frame(calls, shown.zone)), ids, call_columns(shown.zone),
        name="calls", linked=shown.linked.get("row", ""), about="Calls, newest first", nothing="unpriced",
    )  # fmt: skip
    pager(shown.count, "calls")
    if chosen in ids:
        st.session_state[RECORD] = calls.iloc[ids.index(chosen)].to_dict()
    record: Mapping[str, Any] = st.session_state.get(RECORD, {})
    if chosen and record.get("id") == chosen:  # also when newer calls have pushed it off this page
        call_detail(app, record, shown.zone)
    return chosen


def call_detail(app: App, record: Mapping[str, Any], zone: str) -> None:
    """Everything that is stored of a call; arguments and results are not."""
    with st.container(border=True):
        _head(record)
        left, right = st.columns(2)
        with left:
            st.caption("The record. Arguments and results are not stored: they may be confidential.")
            _pairs(record_rows(record, zone))
        with right:
            if record["error"]:
                st.caption("The error of the tool or the connection")
                st.code(visible(record["error"]), language=None, wrap_lines=True)
            _statistics(app, record)


def record_rows(record: Mapping[str, Any], zone: str) -> list[tuple[str, str]]:
    """The record as names and values."""
    return [
        ("time", timestamp(record["at"].to_pydatetime(), zone)),
        ("outcome", outcome_words(record["kind"])),
        ("source", source_words(bool(record["simulated"]))),
        *((("network injected", one_line(record["injected"])),) if record["injected"] else ()),
        ("latency", units.seconds(record["latency_s"])),
        ("connect", _connect(record)),
        ("attempts", f"{record['attempts']}"),
        ("price", units.price(record["price_usd"])),
        ("origin", one_line(record["origin"])),
        *((("client", one_line(record["client"])),) if record["client"] else ()),
        ("catalog", one_line(record["catalog"])),
        ("for the sub-task", one_line(record["subtask"]) or "no decision"),
        ("router", one_line(record["router"]) or "–"),
        ("call id", record["id"]),
    ]


def _connect(record: Mapping[str, Any]) -> str:
    if missing(record["connect_s"]):
        return "–" if record["simulated"] else OPEN_SESSION
    return units.seconds(record["connect_s"])


def statistics_rows(after: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The running statistics right after a call, EHRR (8)."""
    return [
        ("tool: success r", units.share(after["tool_success"])),
        ("tool: latency", units.seconds(after["tool_latency_s"])),
        ("tool: calls learnt from", f"{after['tool_calls']:,}"),
        ("server: success r", units.share(after["server_success"])),
        ("server: variance of r", f"{after['server_success_variance']:.3g}"),
        ("server: post-accept failure", units.share(after["server_post_accept_failure"])),
        ("server: call time", units.seconds(after["server_call_s"])),
        ("server: connection time", units.seconds(after["server_conn_s"])),
        ("server: calls learnt from", f"{after['server_calls']:,}"),
    ]


def show_decision(decision_id: str) -> None:
    """Turn to a decision in the next run; for `on_click`."""
    st.session_state["activity.view"] = "decisions"
    st.session_state[row_key("decisions")] = decision_id


def _head(record: Mapping[str, Any]) -> None:
    text, decision, again = st.columns([4.4, 1.2, 1.2], vertical_alignment="center")
    tool = f"{record['server']}::{record['tool']}"
    text.text(one_line(tool, 160))
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
    if again.button(
        "Call again", key="activity.call.again", icon=":material/play_arrow:", type="primary", width="stretch"
    ):
        open_page("call", catalog=record["catalog"], tool=tool)


def _statistics(app: App, record: Mapping[str, Any]) -> None:
    history = app.store.activity.statistics_history(
        record["catalog"], record["server"], record["tool"], limit=HISTORY_READ
    )
    after = history[history["outcome_id"] == record["id"]]
    if after.empty:
        st.caption("No statistics are stored for this call.")
        return
    learnt = not record["simulated"] and record["kind"] != "cancelled"
    st.caption(
        "Statistics after it, EHRR (8)"
        if learnt
        else "Statistics when it ended: nothing is learnt from simulated or cancelled calls"
    )
    _pairs(statistics_rows(after.iloc[-1].to_dict()))


def _pairs(rows: list[tuple[str, str]]) -> None:
    frame = pd.DataFrame(rows, columns=["name", "value"])
    st.dataframe(
        frame,
        hide_index=True,
        height="content",
        column_config={"name": st.column_config.TextColumn(width=170)},
    )
