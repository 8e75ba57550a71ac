"""The data frames of Activity's tables, their columns, and the table with a pager."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.domain import units
from core.routers.estimates import EXPECTED_TIME
from dashboard.pages.activity.totals import Listing
from dashboard.theme import CHOSEN_SIGN, MUTED
from dashboard.ui.table import Column, frame_of, listening_table, select_rows, selected_rows
from dashboard.ui.text import SIMULATED, cell_text, missing, outcome_colour, outcome_words, source_words

PAGE_ROWS = 100
PAGE, GENERATION = "activity.page", "activity:pager"


def page_number(count: int, linked: str) -> int:
    """Returns the number of the page to show, from 1. Call it before `pager`."""
    start = int(linked) if linked.isdecimal() and len(linked) < 9 else 1
    st.session_state[PAGE] = min(max(st.session_state.get(PAGE, start), 1), pages(count))
    return st.session_state[PAGE]


def pager(count: int, thing: str) -> None:
    """Shows the range of the rows, and draws the choice of a page."""
    first = (st.session_state[PAGE] - 1) * PAGE_ROWS
    last = min(first + PAGE_ROWS, count)
    text, choice = st.columns([2, 1], vertical_alignment="center")
    text.caption(f"{first + 1:,} to {last:,} of {count:,} {thing}, newest first. Choose a row for its details.")
    if pages(count) > 1:
        key = f"activity.pager.{st.session_state.setdefault(GENERATION, 0)}.{pages(count)}"
        number: int = st.session_state[PAGE]
        choice.pagination(pages(count), default=number, key=key, on_change=_turn, args=(key,), width="stretch")


def pages(count: int) -> int:
    """Returns the number of pages.

    >>> pages(0), pages(100), pages(101)
    (1, 1, 2)
    """
    return max(1, math.ceil(count / PAGE_ROWS))


def listing(
    shown: Listing,
    name: str,
    read: Callable[..., pd.DataFrame],
    columns: Callable[[pd.DataFrame], Sequence[Column]],
    style: Callable[[pd.DataFrame], Styler],
    *,
    thing: str = "",
    id_column: str = "id",
    nothing: str = "–",
) -> tuple[str, Mapping[str, Any] | None]:
    """Draw a page of rows, newest first. Returns the id of the chosen row, or "", and the row. It stays chosen if newer rows move it to
    another page."""
    offset = (page_number(shown.count, shown.linked.get("page", "")) - 1) * PAGE_ROWS
    rows = read(shown.admitted, limit=PAGE_ROWS, offset=offset)
    if rows.empty:
        return "", None
    ids, things, of_rows = [*map(str, rows[id_column])], thing or name, columns(rows)
    chosen = choice_table(
        style(frame_of(rows.itertuples(), of_rows)), ids, of_rows, name=name, linked=shown.linked.get("row", ""),
        about=f"{things.capitalize()}, newest first", nothing=nothing,
    )  # fmt: skip
    pager(shown.count, things)
    key = f"activity:record.{name}"
    if chosen in ids:
        st.session_state[key] = chosen, rows.iloc[ids.index(chosen)].to_dict()
    kept, record = st.session_state.get(key, ("", None))
    return chosen, record if kept == chosen else None


def choice_table(
    styler: Styler, ids: Sequence[str], columns: Sequence[Column], *, name: str, linked: str, about: str, nothing: str
) -> str:
    """Show rows and return the id of the chosen row, or "". `linked` is the first choice."""
    key, choice_key = f"activity.table.{name}", row_key(name)

    def choose() -> None:
        rows = selected_rows(key)
        st.session_state[choice_key] = ids[rows[0]] if rows and rows[0] < len(ids) else ""

    st.session_state.setdefault(choice_key, linked)
    select_rows(key, [ids.index(st.session_state[choice_key])] if st.session_state[choice_key] in ids else [])
    listening_table(styler, columns, key=key, chosen=choose, about=about, placeholder=nothing)
    return st.session_state[choice_key]


def row_key(name: str) -> str:
    return f"activity.row.{name}"


def forget_place() -> None:
    """Go back to the first page without a chosen row, because the rows have changed."""
    for key in [key for key in st.session_state if str(key).startswith(("activity.row.", "activity.table."))]:
        del st.session_state[key]
    st.session_state[PAGE] = 1
    st.session_state[GENERATION] = st.session_state.get(GENERATION, 0) + 1  # a new pager, which starts at 1


def _turn(key: str) -> None:
    st.session_state[PAGE] = st.session_state[key]


OPEN_SESSION = "open session"
NO_WINNER, NOT_CALLED = "none", "not called"


def call_styler(frame: pd.DataFrame) -> Styler:
    """Returns the table with units. Outcomes have their colour, simulated rows are muted."""
    style = frame.style
    style.format({"latency_s": units.seconds, "connect_s": connect_words, "price_usd": units.price})
    pairs = zip(frame["source"], frame["connect_s"], strict=True)
    unknown = [row for row, (words, connect_s) in enumerate(pairs) if words == SIMULATED and connect_s == 0]
    if unknown:
        style.format("–", subset=(unknown, ["connect_s"]))  # drawn, or a virtual server's open session
    style.map(lambda words: f"color: {outcome_colour(words)}", subset=["outcome"])
    return style.map(lambda words: f"color: {MUTED}" if words == SIMULATED else "", subset=["source"])


def connect_words(connect_s: float) -> str:
    """Returns a connection time. 0 s means an open session.

    >>> connect_words(0.0), connect_words(0.5), connect_words(float("nan"))
    ('open session', '500 ms', '–')
    """
    return OPEN_SESSION if connect_s == 0 else units.seconds(connect_s)


def decision_styler(frame: pd.DataFrame) -> Styler:
    style = frame.style
    style.format(
        {"expected_price_usd": units.price, "expected_time_s": units.seconds, "total_ms": lambda ms: f"{ms:.1f} ms"}
    )
    return style


def outcomes_words(calls: pd.DataFrame) -> str:
    """Returns the outcomes of the calls of one decision, real calls first.

    >>> outcomes_words(pd.DataFrame({"kind": ["ok", "ok", "crash", "ok"], "simulated": [False, False, False, True]}))
    '2 ✓ ok, 1 ✗ crash; simulated: 1 ✓ ok'
    """
    parts: list[str] = []
    for simulated, group in calls.groupby("simulated"):
        counts = group["kind"].value_counts(sort=False)
        words = ", ".join(f"{count} {outcome_words(str(kind))}" for kind, count in counts.items())
        parts.append(f"{SIMULATED}: {words}" if simulated else words)
    return "; ".join(parts)


def _winner(row: Any) -> str:
    """Returns the winner. An unpriced winner is marked, because its missing price is a dash."""
    if missing(row.winner):
        return NO_WINNER
    return f"{CHOSEN_SIGN} {cell_text(row.winner)}" + (" (unpriced)" if missing(row.expected_price_usd) else "")


def _text(name: str, title: str | None = None, **look: Any) -> Column:
    """Returns a column of strangers' texts."""
    return Column(name, title, cell=lambda row: cell_text(getattr(row, name)), **look)


