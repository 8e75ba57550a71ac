"""Expected value: the order of tries as a decision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.domain.catalog import Server
from core.routers.expected_value import ExpectedValue, ExpectedValueParameters
from core.routers.projection import StatisticsProjection
from tests.routers import worlds


def decided(fits: dict[str, float], **values):
    """A decision over one server whose tools differ in nothing but their chance of fit."""
    tools = tuple(worlds.tool(name, price_usd=0.001, latency_s=0.1) for name in fits)
    context = worlds.context(
        worlds.catalog(Server("s", "S", tools=tools)), {}, {f"s::{name}": fit for name, fit in fits.items()}
    )
    return ExpectedValue().route("do it", context, ExpectedValueParameters(**values))


def test_equal_tools_go_by_name_whatever_their_rows() -> None:
    decision = decided({"c": 0.5, "b": 0.5, "a": 0.5}, n=1)
    assert decision.tries is not None
    assert [one.tool for one in decision.tries.tries] == ["s::a"]
    assert decision.tries.next_tool == "s::b"


def test_the_plan_adds_up() -> None:
    decision = decided({"a": 0.6, "b": 0.3, "c": 0.001})
    assert decision.tries is not None
    first, second = decision.tries.tries
    assert (first.tool, second.tool, decision.tries.next_tool) == ("s::a", "s::b", "s::c")
    assert second.reached == pytest.approx(1 - first.chance)
    assert decision.tries.success == pytest.approx(first.chance + second.reached * second.chance)
    assert decision.reason.startswith("Try s::a first")


def test_an_unpriced_tool_is_never_taken_as_free() -> None:
    tools = (worlds.tool("paid", price_usd=0.02, latency_s=0.1), worlds.tool("unpriced", latency_s=0.1))
    of = worlds.catalog(Server("s", "S", tools=tools))
    context = replace(
        worlds.context(of, {}, {"s::paid": 0.5, "s::unpriced": 0.5}), statistics=StatisticsProjection(of).snapshot()
    )
    decision = ExpectedValue().route("do it", context)
    assert np.isnan(decision.tools.price_usd[1])
    assert decision.tools.utility[1] == pytest.approx(decision.tools.utility[0])
