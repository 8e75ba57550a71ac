"""Expected value: finds the order of tries that is worth most, if a solved sub-task and a wrong call have a price (ours).

A try of tool j succeeds with P_j = p_fit_j (1 - pfail_i) r_ij and costs c_j = p_ij + (G_i + l_ij) / kappa + (1 - P_j) w_j, USD.
The candidates are the order of at most n tries with the largest expected value (`core.routers.order_of_tries`): a tool
whose try costs more than it brings is left out, and rivals of an equal function set are not tried in succession.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Self

import numpy as np

from core.domain import units
from core.domain.decision import PlannedTry, Stage, TryPlan
from core.domain.params import CUBE_ROOT, Range, knob
from core.domain.tool_table import hints
from core.domain.trace import DROPS, KEPT, Array, Drop
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.estimates import estimates
from core.routers.order_of_tries import (
    LARGEST_SEARCH,
    POOL,
    Order,
    OrderLines,
    Tries,
    evaluated,
    order_lines,
    searched,
    shares,
    tries_after,
    worth_of_next,
)
from core.routers.parameters import SIMILARITY, CandidateParameters, LearningParameters, RefusingParameters
from core.routers.ranked_result import NO_TOOLS, Scored, best_tool, ranked_result
from core.routers.utility import NONE, Rows

VALUE = "value"
RIVAL_COSINE = 0.9  # stricter than ETOM's 0.8, because these pairs are not verified
NOT_WORTH, OUTRANKED = map(DROPS.index, (Drop.NOT_WORTH, Drop.OUTRANKED))


@dataclass(frozen=True)
class ExpectedValueParameters(RefusingParameters, LearningParameters, CandidateParameters):
    """The worth of a solved sub-task and the costs of a wrong call, and the number of tries."""

    n: int = knob(3, Range(1, 50, scale=CUBE_ROOT), group=SIMILARITY, symbol="n", label="Most tries",
        help="Tries at most; beyond 6, the rest in order of value.")  # fmt: skip
    worth_usd: float = knob(0.10, Range(0.0, 10.0, 0.01, "$", CUBE_ROOT), group=VALUE, symbol="V", label="Worth of a solution",
        help="What a solved sub-task is worth.")  # fmt: skip
    wrong_usd: float = knob(0.002, Range(0.0, 1.0, 0.001, "$", CUBE_ROOT), group=VALUE, symbol="w", label="Cost of a failed try",
        help="Extra cost of a call that does not solve the sub-task.")  # fmt: skip
    unsafe_usd: float = knob(0.002, Range(0.0, 1.0, 0.001, "$", CUBE_ROOT), group=VALUE, symbol="w write", label="Cost of a wrong write",
        help="Further cost of a wrong call, unless the tool declares that it only reads.")  # fmt: skip
    kappa: float = knob(1000.0, Range(1.0, 100_000.0, 10.0, "s/$", CUBE_ROOT), group=VALUE, symbol="κ", label="Money matters",
        help="Seconds that one dollar is worth: 1000 is 3.60 dollars an hour.")  # fmt: skip


class ExpectedValue(Router[ExpectedValueParameters]):
    """The order of tries that is worth most: chance of success, price, time and the cost of wrong calls in one currency."""

    id = "expected_value"
    title = "Expected value"
    paper = "Ours; optimal search after Weitzman, Optimal Search for the Best Alternative"
    score = "expected value of one try"
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: ExpectedValueParameters) -> RoutingResult:
        fit = query.fit()
        tool_prospects = prospects(fit.tools, context)
        tries, order, rows = ValueEngine(context, tool_prospects, context.matcher.likeness, parameters).decided()
        value = tries.value_usd(parameters.worth_usd)
        worth = int((value > 0).sum())
        next_try = _worth_of_next(tries, replace(order, rows=rows), context, parameters.worth_usd)
        plan = _plan(order, next_try, tries, tool_prospects, context, parameters)
        still_worth = tries_after(tries, rows).value_usd(parameters.worth_usd) > 0
        dropped = np.where(still_worth, OUTRANKED, NOT_WORTH).astype(np.int8)
        dropped[list(rows)] = KEPT
        result = ranked_result(
            context,
            Scored(fit.servers, best_tool(context, value)),
            Scored(fit.tools, value),
            n=parameters.n,
            dropped=dropped,
        )
        rank = np.zeros(len(value), dtype=np.int64)
        rank[list(rows)] = np.arange(1, len(rows) + 1)
        return replace(
            result,
            tools=replace(result.tools, rank=rank),
            candidates=rows,
            reason=_reason(plan, context),
            stages=(
                Stage("worth a try", "tools", worth, len(value), "The chance of success is worth its cost."),
                Stage("order", "tools", len(rows), worth, "The order of largest expected value, at most n tries."),
            ),
            tries=plan,
        )


@dataclass(frozen=True, slots=True)
class Prospects:
    """One call of each tool, (T,) each: chance of fit and of delivery, price in USD, time in s, and 1 unless the tool declares that it
    only reads. `listed_usd` is NaN for an unpriced tool; its `price_usd` is the catalog's median, never 0."""

    p_fit: Array
    delivery: Array
    price_usd: Array
    listed_usd: Array
    time_s: Array
    writes: Array

    def tries(self, p: ExpectedValueParameters) -> Tries:
        """Tries under the parameters, each tool its own set."""
        return Tries(
            p_fit=self.p_fit,
            delivery=self.delivery,
            money_usd=self.price_usd + self.time_s / p.kappa,
            wrong_usd=p.wrong_usd + self.writes * p.unsafe_usd,
            rivals=np.arange(len(self.p_fit)),
        )


