"""What a call changed, as rows: statistics before and after, and the next decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from core.calls.calls import CallReport
from core.domain.decision import Decision, Exposure
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.domain.trace import KEPT, ServerTrace, ToolTrace
from core.routers.ema import Rates, Running
from dashboard.pages.call.learning import learning_rows, next_rows, next_sentence
from tests.cases import each

BEFORE = Running(success=0.9, success_variance=0.0, post_accept_failure=0.02, call_s=1.0, conn_s=0.3)


def report(
    kind: OutcomeKind, *, latency_s: float = 0.5, connect_s: float | None = None, learns: bool = True
) -> CallReport:
    """A call on figures that are the same for server and tool."""
    outcome = Outcome(ToolCall("s", "t"), kind, datetime.now(UTC), latency_s)
    after = BEFORE.after(
        y=kind.success, latency_s=latency_s, fail=kind.post_accept_failure, connect_s=connect_s, rates=Rates()
    )
    after = after if learns else BEFORE
    return CallReport(outcome, BEFORE, after, BEFORE, after)


def decision(utility: list[float], ranks: list[int], dropped: list[int], candidates: tuple[int, ...]) -> Decision:
    """A decision over the tools s::a, s::b, … of one server."""
    one, count = np.ones(1), len(utility)
    ids = tuple(f"s::{chr(97 + place)}" for place in range(count))
    servers = ServerTrace(
        names=("s",), similarity=one, fixed_s=one, call_s=one, success=one, post_accept_failure=one, cost_s=one, utility=one,
        posted_price_usd=one, ask_usd=one, rank=np.array([1]), shortlisted=np.array([True]), accepted=np.array([True]),
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
    after = decision([0.3, 0.4], [2, 1], [3, KEPT], (1,))
    rows = {(row.of, row.statistic): row for row in next_rows(WON, after, "s::a")}
    assert rows["winner", "tool"][2:] == ("s::a", "s::b", "changed", None)
    assert rows["called tool", "utility U"][2:] == ("0.5000", "0.3000", "▼ −0.2000", False)
    assert rows["called tool", "rank"][2:] == ("1", "2 (outranked)", "▼ 1 down", False)
    rejected = replace(
        after, tools=replace(after.tools, rank=np.array([0, 1]), dropped=np.array([1, KEPT], dtype=np.int8))
    )
    assert next_rows(WON, rejected, "s::a")[-1][2:] == ("1", "rejected", "▼ no longer ranked", False)
    assert len(next_rows(WON, after, "gone::tool")) == 2
