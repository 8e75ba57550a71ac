"""Expected time, success and price of servers and tools from their statistics: EHRR (2) and (6), for every router."""

from __future__ import annotations

import numpy as np

from core.domain.trace import Array, ServerEstimates, ToolEstimates
from core.economics import time_to_success, utility
from core.routers.context import RoutingContext
from core.routers.exploration import Beliefs

EPS = 1e-3  # EHRR, Table V


def estimate_servers(
    context: RoutingContext, *, l_route_s: float | Array = 0.0, eps: float | Array = EPS, beliefs: Beliefs | None = None
) -> ServerEstimates[Array]:
    """What a call to each server (S,) is expected to take, EHRR (2): by its statistics, or by `beliefs` where one explores.

    Parameters of shape (P, 1) give figures of shape (P, S), and below (P, T).
    """
    known = context.statistics.servers
    fixed_s = l_route_s + known.conn_s
    if beliefs is None:
        success = time_to_success.conservative_success(known.success, known.success_variance, eps=eps)
        failure = known.post_accept_failure
    else:
        success, failure = np.maximum(eps, beliefs.server_success), beliefs.post_accept_failure
    cost_s = time_to_success.expected_time_to_success(fixed_s, known.call_s, success, failure, eps=eps)
    return ServerEstimates(
        fixed_s=fixed_s, call_s=known.call_s, success=success, post_accept_failure=failure, cost_s=cost_s
    )


def estimate_tools(
    context: RoutingContext,
    servers: ServerEstimates[Array],
    *,
    kappa: float | Array = 1.0,
    per_attempt: bool = False,
    eps: float | Array = EPS,
    beliefs: Beliefs | None = None,
) -> ToolEstimates[Array, Array]:
    """What a call of each tool (T,) is expected to take and cost, EHRR (6): by its statistics, or by `beliefs`."""
    known, server = context.statistics.tools, context.tool_server
    success = time_to_success.attempt_success(
        known.success if beliefs is None else beliefs.tool_success, servers.post_accept_failure[server], eps=eps
    )
    return ToolEstimates(
        latency_s=known.latency_s,
        success=success,
        time_cost_s=(servers.fixed_s[..., server] + known.latency_s) / success,
        money_cost_s=utility.money_cost(known.price_usd, success, kappa=kappa, per_attempt=per_attempt),
        price_usd=known.price_usd,
    )


def ranks(order: np.ndarray) -> np.ndarray:
    """The place of each row, from 1, in an order of all rows.

    >>> ranks(np.array([2, 0, 1])).tolist()
    [2, 3, 1]
    """
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    return rank
