"""Requests that governance did not let through: whose, why, and what would allow them. Owns the keys `activity.refused.*`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.column_config import DatetimeColumn, TextColumn

from core.app import App
from dashboard.pages.activity.filter import Listing
from dashboard.pages.activity.table import PAGE_ROWS, choice_table, page_number, pager
from dashboard.ui.event_words import one_line, timestamp
from dashboard.ui.navigation import open_page
from dashboard.ui.text import escaped

WORDS = {
    "approval_needed": "waits for a person",
    "approval_denied": "denied by a person",
    "too_many_waiting": "too many wait",
    "definition_changed": "definition changed",
    "budget_spent": "budget spent",
    "rate_limited": "over its rate",
    "server_paused": "server paused",
    "not_allowed": "not allowed",
    "not_authorized": "another's name",
}
GOVERNED = {"approval_needed", "approval_denied", "definition_changed", "budget_spent", "not_allowed", "rate_limited"}
"""What the page Govern changes; time changes the rest."""
RECORD = "activity:refused"


def refused_body(app: App, shown: Listing) -> str:
    """One page of them and the chosen one; returns its id, or nothing."""
    offset = (page_number(shown.count, shown.linked.get("page", "")) - 1) * PAGE_ROWS
    rows = app.store.activity.refused(shown.admitted, limit=PAGE_ROWS, offset=offset)
    if rows.empty:
        return ""
    ids = [str(number) for number in rows["sequence"]]
    chosen = choice_table(
        refused_frame(rows, shown.zone).style, ids, COLUMNS,
        name="refused", linked=shown.linked.get("row", ""), about="Refused requests, newest first",
    )  # fmt: skip
    pager(shown.count, "refused requests")
    if chosen in ids:
        st.session_state[RECORD] = rows.iloc[ids.index(chosen)].to_dict()
    record: Mapping[str, Any] = st.session_state.get(RECORD, {})
    if chosen and str(record.get("sequence")) == chosen:
        _detail(record, shown.zone)
    return chosen


def refused_frame(rows: pd.DataFrame, zone: str) -> pd.DataFrame:
    """The table, from `Activity.refused`; how often a refusal was repeated has a column where any was."""
    return pd.DataFrame(
        {
            "at": rows["at"].dt.tz_convert(zone),
            "client": [one_line(text) for text in rows["client"]],
            "tool": [_tool(row) for row in rows.to_dict("records")],
            "refused": [f"✗ {words(error)}" for error in rows["error"]],
            **(
                {"again": [f"{count:,} more" if count else "" for count in rows["repeated"]]}
                if max(rows["repeated"], default=0)
                else {}
            ),
            "why": [one_line(text) for text in rows["why"]],
            "advice": [one_line(text) for text in rows["advice"]],
            "origin": [one_line(text) for text in rows["origin"]],
            "catalog": [one_line(text) for text in rows["catalog"]],
        }
    )


def words(error: str) -> str:
    """A refusal's short name in words.

    >>> words("budget_spent"), words("something_new")
    ('budget spent', 'something new')
    """
    return WORDS.get(error, error.replace("_", " "))


def _tool(row: Mapping[str, Any]) -> str:
    return one_line(f"{row['server']}::{row['tool']}", 160) if row["tool"] else "any"


def _detail(record: Mapping[str, Any], zone: str) -> None:
    """Both sentences in full, and the way to what decides it."""
    with st.container(border=True):
        text, button = st.columns([5, 1.2], vertical_alignment="center")
        text.markdown(
            f"**{escaped(one_line(record['client'], 80))}** · {escaped(_tool(record))} · :orange[**{escaped(words(record['error']))}**]"
        )
        text.text(one_line(record["why"], 600))
        text.markdown(f"**What would allow it**  \n{escaped(one_line(record['advice'], 600))}")
        again = f" · {record['repeated']:,} more of the same before it" if record["repeated"] else ""
        text.caption(
            f"{timestamp(record['at'].to_pydatetime(), zone)}{again} · record {record['sequence']} of the sealed log"
        )
        if record["error"] in GOVERNED and button.button(
            "Open Govern",
            key="activity.refused.govern",
            icon=":material/shield_person:",
            type="primary",
            width="stretch",
        ):
            open_page("govern")


COLUMNS: Mapping[str, Any] = {
    "at": DatetimeColumn("time", format="YYYY-MM-DD HH:mm:ss", help="In your time zone.", width=150, pinned=True),
    "client": TextColumn("client", help="operator: a person at the pages or the command line.", width=120),
    "tool": TextColumn("tool", width=200),
    "refused": TextColumn("refused", width=150),
    "again": TextColumn("repeated", help="The same refusal of the same client, not written one by one.", width=84),
    "why": TextColumn("why", width=380),
    "advice": TextColumn("what would allow it", width=380),
    "origin": TextColumn("origin", width=76),
    "catalog": TextColumn("catalog", width=90),
}
