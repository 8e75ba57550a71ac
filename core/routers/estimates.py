"""Expected time, success and price of servers and tools from their statistics: EHRR (2) and (6), for every router."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np
from cachetools import LRUCache, cached

from core.domain.params import SHARE, Parameters, Range, knob
from core.domain.statistics import Statistics
from core.domain.trace import Array, ServerEstimates, ToolEstimates
from core.routers import utility
from core.routers.context import RoutingContext, Same
from core.routers.utility import effective_calls, optimistic, thompson

# Exploration in EHRR, off by default: tries a server again after a failure
#
# A draw (Thompson) or a bonus (optimism) replaces the success and post-accept failure of servers and the success of tools;
# (2), (3), (4), (6) and (7) use these values; r~ is not lowered by a standard deviation then. Draws depend on the seed and on the version of the statistics alone.

EXPLORATION = "exploration"


@dataclass(frozen=True)
class ExplorationParameters(Parameters):
    exploration: str = knob("none", group=EXPLORATION, label="Try less-known servers", advanced=True, choices=("none", "thompson", "optimism"),
        help="thompson: success is drawn from what is believed of it. optimism: it gets a bonus where little is known.")  # fmt: skip
    explore_seed: int = knob(0, Range(0, 1_000_000), group=EXPLORATION, symbol="seed", label="Seed of the draws", advanced=True,
        help="Seed of the draws: the same seed over the same statistics decides the same.")  # fmt: skip
    explore_memory: int = knob(50, Range(1, 10_000, unit="outcomes"), group=EXPLORATION, symbol="memory", label="Outcomes until experience counts half", advanced=True,
        help="Outcomes elsewhere after which what is known of a server or tool counts half.")  # fmt: skip
    optimism: float = knob(0.3, SHARE, group=EXPLORATION, symbol="c", label="Bonus for the unknown", advanced=True,
        help="Weight of the bonus c · √(ln(1 + N) / n) for n calls of N; from about 0.5 on every server looks perfect.")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Beliefs:
    """Probabilities that replace the estimates: success and post-accept failure of servers (S,), success of tools (T,)."""

    server_success: Array
    post_accept_failure: Array
    tool_success: Array


def beliefs(statistics: Statistics, p: ExplorationParameters, *, rate: float) -> Beliefs | None:
    """Drawn or optimistic probabilities. Returns None without exploration. `rate` is the coefficient of success in (8)."""
    if p.exploration == "none":
        return None
    servers, tools = statistics.servers, statistics.tools
    calls = [
        effective_calls(layer.calls, statistics.version - layer.seen_version, rate=rate, memory=p.explore_memory)
        for layer in (servers, servers, tools)
    ]
    estimates = servers.success, 1.0 - servers.post_accept_failure, tools.success
    if p.exploration == "thompson":
        rng = np.random.default_rng([p.explore_seed, statistics.version])
        probabilities = [thompson(estimate, count, rng) for estimate, count in zip(estimates, calls, strict=True)]
    else:
        probabilities = [
            optimistic(estimate, count, total=statistics.version, weight=p.optimism)
            for estimate, count in zip(estimates, calls, strict=True)
        ]
    return Beliefs(probabilities[0], 1.0 - probabilities[1], probabilities[2])


def exploration_note(p: ExplorationParameters) -> str:
    """A sentence on how the decision explored; empty without exploration.

    >>> exploration_note(ExplorationParameters(exploration="thompson", explore_seed=3))
    ' Success was drawn (Thompson, seed 3).'
    """
    if p.exploration == "thompson":
        return f" Success was drawn (Thompson, seed {p.explore_seed})."
    return f" Success was taken with a bonus (optimism, c {p.optimism:g})." if p.exploration == "optimism" else ""


EPS = 1e-3  # EHRR, Table V


def estimate_servers(
    context: RoutingContext, *, l_route_s: float | Array = 0.0, eps: float | Array = EPS, beliefs: Beliefs | None = None
) -> ServerEstimates[Array]:
    """The expected time of a call to each server (S,), EHRR (2), from its statistics or from `beliefs`.

    Parameters of shape (P, 1) give figures of shape (P, S), and (P, T) for tools.
    """
    stats = context.statistics.servers
    fixed_s = l_route_s + stats.conn_s
    if beliefs is None:
        success = utility.conservative_success(stats.success, stats.success_variance, eps=eps)
        failure = stats.post_accept_failure
    else:
        success, failure = np.maximum(eps, beliefs.server_success), beliefs.post_accept_failure
    cost_s = utility.expected_time_to_success(fixed_s, stats.call_s, success, failure, eps=eps)
    return ServerEstimates(
        fixed_s=fixed_s, call_s=stats.call_s, success=success, post_accept_failure=failure, cost_s=cost_s
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
    """The expected time and cost of a call of each tool (T,), EHRR (6), from its statistics or from `beliefs`."""
    stats, server = context.statistics.tools, context.tool_server
    success = utility.attempt_success(
        stats.success if beliefs is None else beliefs.tool_success, servers.post_accept_failure[server], eps=eps
    )
    return ToolEstimates(
        latency_s=stats.latency_s,
        success=success,
        time_cost_s=(servers.fixed_s[..., server] + stats.latency_s) / success,
        money_cost_s=utility.money_cost(stats.price_usd, success, kappa=kappa, per_attempt=per_attempt),
        price_usd=stats.price_usd,
    )


SNAPSHOTS_KEPT = 4


def _of_snapshot(context: RoutingContext, **options: float | bool) -> tuple[object, ...]:
    return Same(context.statistics), *sorted(options.items())


@cached(LRUCache(SNAPSHOTS_KEPT), key=_of_snapshot, lock=Lock())
def estimates(
    context: RoutingContext,
    *,
    l_route_s: float = 0.0,
    kappa: float = 1.0,
    per_attempt: bool = False,
    eps: float = EPS,
) -> tuple[ServerEstimates[Array], ToolEstimates[Array, Array]]:
    """The estimates of servers and tools, computed once for a snapshot of statistics. Callers do not change the arrays."""
    servers = estimate_servers(context, l_route_s=l_route_s, eps=eps)
    return servers, estimate_tools(context, servers, kappa=kappa, per_attempt=per_attempt, eps=eps)


EXPECTED_TIME = (
    "Expected seconds until a call succeeds, retries included: (L_route + L_conn + l) / ((1 − pfail) · r), EHRR (6)."
)
ATTEMPT_SUCCESS = "Chance that one attempt succeeds: (1 − pfail) · r."


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected time and success of a call of one tool, as in `EXPECTED_TIME` and `ATTEMPT_SUCCESS`."""

    time_s: float
    success: float


def expected(statistics: Statistics, tool: int, server: int) -> Expected:
    """The estimate of the tool in row `tool` of the server in row `server`, as `estimate_tools` has it, without an index."""
    servers, tools = statistics.servers, statistics.tools
    failure = servers.post_accept_failure[server : server + 1]
    success = float(utility.attempt_success(tools.success[tool : tool + 1], failure, eps=EPS)[0])
    return Expected((float(servers.conn_s[server]) + float(tools.latency_s[tool])) / success, success)
