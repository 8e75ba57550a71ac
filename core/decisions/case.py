"""One sub-task, or many, under EHRR, decided at many points of parameters at once by `core.routers.ehrr.EhrrEngine`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.domain.params import Value
from core.domain.trace import Array
from core.relevance.catalog_index import ViewSignals
from core.routers.base import refusal
from core.routers.context import Match, Query, RoutingContext
from core.routers.ehrr import EhrrEngine, EhrrParameters, ServerLayer, ToolLayer, matched
from core.routers.estimates import Beliefs, beliefs
from core.routers.parameters import FIT, SERVER_VIEWS, TOOL_VIEWS, MatchingParameters
from core.routers.utility import NONE, Mask, Rows, best_rows

TOOL_WEIGHTS = tuple(f"w_{view}" for view in TOOL_VIEWS)
SERVER_WEIGHTS = tuple(f"w_server_{view}" for view in SERVER_VIEWS)
WEIGHTS = (*TOOL_WEIGHTS, *SERVER_WEIGHTS, "hint_weight", "sim_midpoint", "sim_steepness")

# A sub-task and its decisions


@dataclass(frozen=True, slots=True)
class Case:
    """A sub-task over a catalog: its similarities and the current parameters. Exploration replaces estimates by `beliefs`.
    `refused` is the reason of a refusal, or empty. `signals` are set if similarity comes from weighted views. `counted` (T,) is the share
    of each tool's fit that counts as its similarity."""

    context: RoutingContext
    match: Match
    parameters: EhrrParameters
    beliefs: Beliefs | None = None
    refused: str = ""
    signals: ViewSignals | None = None
    counted: Array | float = 1.0

    @property
    def fitting(self) -> Match:
        """The similarities before the discount of tools that write."""
        return replace(self.match, tools=self.match.tools / self.counted)

    @property
    def can_be_narrowed(self) -> bool:
        return self.parameters.hierarchy and self.beliefs is None

    def of_servers(self, servers: Rows) -> Case:
        """The case with these servers (ascending) and their tools alone, and with fixed similarities. Only if it `can_be_narrowed`."""
        tools = np.flatnonzero(np.isin(self.context.tool_server, servers))
        match = Match(self.match.servers[servers], self.match.tools[tools], self.match.embed_ms)
        counted = self.counted[tools] if isinstance(self.counted, np.ndarray) else self.counted
        return replace(self, context=self.context.narrowed(tools, servers), match=match, signals=None, counted=counted)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The decisions at P points: masks of servers (P, S); whether a tool can be paid on an accepted server (P, T); the utilities
    of tools in the race (P, T), minus infinity elsewhere; and the candidates (P, N), best first, then -1.

    `engine`, `servers` and `tools` have the figures behind them. Figures that are equal at all points have no axis P.
    """

    engine: EhrrEngine
    servers: ServerLayer
    tools: ToolLayer
    listed: Mask
    accepted: Mask
    payable: Mask
    racing: Array
    candidates: Rows

    @property
    def winner(self) -> Rows:
        """(P,) rows, -1 without a winner."""
        return self.candidates[:, 0]

    def runners_up(self) -> tuple[Rows, Array]:
        """(P,) the second best tool, or -1, and the winner's lead over it. The lead is infinite without a rival, 0 without a winner."""
        others, points = self.racing.copy(), np.arange(len(self.racing))
        if not others.size:
            return np.full(len(points), NONE), np.zeros(len(points))
        others[points, self.winner] = -np.inf
        second = others.argmax(axis=1)
        exists = np.isfinite(others[points, second])
        with np.errstate(invalid="ignore"):
            lead = self.racing[points, self.winner] - others[points, second]
        return np.where(exists, second, NONE), np.where(self.winner == NONE, 0.0, lead)

    def signatures(self) -> list[int]:
        """(P) hashes that are equal for equal decisions."""
        parts = zip(self.listed, self.accepted, self.candidates, strict=True)
        return [hash((listed.tobytes(), accepted.tobytes(), rows.tobytes())) for listed, accepted, rows in parts]


def decide(case: Case, points: Mapping[str, Array], match: Match | None = None) -> Outcomes:
    """The decisions at P points. `points` (P,) holds the values of the parameters that differ; the others keep their values.

    `match` holds the similarities of each point, (P, S) and (P, T), if they differ too.
    """
    context, similarity = case.context, case.match if match is None else match
    columns = {name: values[:, None] for name, values in points.items()}
    engine = EhrrEngine.of(context, case.parameters, case.beliefs, columns)
    servers = engine.server_layer(similarity.servers)
    tools = engine.tool_layer(similarity.tools, servers)
    count = max([1, *map(len, columns.values()), *(len(array) for array in (similarity.servers,) if array.ndim == 2)])

    def everywhere(values: NDArray[Any]) -> Any:
        return np.broadcast_to(values, (count, values.shape[-1]))

    racing = everywhere(np.where(tools.racing & (not case.refused), tools.utility, -np.inf))
    rows = np.flatnonzero(np.isfinite(racing).any(axis=0))
    candidates = best_rows(racing[:, rows], similarity.tools[..., rows], rows, context.tool_order, engine.value("n"))
    return Outcomes(
        engine, servers, tools, everywhere(servers.listed), everywhere(servers.accepted), everywhere(tools.payable), racing,
        candidates,
    )  # fmt: skip


