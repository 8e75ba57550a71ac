"""Prices from litellm's table: what is missing is None, names are found with and without their provider."""

import json

import pytest

from core.domain.errors import WayfareError
from core.importers import token_meter as model_prices
from core.importers.token_meter import ModelPrice, model_price, priced_models
from tests.cases import each

TABLE = {
    "sample_spec": {"input_cost_per_token": 0, "mode": "one of: chat, embedding"},
    "big": {"mode": "chat", "input_cost_per_token": 3e-6, "cache_creation_input_token_cost": 3.75e-6,
            "cache_read_input_token_cost": 3e-7, "max_input_tokens": 200_000},
    "else/big": {"mode": "chat", "input_cost_per_token": 4e-6},
    "free": {"mode": "chat", "input_cost_per_token": 0},
    "odd": {"mode": "chat", "input_cost_per_token": "cheap", "max_input_tokens": "many"},
    "true": {"mode": "chat", "input_cost_per_token": True},
    "negative": {"mode": "chat", "input_cost_per_token": -1.0},
    "vectors": {"mode": "embedding", "input_cost_per_token": 1e-7},
}  # fmt: skip


@pytest.fixture
def table(monkeypatch, tmp_path):
    """A folder with a table of ours in the place of the package's."""
    (tmp_path / model_prices.TABLE).write_text(json.dumps(TABLE), encoding="utf-8")
    spec = type("Spec", (), {"submodule_search_locations": [str(tmp_path)]})
    monkeypatch.setattr(model_prices.importlib.util, "find_spec", lambda _: spec)
    _forget()
    yield tmp_path
    _forget()


def _forget() -> None:
    model_prices._table.cache_clear()
    priced_models.cache_clear()


def test_a_price_is_that_of_the_table(table) -> None:
    assert model_price("big") == ModelPrice("big", 3e-6, 3.75e-6, 3e-7, 200_000)


def test_a_name_with_its_own_row_comes_before_the_name_without_its_provider(table) -> None:
    assert (model_price("else/big").input_usd, model_price("other/big").input_usd) == (4e-6, 3e-6)
    assert (model_price("else/big").model, model_price("other/big").model) == ("else/big", "big")


@each("name", ["free", "odd", "true", "negative", "nobody's", "", "/"])
def test_what_is_no_price_is_none_and_never_0(table, name) -> None:
    assert model_price(name) == ModelPrice(name)


def test_models_for_text_with_a_price_are_offered_makers_first(table) -> None:
    assert priced_models() == ("big", "else/big")


def test_without_a_table_the_sentence_says_what_to_do(table) -> None:
    (table / model_prices.TABLE).write_text("{", encoding="utf-8")
    _forget()
    with pytest.raises(WayfareError, match=r'pip install "wayfare\[llm\]"'):
        model_price("big")


def test_the_installed_table_has_well_known_models() -> None:
    known = model_price("gpt-4o")
    assert known.input_usd == pytest.approx(2.5e-6)
    assert known.cache_read_usd < known.input_usd
    assert "gpt-4o" in priced_models()[:1000]
    assert "text-embedding-3-small" not in priced_models()
