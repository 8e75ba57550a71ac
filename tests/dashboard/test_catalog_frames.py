"""Catalog and statistics as tables: units, sources, filters; what a call changed, as rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from core.calls.calls import CallReport
from core.domain.catalog import Catalog, Connection, Server, Tool, ToolHints
from core.domain.decision import Decision, Exposure
from core.domain.events import OutcomeEvent, Override
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.domain.trace import KEPT, ServerTrace, ToolTrace
from core.routers.ema import Rates, Running
from core.routers.projection import StatisticsProjection
from dashboard.pages.call.learning import learning_rows, next_rows, next_sentence
from dashboard.pages.catalog.detail import statistics_rows
from dashboard.ui import catalog_frames as frames
from tests.cases import each

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CATALOG = Catalog(
    "mine",
    (
        Server(
            "weather",
            "Forecasts for any place.",
            category="data",
            tools=(
                Tool("weather", "today", "The weather now.\nIn one line.", price_usd=0.002, latency_s=0.4, tier="low"),
                Tool("weather", "week", "Seven days.", price_usd=0.006, hints=ToolHints(read_only=True)),
            ),
            conn_s=0.25,
            success=0.9,
            connection=Connection("stdio", command="npx"),
        ),
        Server("empty", "Says little.", tools=(Tool("empty", "nothing"),), ask_usd=0.5),
        Server("bare", tools=(Tool("bare", "x"),)),
    ),
)


def outcome(tool: str = "today", **changes: object) -> OutcomeEvent:
    fields: dict[str, object] = {
        "id": "1", "at": NOW, "decision_id": None, "catalog": "mine", "server": "weather", "tool": tool, "kind": "ok",
        "latency_s": 1.0, "connect_s": 0.5, "attempts": 1, "price_usd": None, "simulated": False, "error": "",
        "origin": "console",
    }  # fmt: skip
    return OutcomeEvent(**{**fields, **changes})  # type: ignore[arg-type]


def book(*overrides: Override) -> StatisticsProjection:
    return StatisticsProjection(CATALOG, overrides=overrides)


def test_servers_say_every_figure_with_unit_and_source() -> None:
    frame = frames.server_frame(CATALOG, book().snapshot())
    first = frame.loc[0]
    assert first["ask_musd"] == pytest.approx(4.0)
    assert (first["ask_source"], first["connect_source"], first["call_source"]) == (
        "tools' median",
        "declared",
        "prior",
    )
    assert first["connect_s"] == 0.25
    assert first["success_percent"] == pytest.approx(90.0)
    assert list(frame["ask_source"]) == ["tools' median", "declared", "unpriced"]
    assert np.isnan(frame.loc[2, "ask_musd"])
    assert list(frame["reached_by"]) == ["stdio", "no command", "no command"]


def test_tools_say_every_figure_with_unit_and_source() -> None:
    frame = frames.tool_frame(CATALOG, book().snapshot(), np.array([10, 20, 30, 40]))
    assert list(frame["price_musd"][:2]) == pytest.approx([2.0, 6.0])
    assert list(frame["price_source"]) == ["declared", "declared", "unpriced", "unpriced"]
    assert list(frame["latency_source"]) == ["declared", "prior", "prior", "prior"]
    assert frame.loc[0, "description"] == "The weather now. In one line."
    assert frame.loc[1, "hints"] == "read-only"
    assert list(frame["tokens"]) == [10, 20, 30, 40]


def test_measured_statistics_say_from_how_many_calls() -> None:
    running = book()
    running.observe(outcome())
    running.observe(outcome("week", connect_s=None))
    servers, tools = (make(CATALOG, running.snapshot()) for make in (frames.server_frame, frames.tool_frame))
    assert servers.loc[0, "call_source"] == "measured · 2 calls"
    assert servers.loc[0, "connect_source"] == "measured · 1 call"
    assert list(tools["success_source"])[:2] == ["measured · 1 call", "measured · 1 call"]
    totals = frames.counts(CATALOG, running.snapshot())
    assert (totals.servers, totals.tools, totals.unpriced) == (3, 4, 2)
    assert (totals.measured, totals.statistics) == (4 + 4, 4 * 3 + 2 * 4)


def test_a_description_is_shown_on_one_line_with_nothing_hidden() -> None:
    assert frames.beginning("a\x1b[31m\u202e b\n\nc") == "a⟨U+001B⟩[31m⟨U+202E⟩ b c"
    assert len(frames.beginning("x" * 10_000_000)) == frames.SHOWN_DESCRIPTION


def test_the_detail_lists_value_source_and_what_was_declared() -> None:
    statistics = book().snapshot()
    rows = {row[0]: row[1:] for row in statistics_rows(statistics, CATALOG.servers[0], 0)}
    assert rows["Connection time"] == ("250 ms", "declared", "250 ms")
    assert rows["Call time"] == ("1 s", "prior", "–")
    assert statistics_rows(statistics, CATALOG.tools[0], 0)[0] == ("Latency", "400 ms", "declared", "400 ms")


BEFORE = Running(success=0.9, success_variance=0.0, post_accept_failure=0.02, call_s=1.0, conn_s=0.3)


def report(
    kind: OutcomeKind, *, latency_s: float = 0.5, connect_s: float | None = None, learns: bool = True
) -> CallReport:
    """A call with equal figures for server and tool."""
    outcome = Outcome(ToolCall("s", "t"), kind, datetime.now(UTC), latency_s)
    updated = BEFORE.after(
        y=kind.success, latency_s=latency_s, fail=kind.post_accept_failure, connect_s=connect_s, rates=Rates()
    )
    updated = updated if learns else BEFORE
    return CallReport(outcome, BEFORE, updated, BEFORE, updated)


def decision(utility: list[float], ranks: list[int], dropped: list[int], candidates: tuple[int, ...]) -> Decision:
    """A decision over the tools s::a, s::b, … of one server."""
    ones, count = np.ones(1), len(utility)
    ids = tuple(f"s::{chr(97 + place)}" for place in range(count))
    servers = ServerTrace(
        names=("s",), similarity=ones, fixed_s=ones, call_s=ones, success=ones, post_accept_failure=ones, cost_s=ones, utility=ones,
        posted_price_usd=ones, ask_usd=ones, rank=np.array([1]), shortlisted=np.array([True]), accepted=np.array([True]),
    )  # fmt: skip
    zeros = np.zeros(count)
    tools = ToolTrace(
        ids=ids, server_row=np.zeros(count, dtype=np.int64), similarity=zeros, latency_s=zeros, success=zeros,
        time_cost_s=zeros, money_cost_s=zeros, utility=np.array(utility), price_usd=zeros, payment_usd=zeros,
        affordable=np.ones(count, dtype=bool), rank=np.array(ranks), dropped=np.array(dropped, dtype=np.int8),
    )  # fmt: skip
    return Decision(
        "d", datetime.now(UTC), "c", "ehrr", "task", "", {}, "none", "nobody accepted.", servers, tools, candidates,
        np.ones(count, dtype=np.int64), 0, {}, Exposure(len(candidates)),
    )  # fmt: skip


WON = decision([0.5, 0.4], [1, 2], [KEPT, KEPT], (0, 1))


def test_a_success_is_marked_as_better_and_in_units() -> None:
    rows = {(row.of, row.statistic): row for row in learning_rows(report(OutcomeKind.OK))}
    assert rows["server", "success r"][2:] == ("90 %", "91.5 %", "▲ +1.5 points", True)
    assert rows["server", "call time"][2:] == ("1 s", "925 ms", "▼ −75 ms", True)
    assert rows["server", "connection time"].change == "no change"
    assert rows["tool", "calls"][2:] == ("0", "1", "+1", None)
    assert ("tool", "post-accept failure") not in rows


def test_a_lost_server_is_marked_as_worse() -> None:
    rows = {(row.of, row.statistic): row for row in learning_rows(report(OutcomeKind.CRASH, connect_s=2.3))}
    assert rows["server", "post-accept failure"].change == "▲ +14.7 points"
    assert rows["server", "variance σ²"].after == "0.121"
    assert rows["server", "connection time"].change == "▲ +300 ms"
    assert {row.better for row in rows.values()} == {False, True, None}  # a quick crash makes the call time shorter


NONE = decision([0.3, 0.4], [0, 0], [1, 1], ())


@each(
    ("before", "after", "sentence"),
    [
        (NONE, WON, "s::a would win now, with utility 0.500; before there was no winner."),
        (WON, WON, "s::a stays the winner with the same utility, 0.500; the called tool keeps rank 1."),
        (
            WON,
            decision([0.6, 0.4], [1, 2], [KEPT, KEPT], (0, 1)),
            "s::a stays the winner; its utility rises from 0.500 to 0.600; the called tool keeps rank 1.",
        ),
        (
            WON,
            decision([0.3, 0.4], [2, 1], [3, KEPT], (1,)),
            "s::b would win now with utility 0.400, in place of s::a with 0.500; "
            "the called tool goes from rank 1 to 2 (outranked).",
        ),
        (WON, NONE, "Now no tool would win: nobody accepted."),
    ],
)
def test_the_sentence_about_the_next_decision(before: Decision, after: Decision, sentence: str) -> None:
    assert next_sentence(before, after, "s::a") == sentence


def test_the_rows_about_the_next_decision() -> None:
    result = decision([0.3, 0.4], [2, 1], [3, KEPT], (1,))
    rows = {(row.of, row.statistic): row for row in next_rows(WON, result, "s::a")}
    assert rows["winner", "tool"][2:] == ("s::a", "s::b", "changed", None)
    assert rows["called tool", "utility U"][2:] == ("0.5000", "0.3000", "▼ −0.2000", False)
    assert rows["called tool", "rank"][2:] == ("1", "2 (outranked)", "▼ 1 down", False)
    rejected = replace(
        result, tools=replace(result.tools, rank=np.array([0, 1]), dropped=np.array([1, KEPT], dtype=np.int8))
    )
    assert next_rows(WON, rejected, "s::a")[-1][2:] == ("1", "rejected", "▼ no longer ranked", False)
    assert len(next_rows(WON, result, "gone::tool")) == 2