# Many sub-tasks under many parameters: the candidates alone

BROADCAST = ("alpha_s", "alpha_t", "l_route_s", "eps", "p_bs", "p_ofs", "l0_s", "kappa", "budget_usd")
AT_ONCE = 1 << 17  # utilities of servers in one step, about as many as the cache of a core holds
SIMILARITIES_KEPT = 8

MATCHING = tuple(knob.name for knob in MatchingParameters.knobs() if knob.name not in ("n", "similarity"))


@dataclass(eq=False)
class ManyTasks:
    """EHRR over many sub-tasks, with the candidates of single decisions.

    `context` returns the routing context under the priors and rates of the parameters.
    """

    queries: Sequence[Query]
    context: Callable[[EhrrParameters], RoutingContext]

    def __post_init__(self) -> None:
        self._similarities: LRUCache[tuple[object, ...], list[Match]] = LRUCache(SIMILARITIES_KEPT)

    def candidates(self, points: Sequence[EhrrParameters]) -> Rows:
        """(P, Q, n) rows of the candidates, best first, then -1. The points belong to one `family`."""
        p = points[0]
        rows = candidates_of(self.context(p), self._matches(p), points)
        rows[:, [bool(refusal(query, p)) for query in self.queries]] = NONE
        return rows

    def winners(self, points: Sequence[EhrrParameters]) -> Rows:
        """(P, Q) rows of the winners at any points, -1 without a winner."""
        winners = np.full((len(points), len(self.queries)), NONE, dtype=np.int64)
        for places in families(points):
            winners[places] = self.candidates([points[place] for place in places])[:, :, 0]
        return winners

    def payments(self, points: Sequence[EhrrParameters], found: Rows) -> Array:
        """(P, Q, n) the payment for a call of each candidate in USD; NaN for no candidate and for an unknown price."""
        paid = np.full(found.shape, np.nan)
        for places in families(points):
            p = points[places[0]]
            paid[places] = payments_of(self.context(p), self._matches(p), [points[i] for i in places], found[places])
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
    groups: dict[tuple[Value, ...], list[int]] = {}
    for place, point in enumerate(points):
        groups.setdefault(family(point), []).append(place)
    return list(groups.values())


def candidates_of(context: RoutingContext, matches: Sequence[Match], points: Sequence[EhrrParameters]) -> Rows:
    """(P, Q, n) rows of the candidates, best first, then -1, for P points of one `family` and the similarities of Q sub-tasks. Refuses
    no sub-task; `ManyTasks` does."""
    p = points[0]
    candidates = np.full((len(points), len(matches), p.n), NONE, dtype=np.int64)
    for span, engine, layer, tools in _layers(context, matches, points):
        rows, race = engine.few_tools(tools, layer)
        utilities = np.where(race.racing, race.utility, -np.inf)
        candidates[:, span] = best_rows(utilities, race.similarity, rows, context.tool_order, p.n)
    return candidates


def payments_of(
    context: RoutingContext, matches: Sequence[Match], points: Sequence[EhrrParameters], found: Rows
) -> Array:
    """(P, Q, n) the payment for a call of each candidate in USD, for P points of one `family`; NaN for no candidate and for an unknown price."""
    if points[0].settlement == "price":
        return np.append(context.statistics.tools.price_usd, np.nan)[found]
    paid = np.full(found.shape, np.nan)
    for span, engine, layer, _ in _layers(context, matches, points):
        paid[:, span] = engine.payment_usd(layer, found[:, span])
    return np.where(found == NONE, np.nan, paid)


def _layers(
    context: RoutingContext, matches: Sequence[Match], points: Sequence[EhrrParameters]
) -> Iterator[tuple[slice, EhrrEngine, ServerLayer, Array]]:
    """Yields blocks of sub-tasks that fit the cache: their slice, the engine, their servers, and their similarities to the tools."""
    if not len(context.tool_ids) or not len(matches):
        return
    believed = beliefs(context.statistics, points[0], rate=points[0].lambda_r)
    engine = EhrrEngine.of(context, points[0], believed, _differing(points))
    servers, tools = np.stack([m.servers for m in matches]), np.stack([m.tools for m in matches])
    step = max(1, AT_ONCE // (len(context.server_names) * len(points)))
    for start in range(0, len(matches), step):
        span = slice(start, start + step)
        yield span, engine, engine.server_layer(servers[span]), tools[span]


def _differing(points: Sequence[EhrrParameters]) -> dict[str, Array]:
    """The parameters that differ between points, (P, 1, 1) each."""
    values = {name: [getattr(point, name) for point in points] for name in BROADCAST}
    return {
        name: np.array([[[np.inf if value is None else value]] for value in column])
        for name, column in values.items()
        if len(set(column)) > 1
    }
