"""Expected time, success and price of servers and tools from their statistics: EHRR (2) and (6), for every router."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.economics import time_to_success, utility
from core.economics.time_to_success import Array
from core.routers.base import Scene
from core.routers.exploring import Beliefs

EPS = 1e-3  # EHRR, Table V


@dataclass(frozen=True, slots=True)
class ServerFigures:
    """Per server (S,): fixed overhead and call time in s, conservative success, C_i in s."""

    fixed_s: Array
    call_s: Array
    success: Array
    post_accept_failure: Array
    cost_s: Array


@dataclass(frozen=True, slots=True)
class ToolFigures:
    """Per tool (T,): latency in s, chance that one attempt succeeds, the terms of C_ij in s, price in USD (NaN: none)."""

    latency_s: Array
    success: Array
    time_cost_s: Array
    money_cost_s: Array
    price_usd: Array


def server_figures(
    scene: Scene, *, l_route_s: float = 0.0, eps: float = EPS, beliefs: Beliefs | None = None
) -> ServerFigures:
    """What a call to each server is expected to take, EHRR (2), by the figures or by what is believed instead."""
    known = scene.statistics.servers
    fixed_s = l_route_s + known.conn_s
    if beliefs is None:
        success = time_to_success.conservative_success(known.success, known.success_variance, eps=eps)
        failure = known.post_accept_failure
    else:
        success, failure = np.maximum(eps, beliefs.server_success), beliefs.post_accept_failure
    cost_s = time_to_success.expected_time_to_success(fixed_s, known.call_s, success, failure, eps=eps)
    return ServerFigures(fixed_s, known.call_s, success, failure, cost_s)


def tool_figures(
    scene: Scene,
    servers: ServerFigures,
    *,
    kappa: float = 1.0,
    per_attempt: bool = False,
    eps: float = EPS,
    beliefs: Beliefs | None = None,
) -> ToolFigures:
    """What a call of each tool is expected to take and cost, EHRR (6), by the figures or by what is believed instead."""
    known, server = scene.statistics.tools, scene.tool_server
    success = time_to_success.attempt_success(
        known.success if beliefs is None else beliefs.tool_success, servers.post_accept_failure[server], eps=eps
    )
    return ToolFigures(
        latency_s=known.latency_s,
        success=success,
        time_cost_s=(servers.fixed_s[server] + known.latency_s) / success,
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
