"""Rows of the store as rows of the page's tables: times on the visitor's clock, strangers' texts on one line."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler
from streamlit.column_config import DatetimeColumn, NumberColumn, TextColumn

from core.shared import units
from dashboard.theme import CHOSEN_SIGN, MUTED
from dashboard.ui.event_words import SIMULATED, missing, one_line, outcome_colour, outcome_words, source_words

OPEN_SESSION = "open session"
NO_WINNER, NOT_CALLED = "none", "not called"
CALL_TEXTS = ("server", "tool", "origin", "error", "subtask", "catalog")
DECISION_TEXTS = ("subtask", "router", "origin", "reason", "catalog")


def call_frame(calls: pd.DataFrame, zone: str) -> pd.DataFrame:
    """The table of calls, from `Activity.calls`. Numbers stay numbers, so that they sort; `call_styler` gives them units. What an
    injected network did, and which client called, have a column where there is any."""
    texts = {name: [one_line(text) for text in calls[name]] for name in CALL_TEXTS}
    injected = [one_line(text) for text in calls["injected"]]
    return pd.DataFrame(
        {
            "at": calls["at"].dt.tz_convert(zone),
            **_clients(calls),
            "server": texts["server"],
            "tool": texts["tool"],
            "outcome": [outcome_words(kind) for kind in calls["kind"]],
            "source": [source_words(bool(simulated)) for simulated in calls["simulated"]],
            **({"injected": injected} if any(injected) else {}),
            "latency_s": calls["latency_s"],
            "connect_s": calls["connect_s"].fillna(0.0),
            "attempts": calls["attempts"],
            "price_usd": calls["price_usd"],
            "origin": texts["origin"],
            "error": texts["error"],
            "subtask": texts["subtask"],
            "catalog": texts["catalog"],
        }
    )


def call_styler(frame: pd.DataFrame) -> Styler:
    """The same with units and words; the outcome in its colour, simulated rows muted."""
    style = frame.style
    style.format({"latency_s": units.seconds, "connect_s": connect_words, "price_usd": units.price})
    pairs = zip(frame["source"], frame["connect_s"], strict=True)
    unknown = [row for row, (words, connect_s) in enumerate(pairs) if words == SIMULATED and connect_s == 0]
    if unknown:
        style.format("–", subset=(unknown, ["connect_s"]))  # drawn, or a virtual server's open session
    style.map(lambda words: f"color: {outcome_colour(words)}", subset=["outcome"])
    return style.map(lambda words: f"color: {MUTED}" if words == SIMULATED else "", subset=["source"])


def connect_words(connect_s: float) -> str:
    """A time to connect; 0 s where an open session was used.

    >>> connect_words(0.0), connect_words(0.5), connect_words(float("nan"))
    ('open session', '500 ms', '–')
    """
    return OPEN_SESSION if connect_s == 0 else units.seconds(connect_s)


def decision_frame(
    decisions: pd.DataFrame, calls: pd.DataFrame, zone: str, *, uncalled: str = NOT_CALLED
) -> pd.DataFrame:
    """The table of decisions, from `Activity.decisions` and the calls that were made on them.

    `uncalled` is the text for a decision without a call.
    """
    texts = {name: [one_line(text) for text in decisions[name]] for name in DECISION_TEXTS}
    ends = {str(id_): outcomes_words(part) for id_, part in calls.groupby("decision_id")}
    return pd.DataFrame(
        {
            "at": decisions["at"].dt.tz_convert(zone),
            **_clients(decisions),
            "subtask": texts["subtask"],
            "router": texts["router"],
            "winner": [_winner(row) for row in decisions.itertuples()],
            "expected_price_usd": decisions["expected_price_usd"],
            "expected_time_s": decisions["expected_time_s"],
            "outcomes": [ends.get(id_, uncalled) for id_ in decisions["id"]],
            "total_ms": decisions["total_ms"],
            "reason": texts["reason"],
            "origin": texts["origin"],
            "catalog": texts["catalog"],
        }
    )


def decision_styler(frame: pd.DataFrame) -> Styler:
    """The same with units."""
    style = frame.style
    style.format(
        {"expected_price_usd": units.price, "expected_time_s": units.seconds, "total_ms": lambda ms: f"{ms:.1f} ms"}
    )
    return style


def outcomes_words(calls: pd.DataFrame) -> str:
    """How the calls of one decision ended, real ones first.

    >>> outcomes_words(pd.DataFrame({"kind": ["ok", "ok", "crash", "ok"], "simulated": [False, False, False, True]}))
    '2 ✓ ok, 1 ✗ crash; simulated: 1 ✓ ok'
    """
    parts: list[str] = []
    for simulated, part in calls.groupby("simulated"):
        counts = part["kind"].value_counts(sort=False)
        words = ", ".join(f"{count} {outcome_words(str(kind))}" for kind, count in counts.items())
        parts.append(f"{SIMULATED}: {words}" if simulated else words)
    return "; ".join(parts)


def _clients(rows: pd.DataFrame) -> dict[str, list[str]]:
    """The column of clients of the endpoint, where there is one."""
    clients = [one_line(name) for name in rows["client"]]
    return {"client": clients} if any(clients) else {}


def _winner(row: Any) -> str:
    """A missing price is shown as a dash, so an unpriced winner says that it is."""
    if missing(row.winner):
        return NO_WINNER
    return f"{CHOSEN_SIGN} {one_line(row.winner)}" + (" (unpriced)" if missing(row.expected_price_usd) else "")


def _at(zone: str) -> Any:
    return DatetimeColumn(
        "time", format="YYYY-MM-DD HH:mm:ss", help=f"In your time zone, {zone}.", width=150, pinned=True
    )


def _client() -> Any:
    return TextColumn("client", help="The name that a client of the endpoint gives itself.", width=120)


def call_columns(zone: str) -> dict[str, Any]:
    """How the columns of the calls look."""
    return {
        "at": _at(zone),
        "server": TextColumn("server", width=130),
        "tool": TextColumn("tool", width=160),
        "outcome": TextColumn("outcome", width=140),
        "source": TextColumn(
            "source", help="Simulated: a virtual server answered, or the outcome was drawn.", width=84
        ),
        "injected": TextColumn(
            "network injected", help="What an injected network did to the call: no fault of the server.", width=150
        ),
        "latency_s": NumberColumn("latency", help="The call alone, without connecting.", width=84),
        "connect_s": NumberColumn(
            "connect", help="Time to open a session, where no open session could be used.", width=100
        ),
        "attempts": NumberColumn(
            "attempts", help="More than one: the connection was lost and the tool may be repeated.", width=72
        ),
        "price_usd": NumberColumn(
            "price", help="What the call cost. Unpriced: not declared, which is not free.", width=90
        ),
        "origin": TextColumn("origin", help="Where it came from.", width=76),
        "client": _client(),
        "error": TextColumn("error", width=280),
        "subtask": TextColumn("for the sub-task", width=280),
        "catalog": TextColumn("catalog", width=90),
    }


def decision_columns(zone: str) -> dict[str, Any]:
    """How the columns of the decisions look."""
    return {
        "at": _at(zone),
        "subtask": TextColumn("sub-task", width=300),
        "router": TextColumn("router", width=80),
        "winner": TextColumn("winner", width=240),
        "expected_price_usd": NumberColumn(
            "price",
            help="Price of one call of the winner. Empty: no winner, or it is unpriced, which is not free.",
            width=84,
        ),
        "expected_time_s": NumberColumn(
            "expected time",
            help="Expected time until a call of the winner succeeds: the time term of EHRR (6).",
            width=100,
        ),
        "outcomes": TextColumn("its calls", help="How the calls that were made on this decision ended.", width=240),
        "total_ms": NumberColumn("decided in", width=84),
        "reason": TextColumn("reason", width=380),
        "origin": TextColumn("origin", help="Where it came from.", width=76),
        "client": _client(),
        "catalog": TextColumn("catalog", width=90),
    }