def prospects(p_fit: Array, context: RoutingContext) -> Prospects:
    """Computes the prospects of every tool from its probability of fit and the statistics."""
    servers, tools = estimates(context)
    prices = tools.price_usd[~np.isnan(tools.price_usd)]
    return Prospects(
        p_fit=p_fit,
        delivery=tools.success,
        price_usd=np.where(
            np.isnan(tools.price_usd), float(np.median(prices)) if len(prices) else 0.0, tools.price_usd
        ),
        listed_usd=tools.price_usd,
        time_s=servers.fixed_s[context.tool_server] + tools.latency_s,
        writes=(hints(context.catalog.tools, "read_only") != 1).astype(np.float64),
    )


@dataclass(frozen=True, slots=True)
class ValueEngine:
    """Expected value on one sub-task. The router uses one point of parameters, strips and planes use many: `at` shares the computed
    orders. `likeness` maps (K,) rows to (K, K) cosines between tools."""

    context: RoutingContext
    known: Prospects
    likeness: Callable[[Rows], Array]
    parameters: ExpectedValueParameters
    computed: dict[object, OrderLines] = field(default_factory=dict[object, OrderLines], kw_only=True)

    def at(self, **values: float) -> Self:
        return replace(self, parameters=replace(self.parameters, **values))

    @property
    def most(self) -> int:
        """The most tries that are searched over. Further tries follow by their value alone."""
        return min(self.parameters.n, LARGEST_SEARCH)

    def searched(self) -> tuple[Tries, Array, Rows, OrderLines]:
        """The tries with their sets of rivals, the value of each alone, the tools of the search, and all their orders."""
        p, names = self.parameters, self.context.tool_order
        tries = self.known.tries(p)
        value = tries.value_usd(p.worth_usd)
        pool = np.lexsort((names, -value))[:POOL]
        tries = replace(tries, rivals=rivals_of(pool, self.likeness(pool), len(value)))
        tried_rows = searched(value, tries.money_usd, names, self.most)
        return tries, value, tried_rows, self.lines(np.sort(tried_rows), tries.rivals)

    def decided(self) -> tuple[Tries, Order, tuple[int, ...]]:
        """The tries with their sets of rivals, the best order of at most six of them, and all candidates."""
        p, (tries, value, tried_rows, lines) = self.parameters, self.searched()
        place = np.zeros(len(value) + 1, dtype=np.int64)
        place[tried_rows] = np.arange(len(tried_rows))
        place[-1] = NONE
        best = replace(lines, orders=place[lines.orders]).best(self.values(lines))
        order = evaluated(tries, tried_rows[list(best)].tolist(), worth_usd=p.worth_usd)
        return tries, order, _extended(order.rows, value, p.n, self.context)

    def lines(self, tried: Rows, rivals: Rows) -> OrderLines:
        """All orders of some tools (K,), computed once. `rivals` (T,) numbers the sets."""
        prospects, parts = self.known, shares(self.known.p_fit, self.known.delivery, rivals, tried)
        key = self.most, *(array.tobytes() for array in (tried, rivals[tried], parts["fits"]))
        if key not in self.computed:
            lines = order_lines(
                **parts,
                price_usd=prospects.price_usd[tried],
                time_s=prospects.time_s[tried],
                writes=prospects.writes[tried],
                rivals=rivals[tried],
                most=self.most,
            )
            self.computed[key] = replace(lines, orders=np.append(tried, NONE)[lines.orders])
        return self.computed[key]

    def values(self, lines: OrderLines) -> Array:
        p = self.parameters
        costs = lines.price_usd + lines.time_s / p.kappa + p.wrong_usd * lines.wrong + p.unsafe_usd * lines.unsafe
        return p.worth_usd * lines.solved - costs


