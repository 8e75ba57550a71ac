"""The tokens of a decision, against all definitions in the prompt: the tools tax of Tool Attention.

    tax(K)  = K * sum over all tools of tokens(t)                    every definition, anew in each of K turns          (2)
    tax'(K) = cached + K * exposed                                   this decision: its stable prefix is written once
    rho     = C_task / (C_task + tax + C_sys)                        effective context utilisation                      (3)

Below about 0.3 a model's reasoning breaks. The paper prints rho for one turn: 0.24 for 47,312 tokens, 0.56 for 11,865, 0.78 for
4,082, 0.94 for 480. C_task = 15,000 and C_sys = 500, the defaults here, give each within 0.02.

`Counted` figures are counted on the texts (cl100k_base). `Projected` figures assume that K turns go like this one, a context and
a model's price. An unknown price is None, never 0.

>>> meter = token_meter(Counted(tools=120, definitions=47_312, exposed=968, cached=1_400), turns=30)
>>> round(meter.counted.saved_percent, 1), meter.projected.all_tools.tokens, meter.projected.decision.tokens
(95.0, 1419360, 30440)
>>> round(token_meter(meter.counted).projected.all_tools.utilisation, 2)
0.24
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.once import made_once

# Prices of models for input, from litellm's table; litellm itself takes seconds to import and is not imported
# A 0 in the table means an unknown price: it stands for models on one's own machine and for prices that were not filled in.

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
    """A model's price at the base rate: no batch, no priority, no surcharge for very long inputs.

    A name with its provider, `openai/gpt-4o-mini`, is also found without it. A model that is not in the table has no price. Raises
    WayfareError if the table is missing.

    >>> model_price("openai/gpt-4o-mini").model, model_price("nobody's model").input_usd
    ('gpt-4o-mini', None)
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


@made_once
def priced_models() -> tuple[str, ...]:
    """The names of all priced models for text: those of the makers first, then those with a provider."""
    named = (name for name, row in _table().items() if row.get("mode") in TEXT_MODES)
    priced = (name for name in named if model_price(name).input_usd is not None)
    return tuple(sorted(priced, key=lambda name: ("/" in name, name)))


