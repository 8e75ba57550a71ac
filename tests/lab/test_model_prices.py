"""Prices from the table of genai-prices: what is missing is None, names are found with and without their provider."""

from __future__ import annotations

import sys

import pytest

from core.domain.errors import WayfareError
from core.importers.token_meter import ModelPrice, model_price, priced_models
from tests.cases import each


def test_a_price_is_that_of_the_table() -> None:
    known = model_price("gpt-4o")
    assert (known.model, known.context_tokens) == ("gpt-4o", 128_000)
    assert known.input_usd == pytest.approx(2.5e-6)
    assert known.output_usd == pytest.approx(10e-6)
    assert known.cache_read_usd == pytest.approx(1.25e-6)
    assert model_price("claude-sonnet-4-5").cache_write_usd == pytest.approx(3.75e-6)  # the base rate of several


def test_a_provider_has_its_own_price_and_an_unknown_one_that_of_the_maker() -> None:
    here, azure, unknown = (model_price(f"{prefix}gpt-4o") for prefix in ("openai/", "azure/", "nobody/"))
    assert here == unknown == model_price("gpt-4o")
    assert azure.input_usd is not None
    assert model_price("groq/gpt-4o").input_usd == here.input_usd


def test_an_address_tells_the_provider_and_any_other_has_the_prices_of_openai() -> None:
    there = model_price("openai/gpt-4o", "https://openrouter.ai/api/v1")
    assert there.model == "openai/gpt-4o"
    assert model_price("gpt-4o", "http://127.0.0.1:11434/v1") == model_price("gpt-4o")
    assert model_price("claude-sonnet-4-5", "http://127.0.0.1:11434/v1").input_usd is None


@each("name", ["nobody's", "", "/", "gpt-4o/", "/nobody"])
def test_a_model_that_is_not_in_the_table_has_no_price(name) -> None:
    assert model_price(name) == ModelPrice(name)


def test_models_for_text_with_a_price_are_offered_makers_first() -> None:
    names = priced_models()
    assert "gpt-4o" in names[: next(at for at, name in enumerate(names) if "/" in name)]
    assert len(set(names)) == len(names)
    assert "text-embedding-3-small" not in names
    assert all(model_price(name).input_usd for name in names)


def test_without_the_package_the_sentence_says_what_to_do(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    with pytest.raises(WayfareError, match=r'pip install "wayfare\[llm\]"'):
        model_price("gpt-4o")
