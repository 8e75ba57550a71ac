"""EHRR for many sub-tasks under many parameters at once: candidates alone, without the record of a decision.

The formulas are those of `core.routers.ehrr`, with parameters that broadcast over points. What differs is how the best are
found: a selection in place of a sort. Where equal utilities stand at its edge, the sort of the plain router decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.domain.params import Value
from core.domain.trace import Array
from core.economics import auction, utility
from core.routers.base import refusal
from core.routers.context import Match, Query, RoutingContext
from core.routers.ehrr import EhrrParameters
from core.routers.estimates import beliefs, estimate_servers, estimate_tools
from core.routers.parameters import FIT, MatchingParameters

Rows = NDArray[np.int64]

BROADCAST = ("alpha_s", "alpha_t", "l_route_s", "eps", "p_bs", "p_ofs", "l0_s", "kappa", "budget_usd")
AT_ONCE = 1 << 18  # utilities of servers in one step: what a core keeps near
NONE = -1
SIMILARITIES_KEPT = 8

MATCHING = tuple(knob.name for knob in MatchingParameters.knobs() if knob.name not in ("n", "similarity"))


class ManyTasks:
    """EHRR over many sub-tasks: under any parameters it gives what the router decides when it is asked one by one.

    `context` gives the routing context under the priors and rates of the parameters.
    """

    def __init__(self, queries: Sequence[Query], context: Callable[[EhrrParameters], RoutingContext]) -> None:
        self._queries = queries
        self._context = context
        self._similarities: LRUCache[tuple[object, ...], list[Match]] = LRUCache(SIMILARITIES_KEPT)

    def candidates(self, points: Sequence[EhrrParameters]) -> Rows:
        """(P, Q, n) rows of the candidates, best first, -1 where there are no more; the points are of one `family`."""
        p = points[0]
        found = candidates_of(self._context(p), self._matches(p), points)
        found[:, [bool(refusal(query, p)) for query in self._queries]] = NONE
        return found

    def winners(self, points: Sequence[EhrrParameters]) -> Rows:
        """(P, Q) rows of the winners of any points, -1 where there is none."""
        found = np.full((len(points), len(self._queries)), NONE, dtype=np.int64)
        for places in families(points):
            found[places] = self.candidates([points[at] for at in places])[:, :, 0]
        return found

    def _matches(self, p: EhrrParameters) -> list[Match]:
        """Similarities for every sub-task, computed once for each way to compare texts."""
        weights = () if p.similarity == FIT else tuple(getattr(p, name) for name in MATCHING)
        key = (p.similarity, *weights)
        if key not in self._similarities:
            self._similarities[key] = [query.match(p) for query in self._queries]
        return self._similarities[key]


def family(parameters: EhrrParameters) -> tuple[Value, ...]:
    """What all points of one batch have in common."""
    return tuple(value for name, value in parameters.values().items() if name not in BROADCAST)


def families(points: Sequence[EhrrParameters]) -> list[list[int]]:
    """The places of the points of each family."""
    found: dict[tuple[Value, ...], list[int]] = {}
    for at, point in enumerate(points):
        found.setdefault(family(point), []).append(at)
    return list(found.values())


def candidates_of(context: RoutingContext, matches: Sequence[Match], points: Sequence[EhrrParameters]) -> Rows:
    """(P, Q, n) rows of the candidates, best first, -1 where there are no more: for each of P points, which are of one `family`,
    and each of Q sub-tasks, whose similarities are `matches`. Nothing is refused; `ManyTasks` does that."""
    found = np.full((len(points), len(matches), points[0].n), NONE, dtype=np.int64)
    if not len(context.tool_ids) or not len(matches):
        return found
    layer = _Layer.of(context, points)
    servers, tools = np.stack([m.servers for m in matches]), np.stack([m.tools for m in matches])
    step = max(1, AT_ONCE // (len(context.server_names) * len(points)))
    for at in range(0, len(matches), step):
        found[:, at : at + step] = _part(layer, servers[at : at + step], tools[at : at + step])
    return found


@dataclass(frozen=True, slots=True)
class _Layer:
    """What does not depend on the sub-task: costs of servers (P, S) and tools (P, T), and the tools of each server (S, M) with T
    where it has fewer. Parameters are of shape (P, 1, 1)."""

    context: RoutingContext
    parameters: EhrrParameters
    alpha_s: Array
    alpha_t: Array
    prices: dict[str, Array]
    server_cost_s: Array
    tool_cost_s: Array
    tools_of: Rows
    price_usd: Array

    @classmethod
    def of(cls, context: RoutingContext, points: Sequence[EhrrParameters]) -> _Layer:
        """Equations (2) and (6) under every point."""
        p = points[0]
        column = {name: np.array([[_number(getattr(q, name))] for q in points]) for name in BROADCAST}
        believed = beliefs(context.statistics, p, rate=p.lambda_r)
        known = estimate_servers(context, l_route_s=column["l_route_s"], eps=column["eps"], beliefs=believed)
        tools = estimate_tools(
            context, known, kappa=column["kappa"], per_attempt=p.billing == "per_attempt", eps=column["eps"],
            beliefs=believed,
        )  # fmt: skip
        cost_s = tools.time_cost_s + tools.money_cost_s
        nowhere = np.zeros((len(points), 1))
        weighed = 1.0 if p.execution_signals else 0.0
        return cls(
            context,
            p,
            alpha_s=column["alpha_s"][..., None] * weighed,
            alpha_t=column["alpha_t"][..., None] * weighed,
            prices={name: column[name][..., None] for name in ("p_bs", "p_ofs", "l0_s", "budget_usd")},
            server_cost_s=known.cost_s,
            tool_cost_s=np.concatenate([cost_s, nowhere], axis=1),
            tools_of=_tools_of(context),
            price_usd=np.append(context.statistics.tools.price_usd, np.nan),
        )


def _part(layer: _Layer, servers: Array, tools: Array) -> Rows:
    """(P, Q, n) candidates of a few sub-tasks; similarities (Q, S) and (Q, T)."""
    p, context = layer.parameters, layer.context
    points, queries = len(layer.alpha_s), len(servers)
    listed = _shortlist(layer, servers)  # (P, Q, k)
    at_point, at_query = np.arange(points)[:, None, None], np.arange(queries)[:, None]
    accepted, posted = np.ones(listed.shape, dtype=np.bool_), None
    if p.auction:
        ask_usd = context.statistics.servers.ask_usd[listed]
        posted = auction.posted_price(servers[at_query, listed], layer.server_cost_s[at_point, listed], **layer.prices)
        accepted = auction.accepts(ask_usd, posted)
    rows = layer.tools_of[listed]  # (P, Q, k, M)
    if posted is not None:
        accepted = accepted[..., None] & auction.affordable(layer.price_usd[rows], posted[..., None])
    else:
        accepted = np.broadcast_to(accepted[..., None], rows.shape)
    shape = (points, queries, -1)
    rows, accepted = rows.reshape(shape), accepted.reshape(shape)
    similarity = np.concatenate([tools, np.zeros((queries, 1))], axis=1)[at_query, rows]
    utilities = utility.utility(similarity, layer.tool_cost_s[at_point, rows], alpha=layer.alpha_t)
    racing = accepted & (rows < len(context.tool_ids))
    if p.worthwhile:
        racing &= utilities > 0
    return _best(np.where(racing, utilities, -np.inf), similarity, rows, context.tool_order, p.n)


def _shortlist(layer: _Layer, similarity: Array) -> Rows:
    """(P, Q, k) rows of the servers of highest utility (3), in no order."""
    p, context = layer.parameters, layer.context
    count = len(context.server_names)
    k = min(p.k, count) if p.hierarchy else count
    utilities = utility.utility(similarity, layer.server_cost_s[:, None, :], alpha=layer.alpha_s)
    if k == count:
        return np.broadcast_to(np.arange(count), utilities.shape)
    edge = np.partition(utilities, count - k, axis=-1)[..., count - k, None]
    listed = utilities >= edge
    for point, query in np.argwhere(np.count_nonzero(listed, axis=-1) > k):
        ranked = utility.ranking(utilities[point, query], similarity[query], context.server_order)
        listed[point, query] = False
        listed[point, query, ranked[:k]] = True
    return (np.flatnonzero(listed) % count).reshape(*listed.shape[:2], k)


def _best(utilities: Array, similarity: Array, rows: Rows, order: Rows, n: int) -> Rows:
    """(P, Q, n) of `rows` (P, Q, K) by utility, those of minus infinity left out; `utilities` is used up."""
    kept = utilities.copy()
    points, queries, width = utilities.shape
    found = np.full((points, queries, n), NONE, dtype=np.int64)
    edges = np.full((points, queries, n + 1), -np.inf)
    flat = utilities.reshape(-1, width)
    all_rows = np.arange(len(flat))
    for place in range(min(n + 1, width)):
        at = flat.argmax(axis=-1)
        edges.reshape(-1, n + 1)[:, place] = values = flat[all_rows, at]
        if not np.isfinite(values).any():
            break
        if place < n:
            found.reshape(-1, n)[:, place] = np.where(np.isfinite(values), rows.reshape(-1, width)[all_rows, at], NONE)
        flat[all_rows, at] = -np.inf
    ties = ((edges[..., 1:] == edges[..., :-1]) & np.isfinite(edges[..., 1:])).any(axis=-1)
    for point, query in np.argwhere(ties):
        racing = np.flatnonzero(np.isfinite(kept[point, query]))
        tools = rows[point, query, racing]
        ranked = utility.ranking(kept[point, query, racing], similarity[point, query, racing], order[tools])[:n]
        found[point, query] = NONE
        found[point, query, : len(ranked)] = tools[ranked]
    return found


def _tools_of(context: RoutingContext) -> Rows:
    sizes = np.bincount(context.tool_server, minlength=len(context.server_names))
    places = np.arange(max(int(sizes.max(initial=0)), 1))
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.where(places < sizes[:, None], first[:, None] + places, len(context.tool_ids))


def _number(value: float | None) -> float:
    return np.inf if value is None else value