@made_once
def _table() -> Mapping[str, Mapping[str, Any]]:
    spec = importlib.util.find_spec("litellm")
    roots = list(spec.submodule_search_locations or []) if spec is not None else []
    path = Path(roots[0] if roots else "") / TABLE
    try:
        return cast("dict[str, dict[str, Any]]", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise WayfareError(
            'The table of model prices comes with litellm, which is not installed; run `pip install "wayfare[llm]"`.'
        ) from None


def _price(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    return float(cast(float, value)) if known else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


# The meter

BREAKING_POINT = 0.3  # of rho: "reasoning-quality cliff" of Tool Attention, 3.3


@dataclass(frozen=True, slots=True)
class Context:
    """Tokens that serve the task (messages, thoughts, results), and those of the fixed system prompt."""

    task_tokens: int = 15_000
    system_tokens: int = 500


@dataclass(frozen=True, slots=True)
class Counted:
    """Counted tokens of one turn: all `definitions` of the catalog's `tools`, those newly `exposed` by the decision, and its stable
    prefix that a provider can cache.
    """

    tools: int
    definitions: int
    exposed: int
    cached: int

    @classmethod
    def of(cls, decision: Decision) -> Counted:
        tokens = decision.tokens
        return cls(len(decision.tools.ids), tokens["baseline"], tokens["exposed"], tokens["cached"])

    @property
    def turn(self) -> int:
        """The tokens of one turn: the prefix and what is newly exposed."""
        return self.exposed + self.cached

    @property
    def saved_percent(self) -> float:
        """The share of all definitions that a turn saves. Below 0 if the turn holds more; 0 without tools."""
        return 100.0 * (1 - self.turn / self.definitions) if self.definitions else 0.0


@dataclass(frozen=True, slots=True)
class Course:
    """One way to show tools over K turns: its `tokens`, rho after them, the turns until rho is below 0.3 (None: never), and its price
    in USD (None if unknown).
    """

    tokens: int
    utilisation: float
    turns_to_breaking: int | None
    usd: float | None


@dataclass(frozen=True, slots=True)
class Projected:
    """K turns like this one, in a context, at a model's price.

    `cached_catalog_usd` is the price of all definitions as a cached prefix, the fairest comparison; None without a price for cached
    tokens. `tools_to_breaking` definitions of the catalog's mean size fit before rho falls below 0.3; None without tools.
    """

    turns: int
    context: Context
    model: str
    all_tools: Course
    decision: Course
    cached_catalog_usd: float | None
    tools_to_breaking: int | None

    @property
    def saved_percent(self) -> float:
        """The share of the tokens of all tools over K turns that the decision saves; 0 without tools."""
        return 100.0 * (1 - self.decision.tokens / self.all_tools.tokens) if self.all_tools.tokens else 0.0


@dataclass(frozen=True, slots=True)
class TokenMeter:
    counted: Counted
    projected: Projected


@dataclass(frozen=True, slots=True)
class UtilisationLines:
    """rho after each number of `turns`, in [0, 1]: with all definitions, and with what a decision shows."""

    turns: tuple[int, ...]
    all_tools: tuple[float, ...]
    decision: tuple[float, ...]


def token_meter(
    counted: Counted, *, turns: int = 1, context: Context | None = None, price: ModelPrice | None = None
) -> TokenMeter:
    """The meter of one decision over `turns`. Raises ValueError for fewer than 1."""
    if turns < 1:
        raise ValueError(f"turns = {turns} is fewer than 1")
    within, charged = context or Context(), price or ModelPrice("")
    mean = counted.definitions / counted.tools if counted.tools else 0.0
    return TokenMeter(
        counted,
        Projected(
            turns=turns,
            context=within,
            model=charged.model,
            all_tools=_course(0, counted.definitions, turns, within, charged),
            decision=_course(counted.cached, counted.exposed, turns, within, charged),
            cached_catalog_usd=None
            if charged.cache_read_usd is None
            else price_usd(counted.definitions, 0, turns, charged),
            tools_to_breaking=_fit(within, 0, turns * mean),
        ),
    )


def decision_meter(
    decision: Decision, *, turns: int = 1, context: Context | None = None, model: str = ""
) -> TokenMeter:
    """The meter of a decision at a model's price. Raises WayfareError if the table of prices is missing."""
    price = model_price(model) if model else None
    return token_meter(Counted.of(decision), turns=turns, context=context, price=price)


def utilisation(task_tokens: float, tax_tokens: float, system_tokens: float) -> float:
    """Effective context utilisation rho in [0, 1], Tool Attention (3). 0 if the task has no tokens.

    >>> round(utilisation(15_000, 47_312, 500), 2)
    0.24
    """
    return task_tokens / (task_tokens + tax_tokens + system_tokens) if task_tokens else 0.0


def utilisation_lines(counted: Counted, turns: Sequence[int], context: Context | None = None) -> UtilisationLines:
    """How rho falls turn by turn.

    >>> lines = utilisation_lines(Counted(tools=120, definitions=47_312, exposed=968, cached=1_400), (1, 10))
    >>> [round(rho, 2) for rho in (*lines.all_tools, *lines.decision)]
    [0.24, 0.03, 0.84, 0.56]
    """
    within = context or Context()

    def line(once: int, each: int) -> tuple[float, ...]:
        return tuple(utilisation(within.task_tokens, once + k * each, within.system_tokens) for k in turns)

    return UtilisationLines(tuple(turns), line(0, counted.definitions), line(counted.cached, counted.exposed))


def price_usd(cached: int, exposed: int, turns: int, price: ModelPrice) -> float | None:
    """USD of K turns: the prefix is written once and read K - 1 times, exposed tokens are read anew each time.

    Without a price for reading a cache nothing is cached. None without a price for input.

    >>> price_usd(1_000, 200, 3, ModelPrice("toy", input_usd=2e-6, cache_read_usd=1e-6))  # 2,000 + 1,200 + 2,000 millionths
    0.0052
    """
    if price.input_usd is None:
        return None
    if price.cache_read_usd is None:
        return turns * (cached + exposed) * price.input_usd
    write = price.input_usd if price.cache_write_usd is None else price.cache_write_usd
    return cached * (write + (turns - 1) * price.cache_read_usd) + turns * exposed * price.input_usd


def _course(once: int, each: int, turns: int, context: Context, price: ModelPrice) -> Course:
    tokens = once + turns * each
    return Course(
        tokens=tokens,
        utilisation=utilisation(context.task_tokens, tokens, context.system_tokens),
        turns_to_breaking=_fit(context, once, each),
        usd=price_usd(once, each, turns, price),
    )


def _fit(context: Context, once: float, each: float) -> int | None:
    """How many times `each` fits beside `once` before rho falls below 0.3, None if it never does."""
    room = context.task_tokens * (1 - BREAKING_POINT) / BREAKING_POINT - context.system_tokens - once
    if each <= 0:
        return None if room >= 0 else 0
    return max(0, math.floor(room / each + 1e-9))
