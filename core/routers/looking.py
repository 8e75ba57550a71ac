"""Which tools and servers of a large catalog a decision looks at, so that looking at all of them would decide the same.

    U_i = p_i - alpha C_i                                   p_i in [low_i, high_i]: what the best tool of server i fits with
    looked at  = near tools, and all tools of every server with  high_i - alpha C_i >= the k-th greatest low_i - alpha C_i

No other server can be on a short-list of k. A server is settled where low_i = high_i: of those, the first k alone can be on it. All
tools of a server that can be on it are looked at, so that those it is chosen by, and the candidates, have their exact figures.
"""

from __future__ import annotations

import threading

import numpy as np
from cachetools import LRUCache, cached

from core.domain.statistics import Statistics
from core.domain.trace import Array
from core.economics.utility import Mask, Rows, highest, utility
from core.relevance.bounds import BoundedFit, reached
from core.routers.context import Query, RoutingContext, Same
from core.routers.estimates import EPS, estimate_servers

MOST = 0.25
"""The share of the tools from which on looking at all of them takes no longer."""
KEPT = 8


def looked_at(
    query: Query, context: RoutingContext, k: int, alpha: float = 0.0, *, l_route_s: float = 0.0, eps: float = EPS
) -> RoutingContext:
    """The context with the tools and servers alone that can matter to a short-list of k by utility, where a second of a server's expected
    time costs `alpha`. It is the one that was given where the catalog is small, or too many tools can matter.
    """
    if context.exhaustive or k >= len(context.server_names) or (bounds := query.bounds()) is None:
        return context
    listed = contenders(bounds, context, k, alpha, _server_cost_s(context, l_route_s, eps))
    chosen = listed.take(context.tool_server)
    chosen[bounds.near] = True
    tools = np.flatnonzero(chosen)
    if len(tools) > MOST * len(chosen):
        return context
    listed[context.tool_server[tools]] = True
    servers = np.flatnonzero(listed)
    query.looked_at(bounds.fit(tools, servers))
    return context.narrowed(tools, servers)


def contenders(bounds: BoundedFit, context: RoutingContext, k: int, alpha: float, cost_s: Array) -> Mask:
    """(S,) the servers of which all tools are looked at: those that can be among the k best, and those of near tools that are unsettled."""
    low, high = bounds.servers()
    settled = low == high
    least, most = (utility(similarity, cost_s, alpha=alpha) for similarity in (low, high))
    first = least[least >= reached(least, k)]
    listed = most >= np.partition(first, len(first) - k)[len(first) - k]
    known: Rows = np.flatnonzero(listed & settled)
    if len(known) > k:
        listed[known] = highest(least[known], low[known], context.server_order[known], k)
    listed[context.tool_server[bounds.near]] |= ~settled[context.tool_server[bounds.near]]
    return listed


def _key(context: RoutingContext, l_route_s: float, eps: float) -> tuple[Same[Statistics], float, float]:
    return Same(context.statistics), l_route_s, eps


@cached(LRUCache(KEPT), key=_key, lock=threading.Lock())
def _server_cost_s(context: RoutingContext, l_route_s: float, eps: float) -> Array:
    """(S,) the expected time to success of every server in s, EHRR (2), computed once for each snapshot of the statistics."""
    return estimate_servers(context, l_route_s=l_route_s, eps=eps).cost_s
