"""What if: exact answers on a sub-task for pages.

The auction of a sub-task as an account: answers, and the gains of buyer and servers. Theorem 1, Corollary 2.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TypeVar, cast

import numpy as np
from cachetools import LRUCache

from core.catalogs.catalogs import CatalogService
from core.decisions import counterfactuals as of_ehrr
from core.decisions import expected_value as of_value
from core.decisions import over_tasks
from core.decisions.case import Case, ManyTasks, decide
from core.decisions.counterfactuals import Counterfactual, Room
from core.decisions.curves import Plane, plane, value_plane, values_of
from core.decisions.ehrr_strips import near_the_short_list
from core.decisions.ehrr_strips import strips as ehrr_strips
from core.decisions.expected_value import ValueCase
from core.decisions.expected_value import strips as value_strips
from core.decisions.over_tasks import Compared, Tornado
from core.decisions.routing import Asked, RoutingService
from core.decisions.strips import Strip, refusal_strip
from core.domain.decision import Decision, Fit
from core.domain.errors import WayfareError
from core.domain.params import Parameters
from core.domain.tasks import Task
from core.planning.rules import RulesPlanner
from core.routers.auction import earned
from core.routers.base import checked_query, refusal
from core.routers.context import IndexMatcher, Query, RoutingContext
from core.routers.ehrr import EhrrParameters, counted_share, matched
from core.routers.estimates import beliefs
from core.routers.expected_value import ExpectedValueParameters, prospects
from core.routers.parameters import FIT
from core.routers.presets import PRESETS, applied
from core.routers.utility import Array, ranking


@dataclass(frozen=True, slots=True)
class Offer:
    """A short-listed server in USD per call: its posted price, ask, and answer; its best tool, the tool's listed price and the payment
    for a call; and the gains of server and buyer by that call. None is unknown."""

    server: str
    posted_usd: float
    ask_usd: float | None
    accepts: bool
    tool: str
    price_usd: float
    payment_usd: float | None
    server_usd: float | None
    buyer_usd: float | None


@dataclass(frozen=True, slots=True)
class Payoff:
    """The earnings of a server with a true cost from a call of a tool, USD. `settlement` is the rule of payment."""

    posted_usd: float
    cost_usd: float
    price_usd: float
    settlement: str = "posted"

    @property
    def truthful_usd(self) -> float:
        """The earnings of a server that states its cost; 0 if it rejects."""
        return float(self.said(np.array([self.cost_usd]))[0])

    @property
    def best_usd(self) -> float:
        """The earnings of the best statement: the highest accepted statement, or a rejection.

        >>> [round(Payoff(0.03, 0.01, 0.02, pays).best_usd, 3) for pays in ("price", "posted", "ask")], Payoff(0.03, 0.05, 0.02).best_usd
        ([0.01, 0.02, 0.02], 0.0)
        """
        return max(0.0, float(self.said(np.array([self.posted_usd]))[0]))

    def said(self, stated_usd: Array) -> Array:
        """The earnings by each stated cost."""
        of_call = {"price_usd": np.array([self.price_usd]), "posted_usd": np.array([self.posted_usd])}
        return earned(stated_usd, np.array([self.cost_usd]), settlement=self.settlement, **of_call)


def auction_of(case: Case, fit: Array, worth_usd: float) -> list[Offer]:
    """The short-list, the highest utility first. The best tool of a server has the highest utility of its affordable tools, or of all its
    tools. By a call the buyer gains V P - payment, the server payment - c. P needs the probabilities of fit, `fit` (T,)."""
    context, decision = case.context, decide(case, {})
    chance, price = fit * decision.engine.tools.success, decision.engine.tools.price_usd
    pays, ask = decision.engine.payment_usd(decision.servers), context.statistics.servers.ask_usd
    best_first = ranking(decision.tools.utility, case.match.tools, context.tool_order)
    best_first = best_first[np.argsort(~decision.tools.affordable[best_first], kind="stable")]
    offers: list[Offer] = []
    for row in map(int, np.argsort(decision.servers.rank)):
        if not decision.listed[0, row]:
            continue
        best = next((int(tool) for tool in best_first if context.tool_server[tool] == row), None)
        paid = np.nan if best is None else float(pays[best])
        offers.append(
            Offer(
                context.server_names[row],
                float(decision.servers.posted_usd[row]),
                _known(float(ask[row])),
                bool(decision.accepted[0, row]),
                "none" if best is None else context.tool_ids[best],
                np.nan if best is None else float(price[best]),
                _known(paid),
                _known(paid - float(ask[row])),
                None if best is None else _known(worth_usd * float(chance[best]) - paid),
            )
        )
    return offers


def _known(usd: float) -> float | None:
    return None if np.isnan(usd) else usd


T = TypeVar("T")
KEPT = 64
QUERIES_KEPT = 8  # with the figures of every tool
CELLS, VALUE_CELLS = (56, 36), (40, 26)  # of a plane
COARSE, VALUE_COARSE = (12, 9), (5, 4)  # of a plane that is not drawn
CONTESTED = 0.1  # of a plane, so that both winners are visible


@dataclass(frozen=True, slots=True)
class Contested:
    """Two parameters whose plane has more than one winner, `near` the current values or only over the whole ranges."""

    x: str
    y: str
    near: bool


@dataclass(eq=False)
class WhatIfService:
    """Decisions under other values. Records nothing. Thread-safe."""

    catalogs: CatalogService
    routing: RoutingService

    def __post_init__(self) -> None:
        self._strips: LRUCache[object, tuple[RoutingContext, dict[str, Strip]]] = LRUCache(KEPT)
        self._contested: LRUCache[object, tuple[RoutingContext, Contested | None]] = LRUCache(KEPT)
        self._queries: LRUCache[object, tuple[RoutingContext, Query]] = LRUCache(QUERIES_KEPT)
        self._lock = threading.Lock()

    def strips(self, asked: Asked) -> dict[str, Strip]:
        """The winner at every value, by parameter. Empty for another router than EHRR and expected value.

        Raises WayfareError as the router does.
        """
        return self._once(self._strips, self.routing.context(asked), asked, lambda: self._made_strips(asked))

    def _made_strips(self, asked: Asked) -> dict[str, Strip]:
        case = self._case(asked)
        if case is None:
            return {}
        strips, nothing = _strips(case), self.fit(asked).nothing
        if nothing is not None:
            knobs = {knob.name: knob for knob in case.parameters.knobs()}
            decision = (_strips(replace(case, refused="")) if case.refused else strips)["n"].at(case.parameters.n)
            strips["wrong_refusals"] = refusal_strip(
                knobs["wrong_refusals"], case.parameters.wrong_refusals, nothing, decision
            )
        return strips

    def _once(
        self,
        cache: LRUCache[object, tuple[RoutingContext, T]],
        context: RoutingContext,
        key: object,
        make: Callable[[], T],
    ) -> T:
        """The cached value for this context. Makes and keeps it if there is none."""
        with self._lock:
            entry = cache.get((id(context), key))
        if entry is not None and entry[0] is context:
            return entry[1]
        value = make()
        with self._lock:
            cache[id(context), key] = context, value
        return value

    def decision(self, asked: Asked) -> Decision:
        """The decision with the supposed figures. Records nothing."""
        context = self.routing.figures(asked)
        return self.routing.decide(asked.query, context, asked.router, asked.parameters, server_hint=asked.hint)

    def case(self, asked: Asked) -> Case | None:
        """The sub-task under EHRR with its similarities. Returns None for another router or a catalog without tools."""
        case = self._case(asked)
        return case if isinstance(case, Case) else None

    def value_case(self, asked: Asked) -> ValueCase:
        """The sub-task under expected value, with its own parameters or the defaults."""
        context = self.routing.figures(asked)
        parameters = asked.parameters if isinstance(asked.parameters, ExpectedValueParameters) else None
        return _value_case(context, self._query(context, asked), parameters or ExpectedValueParameters())

    def room(self, asked: Asked) -> Room | None:
        """How far the winner may worsen. Returns None without a winner and for another router than EHRR and expected value."""
        case = self._case(asked)
        if isinstance(case, Case):
            return of_ehrr.room(near_the_short_list(case))
        return None if case is None else of_value.room(case)

    def counterfactual(self, asked: Asked, tool: str) -> Counterfactual:
        """The changes that make this tool win. Raises WayfareError if the catalog does not have it."""
        case = self._case(asked)
        if case is None or tool not in case.context.tool_ids:
            raise WayfareError(f"There is no tool {tool[:80]!r} to make win under this router.")
        strips = self.strips(asked)
        if isinstance(case, Case):
            case = near_the_short_list(case, with_tool=tool)
            return of_ehrr.counterfactual(case, strips, case.context.tool_ids.index(tool))
        return of_value.counterfactual(case, strips, case.context.tool_ids.index(tool))

    def plane(self, asked: Asked, x: str, y: str, *, near: bool = False) -> Plane | None:
        """The winners over two parameters, over their whole ranges or `near` their current values. Returns None for another router
        than EHRR and expected value."""
        case = self._case(asked)
        if case is None:
            return None
        return _plane(case, x, y, CELLS if isinstance(case, Case) else VALUE_CELLS, near=near)

    def contested(self, asked: Asked, names: Sequence[str]) -> Contested | None:
        """The first two of these parameters, the best known first, whose plane two tools share, near the current values before the
        whole ranges; else the two parameters with the most shared plane. Returns None if a single tool wins on every plane, and for
        another router than EHRR and expected value."""

        def make() -> Contested | None:
            case = self._case(asked)
            return None if case is None else _contested(case, names)

        return self._once(self._contested, self.routing.context(asked), (asked, tuple(names)), make)

    def tornado(self, asked: Asked, tasks: Sequence[Task]) -> Tornado:
        """How these labelled tasks depend on single knobs of EHRR. Raises WayfareError for another router."""
        if not isinstance(asked.parameters, EhrrParameters):
            raise WayfareError("Only EHRR is measured this way; choose it as the router.")
        possible, decisions = self._possible(asked, tasks)
        context = self.routing.figures(replace(asked, supposed=()))
        return over_tasks.tornado(context, possible, decisions, asked.parameters)

    def presets(
        self, asked: Asked, tasks: Sequence[Task], own: Mapping[str, Parameters] | None = None
    ) -> tuple[Compared, ...]:
        """Compares the present knobs, named "", every preset of EHRR and the `own` sets over the labelled tasks."""
        possible, decisions = self._possible(asked, tasks)
        named = {"": asked.parameters, **{name: applied(EhrrParameters, name) for name in PRESETS}, **(own or {})}
        sets = {name: parameters for name, parameters in named.items() if isinstance(parameters, EhrrParameters)}
        return over_tasks.compared(self.routing.figures(replace(asked, supposed=())), possible, decisions, sets)

    def _possible(self, asked: Asked, tasks: Sequence[Task]) -> tuple[list[Task], ManyTasks]:
        """The tasks that a tool can do, and the decisions on them, without the supposed figures."""
        matcher, planner, actual = self.routing.context(asked).matcher, RulesPlanner(), replace(asked, supposed=())
        possible = [task for task in tasks if task.relevant]
        queries = [Query(checked_query(task.subtask), task.server_hint.strip(), matcher, planner) for task in possible]
        return possible, ManyTasks(
            queries, lambda parameters: self.routing.figures(replace(actual, parameters=parameters))
        )

    def fit(self, asked: Asked) -> Fit:
        """The probabilities of fit, also if the router ranks by another similarity."""
        return self._query(self.routing.figures(asked), asked).fit()

    def _query(self, context: RoutingContext, asked: Asked) -> Query:
        """The sub-task with its probabilities of fit, which do not depend on the knobs."""
        text, hint = checked_query(asked.query), asked.hint.strip()
        return self._once(
            self._queries, context, (text, hint), lambda: Query(text, hint, context.matcher, RulesPlanner())
        )

    def _case(self, asked: Asked) -> Case | ValueCase | None:
        context = self.routing.figures(asked)
        query = self._query(context, asked)
        if not context.tool_ids:
            return None
        if isinstance(asked.parameters, EhrrParameters):
            return _ehrr_case(context, query, asked.parameters)
        if isinstance(asked.parameters, ExpectedValueParameters):
            return _value_case(context, query, asked.parameters)
        return None


def _strips(case: Case | ValueCase) -> dict[str, Strip]:
    return ehrr_strips(case) if isinstance(case, Case) else value_strips(case)


def _contested(case: Case | ValueCase, names: Sequence[str]) -> Contested | None:
    cells = COARSE if isinstance(case, Case) else VALUE_COARSE
    most, best = 0.0, None
    for near, (x, y) in product((True, False), combinations(names, 2)):
        share = _plane(case, x, y, cells, near=near).contested
        if share > most:
            most, best = share, Contested(x, y, near)
        if share >= CONTESTED:
            break
    return best


def _plane(case: Case | ValueCase, x: str, y: str, cells: tuple[int, int], *, near: bool) -> Plane:
    knobs = {knob.name: knob for knob in case.parameters.knobs()}
    across, up = (
        values_of(knobs[name], count, getattr(case.parameters, name) if near else None)
        for name, count in zip((x, y), cells, strict=True)
    )
    return plane(case, x, y, across, up) if isinstance(case, Case) else value_plane(case, x, y, across, up)


def _ehrr_case(context: RoutingContext, query: Query, parameters: EhrrParameters) -> Case:
    return Case(
        context,
        matched(query, context, parameters),
        parameters,
        beliefs(context.statistics, parameters, rate=parameters.lambda_r),
        refusal(query, parameters),
        None
        if parameters.similarity == FIT
        or not isinstance(cast(object, context.matcher), IndexMatcher)  # supposed fits have no views
        else context.matcher.index.signals(query.text, query.hint, doubt_names=parameters.doubt_names),
        counted_share(query.text, context, parameters, query.known_fit),
    )


def _value_case(context: RoutingContext, query: Query, parameters: ExpectedValueParameters) -> ValueCase:
    tool_prospects = prospects(query.fit().tools, context)
    return ValueCase(context, tool_prospects, context.matcher.likeness, parameters, refusal(query, parameters))
