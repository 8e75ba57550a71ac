"""What language models charge for input, from litellm's table; litellm itself is not imported (it takes seconds).

A price that the table does not have is None, never 0. A 0 in the table is None too: it stands for models that run on one's
own machine and for prices that nobody filled in, and the table does not tell these apart.

>>> model_price("openai/gpt-4o-mini").model, model_price("nobody's model").input_usd
('gpt-4o-mini', None)
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from core.shared.errors import WayfareError

TABLE = "model_prices_and_context_window_backup.json"
TEXT_MODES = frozenset({"chat", "completion", "responses"})


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """USD per input token: read anew, written to a cache, read from a cache. `context_tokens` is the largest input."""

    model: str
    input_usd: float | None = None
    cache_write_usd: float | None = None
    cache_read_usd: float | None = None
    context_tokens: int | None = None


def model_price(model: str) -> ModelPrice:
    """A model's price at the base rate (no batch, no priority, no surcharge for very long inputs).

    A name with its provider, `openai/gpt-4o-mini`, is also found without it. A model that is not in the table has no
    price. Raises WayfareError where there is no table.
    """
    table = _table()
    bare = model.partition("/")[2]
    name = next((known for known in (model, bare) if known and known in table), model)
    row = table.get(name, {})
    return ModelPrice(
        model=name,
        input_usd=_price(row.get("input_cost_per_token")),
        cache_write_usd=_price(row.get("cache_creation_input_token_cost")),
        cache_read_usd=_price(row.get("cache_read_input_token_cost")),
        context_tokens=_count(row.get("max_input_tokens")),
    )


@cache
def priced_models() -> tuple[str, ...]:
    """The names of all models for text that have a price: those of the makers first, then those that name a provider."""
    named = (name for name, row in _table().items() if row.get("mode") in TEXT_MODES)
    priced = (name for name in named if model_price(name).input_usd is not None)
    return tuple(sorted(priced, key=lambda name: ("/" in name, name)))


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    spec = importlib.util.find_spec("litellm")
    roots = list(spec.submodule_search_locations or []) if spec is not None else []
    path = Path(roots[0] if roots else "") / TABLE
    try:
        return cast("dict[str, dict[str, Any]]", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise WayfareError("The table of model prices is not on this machine; run `pip install litellm`.") from None


def _price(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    return float(cast(float, value)) if known else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
