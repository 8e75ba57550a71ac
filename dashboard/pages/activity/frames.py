"""The data frames of Activity's tables, their columns, and the table with a pager."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.domain import units
from core.routers.estimates import EXPECTED_TIME
from dashboard.theme import CHOSEN_SIGN, MUTED
from dashboard.ui.table import Column, listening_table
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


def choice_table(
    styler: Styler,
    ids: Sequence[str],
    columns: Sequence[Column],
    *,
    name: str,
    linked: str,
    about: str,
    nothing: str = "–",
) -> str:
    """Show rows and return the id of the chosen row, or "". `linked` is the first choice."""
    key, choice_key = f"activity.table.{name}", row_key(name)
    st.session_state.setdefault(choice_key, linked)
    rows = [ids.index(st.session_state[choice_key])] if st.session_state[choice_key] in ids else []
    if rows != _rows(key):
        st.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    st.session_state[_ids_key(name)] = list(ids)
    listening_table(styler, columns, key=key, chosen=lambda: _choose(key, name), about=about, placeholder=nothing)
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


def _choose(key: str, name: str) -> None:
    rows, ids = _rows(key), st.session_state[_ids_key(name)]
    st.session_state[row_key(name)] = ids[rows[0]] if rows and rows[0] < len(ids) else ""


def _rows(key: str) -> list[int]:
    return list(st.session_state[key]["selection"]["rows"]) if key in st.session_state else []


def _ids_key(name: str) -> str:
    return f"activity:ids.{name}"


OPEN_SESSION = "open session"
NO_WINNER, NOT_CALLED = "none", "not called"
CALL_TEXTS = ("server", "tool", "origin", "error", "subtask", "catalog")
DECISION_TEXTS = ("subtask", "router", "origin", "reason", "catalog")


def call_frame(calls: pd.DataFrame, zone: str) -> pd.DataFrame:
    """Returns the table of calls from `Activity.calls`. Numbers stay numbers, so that they sort; `call_styler` adds units. Injected
    networks and clients have a column if there are any."""
    texts = {name: [cell_text(text) for text in calls[name]] for name in CALL_TEXTS}
    injected = [cell_text(text) for text in calls["injected"]]
    return pd.DataFrame(
        {
            "at": calls["at"].dt.tz_convert(zone), **_clients(calls), "server": texts["server"], "tool": texts["tool"],
            "outcome": [outcome_words(kind) for kind in calls["kind"]],
            "source": [source_words(bool(simulated)) for simulated in calls["simulated"]],
            **({"injected": injected} if any(injected) else {}), "latency_s": calls["latency_s"],
            "connect_s": calls["connect_s"].fillna(0.0), "attempts": calls["attempts"], "price_usd": calls["price_usd"],
            "origin": texts["origin"], "error": texts["error"], "subtask": texts["subtask"],
            "catalog": texts["catalog"],
        }
    )  # fmt: skip


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


def decision_frame(
    decisions: pd.DataFrame, calls: pd.DataFrame, zone: str, *, uncalled: str = NOT_CALLED
) -> pd.DataFrame:
    """Returns the table of decisions from `Activity.decisions` and their calls.

    `uncalled` is the text for a decision without a call.
    """
    texts = {name: [cell_text(text) for text in decisions[name]] for name in DECISION_TEXTS}
    ends = {str(id_): outcomes_words(group) for id_, group in calls.groupby("decision_id")}
    return pd.DataFrame(
        {
            "at": decisions["at"].dt.tz_convert(zone), **_clients(decisions), "subtask": texts["subtask"],
            "router": texts["router"], "winner": [_winner(row) for row in decisions.itertuples()],
            "expected_price_usd": decisions["expected_price_usd"], "expected_time_s": decisions["expected_time_s"],
            "outcomes": [ends.get(id_, uncalled) for id_ in decisions["id"]], "total_ms": decisions["total_ms"],
            "reason": texts["reason"], "origin": texts["origin"], "catalog": texts["catalog"],
        }
    )  # fmt: skip


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


def _clients(rows: pd.DataFrame) -> dict[str, list[str]]:
    clients = [cell_text(name) for name in rows["client"]]
    return {"client": clients} if any(clients) else {}


def _winner(row: Any) -> str:
    """Returns the winner. An unpriced winner is marked, because its missing price is a dash."""
    if missing(row.winner):
        return NO_WINNER
    return f"{CHOSEN_SIGN} {cell_text(row.winner)}" + (" (unpriced)" if missing(row.expected_price_usd) else "")


def _at(name: str, zone: str) -> Column:
    return Column(name, "time", 150, f"In your time zone, {zone}.", "YYYY-MM-DD HH:mm:ss", pinned=True)


def _client(name: str) -> Column:
    return Column(name, width=120, help="The client of the endpoint, as it names itself.")


def call_columns(zone: str) -> tuple[Column, ...]:
    return (
        _at("at", zone),
        Column("server", width=130),
        Column("tool", width=160),
        Column("outcome", width=140),
        Column("source", width=84, help="Simulated: a virtual server answered, or the outcome was drawn."),
        Column(
            "injected", "network injected", width=150,
            help="The effect of an injected network on the call. It is no fault of the server.",
        ),
        Column("latency_s", "latency", width=84, help="The call alone, without connecting."),
        Column("connect_s", "connect", width=100, help="Time to open a session. An open session is reused."),
        Column("attempts", width=72, help="More than one if the connection was lost and the tool may be repeated."),
        Column(
            "price_usd", "price", width=90,
            help="The price of the call. Unpriced: no price is declared; the call may still cost money.",
        ),
        Column("origin", width=76, help="The source of the request."),
        _client("client"),
        Column("error", width=280, help="The error of the tool or the connection, or what the policy cut from the result."),
        Column("subtask", "for the sub-task", width=280),
        Column("catalog", width=90),
    )  # fmt: skip


def decision_columns(zone: str) -> tuple[Column, ...]:
    return (
        _at("at", zone),
        Column("subtask", "sub-task", width=300),
        Column("router", width=80),
        Column("winner", width=240),
        Column(
            "expected_price_usd", "payment", width=84,
            help="What a call of the winner pays. Empty without a winner, and if the payment is not known.",
        ),
        Column(
            "expected_time_s", "expected time", width=100,
            help=f"Of the winner. {EXPECTED_TIME}",
        ),
        Column("outcomes", "its calls", width=240, help="The outcomes of the calls on this decision."),
        Column("total_ms", "decided in", width=84),
        Column("reason", width=380),
        Column("origin", width=76, help="The source of the request."),
        _client("client"),
        Column("catalog", width=90),
    )  # fmt: skip