def _at(zone: str) -> Column:
    return Column(
        "at", "time", 150, f"In your time zone, {zone}.", "YYYY-MM-DD HH:mm:ss", pinned=True,
        cell=lambda row: row.at.astimezone(ZoneInfo(zone)),
    )  # fmt: skip


CLIENT = _text("client", width=120, help="The client of the endpoint, as it names itself.", sparse=True)
ORIGIN = _text("origin", width=76, help="The source of the request.")
CATALOG = _text("catalog", width=90)


def call_columns(zone: str) -> tuple[Column, ...]:
    return (
        _at(zone),
        CLIENT,
        _text("server", width=130),
        _text("tool", width=160),
        Column("outcome", width=140, cell=lambda row: outcome_words(row.kind)),
        Column(
            "source", width=84, help="Simulated: a virtual server answered, or the outcome was drawn.",
            cell=lambda row: source_words(bool(row.simulated)),
        ),
        _text(
            "injected", "network injected", width=150, sparse=True,
            help="The effect of an injected network on the call. It is no fault of the server.",
        ),
        Column("latency_s", "latency", width=84, help="The call alone, without connecting."),
        Column(
            "connect_s", "connect", width=100, help="Time to open a session. An open session is reused.",
            cell=lambda row: 0.0 if missing(row.connect_s) else row.connect_s,
        ),
        Column("attempts", width=72, help="More than one if the connection was lost and the tool may be repeated."),
        Column(
            "price_usd", "price", width=90,
            help="The price of the call. Unpriced: no price is declared; the call may still cost money.",
        ),
        ORIGIN,
        _text("error", width=280, help="The error of the tool or the connection, or what the policy cut from the result."),
        _text("subtask", "for the sub-task", width=280),
        CATALOG,
    )  # fmt: skip


def decision_columns(calls: pd.DataFrame, zone: str, *, uncalled: str = NOT_CALLED) -> tuple[Column, ...]:
    """Returns the columns of decisions with these calls. `uncalled` is the text for a decision without a call."""
    ends = {str(id_): outcomes_words(group) for id_, group in calls.groupby("decision_id")}
    return (
        _at(zone),
        CLIENT,
        _text("subtask", "sub-task", width=300),
        _text("router", width=80),
        Column("winner", width=240, cell=_winner),
        Column(
            "expected_price_usd", "payment", width=84,
            help="What a call of the winner pays. Empty without a winner, and if the payment is not known.",
        ),
        Column("expected_time_s", "expected time", width=100, help=f"Of the winner. {EXPECTED_TIME}"),
        Column(
            "outcomes", "its calls", width=240, help="The outcomes of the calls on this decision.",
            cell=lambda row: ends.get(row.id, uncalled),
        ),
        Column("total_ms", "decided in", width=84),
        _text("reason", width=380),
        ORIGIN,
        CATALOG,
    )  # fmt: skip


def refused_columns(zone: str) -> tuple[Column, ...]:
    return (
        _at(zone),
        _text("client", width=120, help="operator: a person on the pages or at the command line."),
        Column("tool", width=200, cell=lambda row: refused_tool(row.server, row.tool)),
        Column("refused", width=150, cell=lambda row: f"✗ {refusal_words(row.error)}"),
        Column(
            "again", "repeated", width=84, help="Further equal refusals of the same client, stored as a count.", sparse=True,
            cell=lambda row: f"{row.repeated:,} more" if row.repeated else "",
        ),
        _text("why", width=380),
        _text("advice", "to allow it", width=380),
        _text("origin", width=76),
        CATALOG,
    )  # fmt: skip


REFUSALS = {
    "approval_needed": "waits for a person", "approval_denied": "denied by a person",
    "too_many_waiting": "too many wait", "definition_changed": "definition changed", "definition_waits": "new, waits", "budget_spent": "budget spent",
    "rate_limited": "over its rate", "server_paused": "server paused", "not_allowed": "not allowed",
    "not_authorized": "another's name",
}  # fmt: skip


def refusal_words(error: str) -> str:
    """Returns the short name of a refusal.

    >>> refusal_words("budget_spent"), refusal_words("something_new")
    ('budget spent', 'something new')
    """
    return REFUSALS.get(error, error.replace("_", " "))


def refused_tool(server: str, tool: str) -> str:
    return cell_text(f"{server}::{tool}", 160) if tool else "any"
