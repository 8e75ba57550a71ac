"""The tokens of a decision, against all definitions in the prompt: the tools tax of Tool Attention.

    tax(K)  = K * sum over all tools of tokens(t)                    every definition, anew in each of K turns          (2)
    tax'(K) = cached + K * exposed                                   this decision: its stable prefix is written once
    rho     = C_task / (C_task + tax + C_sys)                        effective context utilisation                      (3)

Below about 0.3 a model's reasoning breaks. The paper prints rho for one turn: 0.24 for 47,312 tokens, 0.56 for 11,865, 0.78 for
4,082, 0.94 for 480. C_task = 15,000 and C_sys = 500, the defaults here, give each within 0.02.

`Counted` figures are counted on the texts (cl100k_base). `Projected` figures assume K equal turns, a context and
a model's price. An unknown price is None, never 0.

>>> meter = token_meter(Counted(tools=120, definitions=47_312, exposed=968, cached=1_400), turns=30)
>>> round(meter.counted.saved_percent, 1), meter.projected.all_tools.tokens, meter.projected.decision.tokens
(95.0, 1419360, 30440)
>>> round(token_meter(meter.counted).projected.all_tools.utilisation, 2)
0.24
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.progress import made_once

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, TieredPrices

# Prices of models, from the data that genai-prices ships. No newer data is fetched. A price of 0 counts as unknown.


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """USD per token: read anew, written to a cache, read from a cache, answered. `context_tokens` is the largest input."""

    model: str
    input_usd: float | None = None
    cache_write_usd: float | None = None
    cache_read_usd: float | None = None
    output_usd: float | None = None
    context_tokens: int | None = None


def model_price(model: str, base_url: str = "") -> ModelPrice:
    """A model's price today at the base rate: no batch, no priority, no surcharge for very long inputs.

    Without the address of an endpoint a name may have its provider, `openai/gpt-4o-mini`. At an address that is no provider's, the
    models of OpenAI have their price. A model that is not in the table has none. Raises WayfareError without the table.

    >>> model_price("openai/gpt-4o-mini").model, model_price("nobody's model").input_usd
    ('gpt-4o-mini', None)
    """
    info = _known_model(model, base_url)
    if info is None:
        return ModelPrice(model)
    price = info.get_prices(datetime.now(UTC))
    return ModelPrice(
        model=info.id,
        input_usd=_usd(price.input_mtok),
        cache_write_usd=_usd(price.cache_write_mtok),
        cache_read_usd=_usd(price.cache_read_mtok),
        output_usd=_usd(price.output_mtok),
        context_tokens=info.context_window,
    )


@made_once
def priced_models() -> tuple[str, ...]:
    """The names of all priced models for text: makers' models first, then models with a provider."""
    names = {name for name in _names() if (price := model_price(name)).input_usd and price.output_usd}
    return tuple(sorted(names, key=lambda name: ("/" in name, name)))


def _names() -> Iterator[str]:
    """Yields a name for each model of the table: its id if that finds the model, else with its provider."""
    for provider in _table().providers:
        for model in provider.models:
            yield model.id if _known_model(model.id) is model else f"{provider.id}/{model.id}"


def _known_model(model: str, base_url: str = "") -> ModelInfo | None:
    provider, _, name = model.partition("/")
    ways = (
        ((model, None, base_url), (model, "openai", None))
        if base_url
        else ((name, provider, None), (model, None, None), (name, None, None))
    )
    for reference, provider_id, url in ways:
        with suppress(LookupError):
            return _table().find_provider_model(reference, None, provider_id, url)[1]
    return None


def _table() -> DataSnapshot:
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        raise WayfareError(
            'The table of model prices comes with genai-prices, which is not installed; run `pip install "wayfare[llm]"`.'
        ) from None
    return get_snapshot()


def _usd(per_million: Decimal | TieredPrices | None) -> float | None:
    base = per_million if per_million is None or isinstance(per_million, Decimal) else per_million.base
    return float(base) / 1e6 if base else None


# The meter

BREAKING_POINT = 0.3  # of rho: "reasoning-quality cliff" of Tool Attention, 3.3


@dataclass(frozen=True, slots=True)
class Context:
    """Tokens that serve the task (messages, thoughts, results), and tokens of the fixed system prompt."""

    task_tokens: int = 15_000
    system_tokens: int = 500


@dataclass(frozen=True, slots=True)
class Counted:
    """Counted tokens of one turn: all `definitions` of the catalog's `tools`, the definitions newly `exposed` by the decision, and its
    stable prefix, which a provider can cache.
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
        return 100.0 * (1 - self.decision.tokens / self.all_tools.tokens) if self.all_tools.tokens else 0.0


@dataclass(frozen=True, slots=True)
class TokenMeter:
    counted: Counted
    projected: Projected


@dataclass(frozen=True, slots=True)
class UtilisationLines:
    """rho after each number of `turns`, in [0, 1]: with all definitions, and with a decision's definitions."""

    turns: tuple[int, ...]
    all_tools: tuple[float, ...]
    decision: tuple[float, ...]


def token_meter(
    counted: Counted, *, turns: int = 1, context: Context | None = None, price: ModelPrice | None = None
) -> TokenMeter:
    if turns < 1:
        raise ValueError(f"turns = {turns} is fewer than 1")
    window, known_price = context or Context(), price or ModelPrice("")
    mean = counted.definitions / counted.tools if counted.tools else 0.0
    return TokenMeter(
        counted,
        Projected(
            turns=turns,
            context=window,
            model=known_price.model,
            all_tools=_course(0, counted.definitions, turns, window, known_price),
            decision=_course(counted.cached, counted.exposed, turns, window, known_price),
            cached_catalog_usd=None
            if known_price.cache_read_usd is None
            else price_usd(counted.definitions, 0, turns, known_price),
            tools_to_breaking=_fit(window, 0, turns * mean),
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
    window = context or Context()

    def line(once: int, each: int) -> tuple[float, ...]:
        return tuple(utilisation(window.task_tokens, once + k * each, window.system_tokens) for k in turns)

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
