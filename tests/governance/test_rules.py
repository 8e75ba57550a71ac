"""The rules of governance as properties: budgets under any interleaving, breakers, rates, what an approval is bound to, the policy."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Tool, ToolHints
from core.domain.errors import WayfareError
from core.domain.events import Spent
from core.domain.limits import LONGEST_S, Breaker, BreakerRules, Bucket
from core.domain.outcome import ToolCall
from core.governance.approvals import Binding, binding
from core.governance.budgets import UNITS, Amount, Budget, Ledger, Usage
from core.governance.definitions import definition_json, differences
from core.governance.policy import ApprovalRules, Policy, from_toml, to_toml
from tests.cases import each

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = "2026-03-01"
names = st.sampled_from(["ann", "bob"])
servers = st.sampled_from([("home", "files"), ("home", "mail"), ("work", "mail")])
amounts = st.builds(Amount, st.floats(0, 0.5), st.just(1), st.integers(0, 900))
budgets = st.builds(
    Budget,
    st.sampled_from(["", "*", "ann"]),
    st.sampled_from(["", "*", "home"]),
    st.sampled_from(["", "*", "mail"]),
    st.none() | st.floats(0, 2),
    st.none() | st.integers(0, 6),
    st.none() | st.integers(0, 3000),
    st.sampled_from(["refuse", "cheaper", "ask"]),
)
steps = st.lists(st.tuples(names, servers, amounts, st.integers(0, 3), amounts), max_size=40)


@settings(max_examples=40)
@given(st.lists(budgets, min_size=1, max_size=3), steps)
def test_no_budget_is_ever_overspent(limits: list[Budget], calls: list[tuple[Any, ...]]) -> None:
    """Calls begin if they fit and end later, in any order, with more or less than was reserved."""
    ledger, under_way = Ledger(), list[str]()
    for number, (client, server, amount, ends, used) in enumerate(calls):
        usage = Usage(DAY, client, *server)
        if not ledger.short(limits, usage, amount):
            ledger.reserve(Spent(str(number), NOON, *usage, "read", *amount, over=False, settled=False))
            under_way.append(str(number))
        for _ in range(min(ends, len(under_way))):
            ledger.settle(under_way.pop(ends % len(under_way)), used)
        for budget in limits:
            for day_usage in ledger.usages(DAY):
                spent = ledger.used(budget, day_usage)
                for unit in UNITS:
                    limit = budget.limit(unit)
                    assert not budget.covers(day_usage) or limit is None or getattr(spent, unit) <= limit + 1e-6


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(["begin", "good", "bad", "unknown", "wait"]), st.integers(0, 9)), max_size=60)
)
def test_however_calls_overlap_one_at_a_time_tries_a_server(steps: list[tuple[str, int]]) -> None:
    breaker, rules, now_s = Breaker(), BreakerRules(failures=2, open_s=10.0), 0.0
    going: list[tuple[str, bool]] = []  # each call, and whether it tries
    for number, (step, place) in enumerate(steps):
        now_s += 11.0 if step == "wait" else 0.1
        if step == "begin":
            tries = breaker.state(now_s) == "half-open"
            if breaker.enter(str(number), now_s):
                assert not (tries and any(tried for _, tried in going))
                going.append((str(number), tries))
        elif step != "wait" and going:
            call, _ = going.pop(place % len(going))
            breaker.ended(call, {"good": True, "bad": False}.get(step), rules, now_s)


def test_a_breaker_that_opened_a_thousand_times_pauses_for_the_longest_time() -> None:
    breaker = Breaker(opened=1_024)
    breaker.ended("a", False, BreakerRules(failures=1), now_s=0.0)
    assert breaker.wait_s(0.0) == LONGEST_S


@settings(max_examples=40)
@given(st.floats(1, 600), st.lists(st.floats(0, 5), min_size=20, max_size=80))
def test_a_client_is_never_let_through_faster_than_its_rate(per_minute: float, gaps: list[float]) -> None:
    bucket, now_s, passed = Bucket(), 0.0, 0
    for gap in gaps:
        now_s += gap
        wait_s = bucket.wait_s(per_minute, now_s)
        passed += wait_s == 0.0
        assert passed <= now_s * per_minute / 60 + max(1.0, per_minute) + 1e-6
        assert wait_s >= 0.0
    assert bucket.wait_s(per_minute, now_s + 60.0) == 0.0


def test_a_minutes_worth_may_come_at_once() -> None:
    bucket = Bucket()
    assert [bucket.wait_s(10.0, 0.0) for _ in range(11)] == [0.0] * 10 + [6.0]
    assert [bucket.wait_s(10.0, now_s) > 0 for now_s in (5.9, 6.0, 6.1, 3600.0)] == [True, False, True, False]
    assert [bucket.wait_s(10.0, 3600.0) > 0 for _ in range(10)] == [False] * 9 + [
        True
    ]  # an hour of rest is worth a minute


CALL, TOOL = ToolCall("files", "write", {"path": "a", "n": [1, 2]}, catalog="demo"), Tool("files", "write", "Write.")
OTHERS: list[Binding] = [
    binding("bob", CALL, TOOL, "p"),
    binding("ann", dataclasses.replace(CALL, catalog="else"), TOOL, "p"),
    binding("ann", dataclasses.replace(CALL, server="mail"), TOOL, "p"),
    binding("ann", dataclasses.replace(CALL, tool="read"), TOOL, "p"),
    binding("ann", dataclasses.replace(CALL, arguments={"path": "a", "n": [2, 1]}), TOOL, "p"),
    binding("ann", CALL, dataclasses.replace(TOOL, description="Write all."), "p"),
    binding("ann", CALL, dataclasses.replace(TOOL, hints=ToolHints(read_only=True)), "p"),
    binding("ann", CALL, TOOL, "q"),
]


@each("other", OTHERS)
def test_an_approval_is_for_nothing_else(other: Binding) -> None:
    assert other != binding("ann", CALL, TOOL, "p")


def test_prices_are_no_part_of_a_definition() -> None:
    assert definition_json(TOOL) == definition_json(dataclasses.replace(TOOL, price_usd=1.0, success=0.1))


@settings(max_examples=40)
@given(st.text(max_size=60), st.text(max_size=60))
def test_a_difference_has_all_words_of_both(before: str, after: str) -> None:
    first, second = (definition_json(dataclasses.replace(TOOL, description=text)) for text in (before, after))
    changes = differences(first, second)
    assert bool(changes) is (before != after)
    for change in changes:
        assert "".join(piece.text for piece in change.pieces if piece.change != "added") == before
        assert "".join(piece.text for piece in change.pieces if piece.change != "removed") == after


lists = st.lists(st.text(max_size=8), max_size=3).map(tuple)
policies = st.builds(
    Policy,
    st.sampled_from(["elsewhere", "always"]),
    st.floats(0, 9),
    st.floats(0, 900),
    st.booleans(),
    lists,
    lists,
    st.builds(
        ApprovalRules, st.booleans(), st.none() | st.floats(0, 9), st.booleans(), st.floats(0, 99), st.floats(0, 99)
    ),
    st.builds(BreakerRules, st.integers(0, 9), st.floats(0, 99)),
    st.lists(budgets.filter(lambda cap: (cap.usd, cap.calls, cap.tokens) != (None,) * 3), max_size=3).map(tuple),
    st.sampled_from(["last", "hidden"]),
    st.sampled_from(["last", "hidden"]),
)


@settings(max_examples=40)
@given(policies)
def test_a_policy_is_the_same_after_its_toml(policy: Policy) -> None:
    assert from_toml(to_toml(policy)) == policy


@each(
    ("text", "words"),
    [
        ("tokens = 'sometimes'", "give 'elsewhere' or 'always'"),
        ("bogus = 1", "has no 'bogus'"),
        ("approvals = 3", "approvals is 3; give an object"),
        ("deny = 'a'", "give a list"),
        ("[[budgets]]\nusd = -1", "0 or more"),
        ("[[budgets]]\nclient = 'x'", "without a limit"),
        ("[[budgets]]\ncalls = true", "a whole number"),
        ("budgets = 1", "budgets is 1; give a list"),
        ("[approvals]\nwrites = 1", "true or false"),
        ("= 1", "not valid TOML"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said(text: str, words: str) -> None:
    with pytest.raises(WayfareError, match="policy") as error:
        from_toml(text)
    assert words in str(error.value)
