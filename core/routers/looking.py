"""Which tools and servers of a large catalog a decision looks at, so that looking at all of them would decide the same.

    U_i = p_i - alpha C_i                                   p_i in [low_i, high_i]: what the best tool of server i fits with
    looked at  = near tools, and all tools of every server with  high_i - alpha C_i >= the k-th greatest low_i - alpha C_i

No other server can be on a short-list of k. A server is settled where low_i = high_i: of those, the first k alone can be on it. All
tools of a server that can be on it are looked at, so that those it is chosen by, and the candidates, have their exact figures.
"""

from __future__ import annotations

import numpy as np

from core.economics.utility import highest, utility
from core.domain.trace import Array
from core.relevance.bounds import BoundedFit
from core.routers.context import Query, RoutingContext, Rows

MOST = 0.25
"""The share of the tools from which on looking at all of them takes no longer."""


def looked_at(query: Query, context: RoutingContext, *, k: int, alpha: float, cost_s: Array) -> RoutingContext:
    """The context with the tools and servers alone that can matter to a short-list of k by utility. It is the one that was given where the
    catalog is small, or too many can. `cost_s` (S,) is the expected time of each server in s, `alpha` its weight in 1/s.
    """
    bounds = query.bounds()
    if bounds is None or k >= len(context.server_names):
        return context
    listed = contenders(bounds, context, k=k, alpha=alpha, cost_s=cost_s)
    chosen = listed[context.tool_server]
    chosen[bounds.near] = True
    tools = np.flatnonzero(chosen)
    if len(tools) > MOST * len(chosen):
        return context
    listed[context.tool_server[tools]] = True
    servers = np.flatnonzero(listed)
    query.looked_at(bounds.fit(tools, servers))
    return context.narrowed(tools, servers)


def contenders(bounds: BoundedFit, context: RoutingContext, *, k: int, alpha: float, cost_s: Array) -> np.ndarray:
    """(S,) the servers of which all tools are looked at: those that can be among the k best, and those of near tools that are unsettled."""
    low, high = bounds.servers()
    settled = low == high
    least, most = (utility(similarity, cost_s, alpha=alpha) for similarity in (low, high))
    edge = np.partition(least, len(least) - k)[len(least) - k]
    listed = most >= edge
    known: Rows = np.flatnonzero(listed & settled)
    if len(known) > k:
        listed[known] = highest(least[known], low[known], context.server_order[known], k)
    listed[context.tool_server[bounds.near]] |= ~settled[context.tool_server[bounds.near]]
    return listed
