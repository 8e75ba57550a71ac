"""EHRR for many sub-tasks under many parameters at once: the candidates of `EhrrEngine`, without the record of a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache

from core.domain.params import Value
from core.domain.trace import Array
from core.routers.base import refusal
from core.routers.context import Match, Query, RoutingContext
from core.routers.ehrr import EhrrEngine, EhrrParameters, ServerLayer, matched
from core.routers.estimates import beliefs
from core.routers.parameters import FIT, MatchingParameters
from core.routers.utility import NONE, Rows, best_rows

BROADCAST = ("alpha_s", "alpha_t", "l_route_s", "eps", "p_bs", "p_ofs", "l0_s", "kappa", "budget_usd")
AT_ONCE = 1 << 17  # utilities of servers in one step: about what the cache of a core holds
SIMILARITIES_KEPT = 8

MATCHING = tuple(knob.name for knob in MatchingParameters.knobs() if knob.name not in ("n", "similarity"))


@dataclass(eq=False)
class ManyTasks:
    """EHRR over many sub-tasks: the same candidates as single decisions.

    `context` returns the routing context under the priors and rates of the parameters.
    """

    queries: Sequence[Query]
    context: Callable[[EhrrParameters], RoutingContext]

    def __post_init__(self) -> None:
        self._similarities: LRUCache[tuple[object, ...], list[Match]] = LRUCache(SIMILARITIES_KEPT)

    def candidates(self, points: Sequence[EhrrParameters]) -> Rows:
        """(P, Q, n) rows of the candidates, best first, -1 where there are no more. The points belong to one `family`."""
        p = points[0]
        found = candidates_of(self.context(p), self._matches(p), points)
        found[:, [bool(refusal(query, p)) for query in self.queries]] = NONE
        return found

    def winners(self, points: Sequence[EhrrParameters]) -> Rows:
        """(P, Q) rows of the winners at any points, -1 without a winner."""
        found = np.full((len(points), len(self.queries)), NONE, dtype=np.int64)
        for places in families(points):
            found[places] = self.candidates([points[at] for at in places])[:, :, 0]
        return found

    def payments(self, points: Sequence[EhrrParameters], found: Rows) -> Array:
        """(P, Q, n) what a call of each candidate pays in USD; NaN for no candidate and for a price that is not known."""
        paid = np.full(found.shape, np.nan)
        for places in families(points):
            p = points[places[0]]
            paid[places] = payments_of(self.context(p), self._matches(p), [points[at] for at in places], found[places])
        return paid

    def _matches(self, p: EhrrParameters) -> list[Match]:
        """The similarities of every sub-task, computed once for each way to compare texts."""
        weights = () if p.similarity == FIT else tuple(getattr(p, name) for name in MATCHING)
        key = (p.similarity, p.reads_first, *weights)
        if key not in self._similarities:
            context = self.context(p)
            self._similarities[key] = [matched(query, context, p) for query in self.queries]
        return self._similarities[key]


def family(parameters: EhrrParameters) -> tuple[Value, ...]:
    """The parameters that all points of one batch share."""
    return tuple(value for name, value in parameters.values().items() if name not in BROADCAST)


def families(points: Sequence[EhrrParameters]) -> list[list[int]]:
    found: dict[tuple[Value, ...], list[int]] = {}
    for at, point in enumerate(points):
        found.setdefault(family(point), []).append(at)
    return list(found.values())


def candidates_of(context: RoutingContext, matches: Sequence[Match], points: Sequence[EhrrParameters]) -> Rows:
    """(P, Q, n) rows of the candidates, best first, -1 where there are no more, for P points of one `family` and the similarities of
    Q sub-tasks. Refuses no sub-task; `ManyTasks` does."""
    p = points[0]
    found = np.full((len(points), len(matches), p.n), NONE, dtype=np.int64)
    for part, engine, layer, tools in _layers(context, matches, points):
        rows, race = engine.few_tools(tools, layer)
        utilities = np.where(race.racing, race.utility, -np.inf)
        found[:, part] = best_rows(utilities, race.similarity, rows, context.tool_order, p.n)
    return found


def payments_of(
    context: RoutingContext, matches: Sequence[Match], points: Sequence[EhrrParameters], found: Rows
) -> Array:
    """(P, Q, n) what a call of each candidate pays in USD, for P points of one `family`; NaN for no candidate and for an unknown price."""
    if points[0].settlement == "price":
        return np.append(context.statistics.tools.price_usd, np.nan)[found]
    paid = np.full(found.shape, np.nan)
    for part, engine, layer, _ in _layers(context, matches, points):
        paid[:, part] = engine.payment_usd(layer, found[:, part])
    return np.where(found == NONE, np.nan, paid)


def _layers(
    context: RoutingContext, matches: Sequence[Match], points: Sequence[EhrrParameters]
) -> Iterator[tuple[slice, EhrrEngine, ServerLayer, Array]]:
    """Some sub-tasks after the other, as many as the cache holds: the engine, their servers, and their similarities to the tools."""
    if not len(context.tool_ids) or not len(matches):
        return
    believed = beliefs(context.statistics, points[0], rate=points[0].lambda_r)
    engine = EhrrEngine.of(context, points[0], believed, _differing(points))
    servers, tools = np.stack([m.servers for m in matches]), np.stack([m.tools for m in matches])
    step = max(1, AT_ONCE // (len(context.server_names) * len(points)))
    for at in range(0, len(matches), step):
        part = slice(at, at + step)
        yield part, engine, engine.server_layer(servers[part]), tools[part]


def _differing(points: Sequence[EhrrParameters]) -> dict[str, Array]:
    """The parameters that are not the same at all points, (P, 1, 1) each."""
    values = {name: [getattr(point, name) for point in points] for name in BROADCAST}
    return {
        name: np.array([[[np.inf if one is None else one]] for one in column])
        for name, column in values.items()
        if len(set(column)) > 1
    }
