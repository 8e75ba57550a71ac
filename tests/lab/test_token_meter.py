"""The token meter against the figures of Tool Attention, by hand, and as properties; prices of models."""

from __future__ import annotations

import sys

import pytest

from core.domain.catalog import Server
from core.domain.decision import Exposure
from core.domain.errors import WayfareError
from core.importers.token_meter import (
    Counted,
    ModelPrice,
    decision_meter,
    model_price,
    priced_models,
    token_meter,
)
from tests.cases import each
from tests.routers import worlds

FULL, PAPER = 47_312, Counted(tools=120, definitions=47_312, exposed=968, cached=1_400)
CHEAP = ModelPrice("cheap", input_usd=2e-6, cache_write_usd=2.5e-6, cache_read_usd=0.2e-6)


@each(("tokens", "published"), [(FULL, 0.24), (11_865, 0.56), (4_082, 0.78), (480, 0.94)])
def test_the_published_utilisations_are_those_of_one_turn(tokens, published) -> None:
    """Tool Attention, 7.1: with 15,000 tokens of the task and 500 of the system."""
    decision = token_meter(Counted(120, FULL, exposed=tokens, cached=0)).projected.decision
    assert decision.utilisation == pytest.approx(published, abs=0.02)


def test_the_published_saving() -> None:
    assert PAPER.turn == 2_368
    assert PAPER.saved_percent == pytest.approx(95.0, abs=0.05)


def test_the_tax_over_turns() -> None:
    """(2): every definition again in each turn; the prefix once, the exposed definitions each time."""
    projected = token_meter(PAPER, turns=30).projected
    assert projected.all_tools.tokens == 30 * FULL
    assert projected.decision.tokens == 1_400 + 30 * 968
    assert projected.saved_percent == pytest.approx(100 * (1 - 30_440 / 1_419_360))
    assert projected.all_tools.utilisation == pytest.approx(15_000 / (15_000 + 30 * FULL + 500))


def test_where_it_crosses_the_breaking_point() -> None:
    """15,000 / (15,000 + tax + 500) = 0.3 if the tax is 34,500."""
    projected = token_meter(PAPER).projected
    assert projected.all_tools.turns_to_breaking == 0
    assert projected.decision.turns_to_breaking == (34_500 - 1_400) // 968 == 34
    assert projected.tools_to_breaking == int(34_500 / (FULL / 120)) == 87
    assert token_meter(PAPER, turns=10).projected.tools_to_breaking == 8


@each("price", [None, ModelPrice("nobody's"), ModelPrice("odd", cache_read_usd=1e-6)])
def test_a_price_that_nobody_knows_is_none_and_not_0(price) -> None:
    projected = token_meter(PAPER, price=price).projected
    assert (projected.all_tools.usd, projected.decision.usd) == (None, None)
    assert projected.cached_catalog_usd is None


def test_an_empty_catalog_has_nothing_to_save() -> None:
    meter = token_meter(Counted(0, 0, 0, 0), turns=10)
    assert (meter.counted.saved_percent, meter.projected.saved_percent) == (0, 0)
    assert meter.projected.all_tools.turns_to_breaking is meter.projected.tools_to_breaking is None
    assert meter.projected.decision.utilisation == pytest.approx(15_000 / 15_500)


def test_a_decision_is_metered_by_its_own_exposure(routed) -> None:
    context = worlds.context(worlds.catalog(Server("a", tools=(worlds.tool("x"), worlds.tool("y")))), {"a": 1.0}, {})
    meter = decision_meter(routed(context, exposure=Exposure(12, 5)), turns=3, model="gpt-4o-mini")
    assert (meter.counted, meter.projected.turns) == (Counted(2, 20, exposed=12, cached=5), 3)
    assert meter.projected.model == "gpt-4o-mini"
    assert meter.projected.all_tools.usd == pytest.approx(60 * 0.15e-6)
    assert decision_meter(routed(context)).projected.all_tools.usd is None


def test_a_price_is_that_of_the_table() -> None:
    price = model_price("gpt-4o")
    assert (price.model, price.context_tokens) == ("gpt-4o", 128_000)
    assert price.input_usd == pytest.approx(2.5e-6)
    assert price.output_usd == pytest.approx(10e-6)
    assert price.cache_read_usd == pytest.approx(1.25e-6)
    assert model_price("claude-sonnet-4-5").cache_write_usd == pytest.approx(3.75e-6)  # the base rate of several


def test_a_provider_has_its_own_price_and_an_unknown_one_that_of_the_maker() -> None:
    openai, azure, unknown = (model_price(f"{prefix}gpt-4o") for prefix in ("openai/", "azure/", "nobody/"))
    assert openai == unknown == model_price("gpt-4o")
    assert azure.input_usd is not None
    assert model_price("groq/gpt-4o").input_usd == openai.input_usd


@each("name", ["nobody's", "", "/", "gpt-4o/", "/nobody"])
def test_a_model_that_is_not_in_the_table_has_no_price(name) -> None:
    assert model_price(name) == ModelPrice(name)


def test_models_for_text_with_a_price_are_offered_makers_first() -> None:
    names = priced_models()
    assert "gpt-4o" in names[: next(place for place, name in enumerate(names) if "/" in name)]
    assert len(set(names)) == len(names)
    assert "text-embedding-3-small" not in names
    assert all(model_price(name).input_usd for name in names)


def test_without_the_package_the_sentence_says_what_to_do(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    with pytest.raises(WayfareError, match=r'pip install "wayfare\[llm\]"'):
        model_price("gpt-4o")