def rivals_of(pool: np.ndarray, likeness: Array, size: int) -> np.ndarray:
    """(T,) the set of each tool: tools of the pool (K,) with a cosine above RIVAL_COSINE share a set, any other tool has its own."""
    sets = np.arange(size)
    for first in range(len(pool)):
        for second in range(first):
            if likeness[first, second] > RIVAL_COSINE:
                sets[sets == sets[pool[first]]] = sets[pool[second]]
    return sets


def _worth_of_next(tries: Tries, order: Order, context: RoutingContext, worth_usd: float) -> tuple[int, float] | None:
    """The next tool that becomes worth a try as the worth grows, and the worth at which it does. Returns None if some tool is worth
    another try already."""
    rows = np.argsort(context.tool_order)
    places = tuple(int(context.tool_order[row]) for row in order.rows)
    by_name = Tries(*(getattr(tries, field.name)[rows] for field in fields(tries)))
    next_try = worth_of_next(by_name, replace(order, rows=places))
    if next_try is None or next_try[1] <= worth_usd:
        return None
    return int(rows[next_try[0]]), next_try[1]


def _extended(rows: tuple[int, ...], value: Array, n: int, context: RoutingContext) -> tuple[int, ...]:
    """Beyond six planned tries: further tools that are worth a try, by their value alone."""
    if n <= LARGEST_SEARCH or len(rows) < LARGEST_SEARCH:
        return rows[:n]
    by_value = np.lexsort((context.tool_order, -value))[: n + LARGEST_SEARCH]
    others = [int(row) for row in by_value if value[row] > 0 and int(row) not in rows]
    return (*rows, *others)[:n]


def _plan(
    order: Order,
    next_try: tuple[int, float] | None,
    tries: Tries,
    prospects: Prospects,
    context: RoutingContext,
    p: ExpectedValueParameters,
) -> TryPlan:
    return TryPlan(
        tuple(
            PlannedTry(
                tool=context.tool_ids[row],
                p_fit=float(tries.p_fit[row]),
                delivery=float(tries.delivery[row]),
                chance=chance,
                reached=reached,
                cost_usd=cost,
                price_usd=None if np.isnan(prospects.listed_usd[row]) else float(prospects.listed_usd[row]),
                time_s=float(prospects.time_s[row]),
            )
            for row, chance, cost, reached in zip(order.rows, order.chance, order.cost_usd, order.reached, strict=True)
        ),
        worth_usd=p.worth_usd,
        value_usd=order.value_usd,
        next_tool=None if next_try is None else context.tool_ids[next_try[0]],
        next_worth_usd=None if next_try is None else next_try[1],
    )


def _reason(plan: TryPlan, context: RoutingContext) -> str:
    if not context.tool_ids:
        return NO_TOOLS
    further = (
        f" A try of {plan.next_tool} is worth it from {units.price(plan.next_worth_usd)} per solved sub-task on."
        if plan.next_tool is not None and plan.next_worth_usd is not None
        else ""
    )
    if not plan.tries:
        return f"No try is worth its cost at {units.price(plan.worth_usd)} per solved sub-task.{further}"
    first, *rest = plan.tries
    steps = "".join(f"; if it fails {attempt.tool}, {units.share(attempt.chance)}" for attempt in rest)
    return f"Try {first.tool} first, {units.share(first.chance)}{steps}; then stop.{further}"
