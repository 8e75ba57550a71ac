"""Orders of tries against brute force over all orders, with rivals that fail together; and the order as a decision."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Server
from core.domain.trace import Drop
from core.routers.expected_value import ExpectedValue, ExpectedValueParameters
from core.routers.order_of_tries import (
    Order,
    Tries,
    evaluated,
    order_lines,
    searched,
    shares,
    tries_after,
    worth_of_next,
)
from core.routers.projection import StatisticsProjection
from core.routers.why import why_tool
from tests.routers import worlds

CHANCE = st.floats(0.0, 1.0).map(lambda x: round(x, 3))
WRONG = st.sampled_from([0.0, 0.002, 0.02])
MONEY = st.floats(0.0, 0.05).map(lambda x: round(x, 4))


@st.composite
def tries(draw: st.DrawFn, largest: int = 6, wrong: float | None = None) -> Tries:
    size = draw(st.integers(1, largest))
    column = lambda values: np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=np.float64)  # noqa: E731
    rivals = np.array(draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)), dtype=np.int64)
    return Tries(
        column(CHANCE),
        column(CHANCE),
        column(MONEY) + 1e-4,
        column(WRONG) if wrong is None else np.full(size, wrong),
        rivals,
    )


def best_order(tools: Tries, *, worth_usd: float, most: int) -> Order:
    """The order of the largest value, as the router takes it, with money as the only cost."""
    pool = searched(tools.value_usd(worth_usd), tools.money_usd, np.arange(len(tools.p_fit)), most)
    lines = order_lines(
        **shares(tools.p_fit, tools.delivery, tools.rivals, pool), price_usd=tools.money_usd[pool], time_s=np.zeros(len(pool)),
        writes=tools.wrong_usd[pool], rivals=tools.rivals[pool], most=most,
    )  # fmt: skip
    places = lines.best(worth_usd * lines.solved - lines.price_usd - lines.unsafe)
    return evaluated(tools, pool[list(places)].tolist(), worth_usd=worth_usd)


def by_worlds(tools: Tries, rows: tuple[int, ...], worth: float) -> float:
    """The value of an order, summed over every world: which sets fit, which of their tools fit, and the delivery."""
    groups = sorted(set(tools.rivals.tolist()))
    fit = {g: max(p for p, r in zip(tools.p_fit, tools.rivals, strict=True) if r == g) for g in groups}
    total = 0.0
    for world in itertools.product([True, False], repeat=len(groups)):
        state = dict(zip(groups, world, strict=True))
        weight = math.prod(fit[g] if state[g] else 1 - fit[g] for g in groups)
        reached = 1.0
        for row in rows:
            g = int(tools.rivals[row])
            solves = tools.p_fit[row] / fit[g] * tools.delivery[row] if state[g] and fit[g] > 0 else 0.0
            total += weight * reached * (solves * worth - tools.money_usd[row] - (1 - solves) * tools.wrong_usd[row])
            reached *= 1 - solves
    return total


@given(tries(), st.sampled_from([0.0, 0.01, 0.1, 1.0]), st.integers(1, 6))
@settings(max_examples=40)
def test_no_order_is_better(known: Tries, worth: float, most: int) -> None:
    order_found = best_order(known, worth_usd=worth, most=most)
    size = len(known.p_fit)
    orders = (rows for k in range(min(most, size) + 1) for rows in itertools.permutations(range(size), k))
    best = max(evaluated(known, rows, worth_usd=worth).value_usd for rows in orders)
    assert order_found.value_usd == pytest.approx(best, abs=1e-12)
    assert len(order_found.rows) <= most


@given(tries(), st.permutations(range(6)))
@settings(max_examples=40)
def test_the_value_is_that_over_all_worlds(known: Tries, order: list[int]) -> None:
    rows = tuple(row for row in order if row < len(known.p_fit))
    order_found = evaluated(known, rows, worth_usd=0.1)
    assert order_found.value_usd == pytest.approx(by_worlds(known, rows, 0.1), abs=1e-12)


@given(tries(), st.integers(1, 4))
@settings(max_examples=40)
def test_more_worth_never_means_less_success_and_dearer_errors_never_more_value(known: Tries, most: int) -> None:
    orders = [best_order(known, worth_usd=v, most=most) for v in (0.01, 0.1, 1.0, 10.0)]
    success = [math.fsum(r * p for r, p in zip(order.reached, order.chance, strict=True)) for order in orders]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(success))
    dearer = [replace(known, wrong_usd=known.wrong_usd + extra) for extra in (0.0, 0.002, 0.02, 0.2)]
    value = [best_order(tools, worth_usd=0.1, most=most).value_usd for tools in dearer]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(value))


@given(tries(), st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=40)
def test_the_next_tool_becomes_worth_a_try_where_it_says(known: Tries, worth: float) -> None:
    order = best_order(known, worth_usd=worth, most=2)
    following = worth_of_next(known, order)
    if following is None:
        return
    row, needed = following
    longer = (*order.rows, row)
    gain = lambda v: (  # noqa: E731
        evaluated(known, longer, worth_usd=v).value_usd - evaluated(known, order.rows, worth_usd=v).value_usd
    )
    assert gain(needed * 1.001) >= 0 >= gain(needed * 0.999) - 1e-15


def decided(fits: dict[str, float], like: float = 0.0, **values):
    """A decision over one server whose tools differ only in their chance of fit. `like` is the cosine between any two."""
    tools = tuple(worlds.tool(name, price_usd=0.001, latency_s=0.1) for name in fits)
    context = worlds.context(
        worlds.catalog(Server("s", "S", tools=tools)), {}, {f"s::{name}": fit for name, fit in fits.items()}
    )
    context.matcher.likeness = lambda rows: np.full((len(rows), len(rows)), like)
    return ExpectedValue().route("do it", context, ExpectedValueParameters(**values))


def test_equal_tools_go_by_name_whatever_their_rows() -> None:
    fits = {"c": 0.5, "b": 0.5, "a": 0.5}
    decision, worthless = decided(fits, n=1), decided(fits, worth_usd=0.0)
    assert decision.tries is not None
    assert worthless.tries is not None
    assert [tool.tool for tool in decision.tries.tries] == ["s::a"]
    assert (worthless.tries.tries, worthless.tries.next_tool) == ((), "s::a")


def test_a_tool_that_only_n_cuts_is_outranked_and_no_further_worth_is_named() -> None:
    decision = decided({"a": 0.6, "b": 0.55, "c": 0.5, "d": 0.45, "e": 0.001})
    assert [decision.tool_at(row).dropped_by for row in (3, 4)] == [Drop.OUTRANKED, Drop.NOT_WORTH]
    assert why_tool(decision, 3) == (
        "Outranked: s::d has expected value of one try 0.036, and 3 other tries are worth more together."
    )
    assert decision.reason.endswith("; then stop.")

    single = decided({"a": 0.6, "b": 0.55}, n=1)
    assert [why_tool(single, row) for row in (0, 1)] == [
        "Chosen: expected value of one try 0.050, and no more tries than n = 1 are made.",
        "Outranked: s::b has expected value of one try 0.045, and another try is worth more.",
    ]


def test_a_rival_that_alone_is_worth_a_try_is_not_called_too_dear() -> None:
    decision = decided({"a": 0.9, "b": 0.89}, like=0.95, worth_usd=0.01, wrong_usd=0.01)
    assert (decision.tool_at(1).dropped_by, decision.tool_at(1).utility > 0) == (Drop.NOT_WORTH, True)
    assert why_tool(decision, 1).startswith("Not worth a try once those before it have failed, because it is like")


def test_a_rival_of_a_failed_tool_is_outranked_only_if_it_is_still_worth_a_try() -> None:
    tries = Tries(np.full(3, 0.9), np.array([0.99, 0.9, 0.9]), np.full(3, 0.02), np.zeros(3), np.array([0, 0, 1]))
    chances = tries_after(tries, [0]).p_fit * tries.delivery
    assert chances[1:] == pytest.approx([evaluated(tries, [0, row], worth_usd=0.1).chance[1] for row in (1, 2)])
    assert (tries.value_usd(0.1) > 0).all()
    assert (tries_after(tries, [0]).value_usd(0.1) > 0).tolist() == [False, False, True]


def test_a_refusal_drops_the_tools_that_n_cuts_as_well() -> None:
    decision = decided({"a": 0.3, "b": 0.25}, n=1, wrong_refusals=50.0)
    assert {decision.tool_at(row).dropped_by for row in range(2)} == {Drop.REFUSED}


def test_the_plan_adds_up() -> None:
    decision = decided({"a": 0.6, "b": 0.3, "c": 0.001})
    assert decision.tries is not None
    first_try, second_try = decision.tries.tries
    assert (first_try.tool, second_try.tool, decision.tries.next_tool) == ("s::a", "s::b", "s::c")
    assert second_try.reached == pytest.approx(1 - first_try.chance)
    assert decision.tries.success == pytest.approx(first_try.chance + second_try.reached * second_try.chance)
    assert decision.reason.startswith("Try s::a first")


def test_an_unpriced_tool_is_never_taken_as_free() -> None:
    tools = (worlds.tool("paid", price_usd=0.02, latency_s=0.1), worlds.tool("unpriced", latency_s=0.1))
    catalog = worlds.catalog(Server("s", "S", tools=tools))
    context = replace(
        worlds.context(catalog, {}, {"s::paid": 0.5, "s::unpriced": 0.5}),
        statistics=StatisticsProjection(catalog).snapshot(),
    )
    decision = ExpectedValue().route("do it", context)
    assert np.isnan(decision.tools.price_usd[1])
    assert decision.tools.utility[1] == pytest.approx(decision.tools.utility[0])
