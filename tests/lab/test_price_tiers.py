"""Prices drawn by EHRR's two tiers."""

from __future__ import annotations

import statistics

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.lab.testbed import HIGH_USD, LOW_USD, drawn_price_usd, is_high_tier, priced_by_tiers


def tools(description: str) -> list[Tool]:
    return [Tool("s", f"t{number}", description) for number in range(300)]


def test_each_tier_has_its_distribution() -> None:
    low = [drawn_price_usd(tool, 0) for tool in tools("Counts words.")]
    high = [drawn_price_usd(tool, 0) for tool in tools("Searches the web.")]
    assert 0 <= min(low) <= max(low) <= LOW_USD
    assert statistics.fmean(low) == pytest.approx(LOW_USD / 2, rel=0.1)
    assert statistics.fmean(high) == pytest.approx(HIGH_USD, rel=0.05)
    assert min(high) >= 0


def test_what_a_tool_declares_goes_before_what_it_speaks_of() -> None:
    assert is_high_tier(Tool("s", "count", "Counts words.", tier="high"))
    assert not is_high_tier(Tool("s", "search_web", "Searches the web.", tier="low"))


def test_another_tool_changes_no_price_and_another_seed_does() -> None:
    one, two = Tool("s", "a", "Counts."), Tool("s", "b", "Counts.")
    small = Catalog("c", (Server("s", "S", tools=(one,)),))
    large = Catalog("c", (Server("s", "S", ask_usd=1.0, tools=(two, one)),))
    price = priced_by_tiers(small, name="x").tools[0].price_usd
    assert priced_by_tiers(large, name="x").tools[1].price_usd == price
    assert priced_by_tiers(small, name="x", seed=1).tools[0].price_usd != price
    assert priced_by_tiers(large, name="x").servers[0].ask_usd is None, "what was asked for other prices is forgotten"
