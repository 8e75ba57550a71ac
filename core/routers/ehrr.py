"""EHRR: economics-aware hierarchical retrieval and routing (Algorithm 2 of the paper).

Servers by utility (3) -> top-k -> posted-price auction (4), (5) -> affordable tools of accepted servers by utility (7)
-> top-n (9). Its three ablations are parameters.
"""

from __future__ import annotations

import numpy as np

from core.domain.decision import DROPS, KEPT, Drop, ServerTrace, ToolTrace
from core.domain.params import Parameters
from core.economics import auction, time_to_success, utility
from core.economics.time_to_success import Array
from core.routers.base import Match, Router, Scene, Verdict
from core.routers.parameters import EhrrParameters


class Ehrr(Router):
    """The economics-aware router."""

    id = "ehrr"
    title = "EHRR"
    paper = "Clearing MCP Navigation Fog with Economics-Aware Hierarchical Tool Routing"
    summary = (
        "Utility of servers, posted-price auction, utility of tools: similarity against time, reliability and price."
    )
    parameters = EhrrParameters

    def decide(self, match: Match, scene: Scene, parameters: Parameters) -> Verdict:
        """Algorithm 2."""
        if not isinstance(parameters, EhrrParameters):
            raise TypeError(f"EHRR takes EhrrParameters, not {type(parameters).__name__}")
        servers = self._server_layer(match.servers, scene, parameters)
        tools, candidates = self._tool_layer(match.tools, servers, scene, parameters)
        return Verdict(servers, tools, candidates, _reason(servers, tools, candidates))

    def _server_layer(self, similarity: Array, scene: Scene, p: EhrrParameters) -> ServerTrace:
        known = scene.statistics.servers
        fixed_s = p.l_route_s + known.conn_s
        safe_success = time_to_success.conservative_success(known.success, known.success_variance, eps=p.eps)
        cost_s = time_to_success.expected_time_to_success(
            fixed_s, known.call_s, safe_success, known.post_accept_failure, eps=p.eps
        )
        utilities = utility.utility(similarity, cost_s, alpha=p.alpha_s if p.execution_signals else 0.0)
        order = utility.ranking(utilities, similarity, scene.server_order)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(1, len(order) + 1)
        shortlisted = rank <= (p.k if p.hierarchy else len(order))
        posted = auction.posted_price(
            similarity, cost_s, p_bs=p.p_bs, p_ofs=p.p_ofs, l0_s=p.l0_s, budget_usd=p.budget_usd
        )
        if not p.auction:
            posted = np.full_like(posted, np.nan)
        return ServerTrace(
            names=scene.server_names,
            similarity=similarity,
            fixed_s=fixed_s,
            call_s=known.call_s,
            success=safe_success,
            post_accept_failure=known.post_accept_failure,
            cost_s=cost_s,
            utility=utilities,
            posted_price_usd=posted,
            ask_usd=known.ask_usd,
            rank=rank,
            shortlisted=shortlisted,
            accepted=shortlisted & (auction.accepts(known.ask_usd, posted) if p.auction else True),
        )

    def _tool_layer(
        self, similarity: Array, servers: ServerTrace, scene: Scene, p: EhrrParameters
    ) -> tuple[ToolTrace, tuple[int, ...]]:
        known, server = scene.statistics.tools, scene.tool_server
        success = time_to_success.attempt_success(known.success, servers.post_accept_failure[server], eps=p.eps)
        time_cost_s = (servers.fixed_s[server] + known.latency_s) / success
        money_cost_s = utility.money_cost(
            known.price_usd, success, kappa=p.kappa, per_attempt=p.billing == "per_attempt"
        )
        utilities = utility.utility(
            similarity, time_cost_s + money_cost_s, alpha=p.alpha_t if p.execution_signals else 0.0
        )
        can_pay = (
            auction.affordable(known.price_usd, servers.posted_price_usd[server])
            if p.auction
            else np.ones(len(server), dtype=np.bool_)
        )
        feasible = np.flatnonzero(servers.accepted[server] & can_pay)
        best = feasible[utility.ranking(utilities[feasible], similarity[feasible], scene.tool_order[feasible])]
        rank = np.zeros(len(server), dtype=np.int64)
        rank[best] = np.arange(1, len(best) + 1)
        trace = ToolTrace(
            ids=scene.tool_ids,
            server_row=server,
            similarity=similarity,
            latency_s=known.latency_s,
            success=success,
            time_cost_s=time_cost_s,
            money_cost_s=money_cost_s,
            utility=utilities,
            price_usd=known.price_usd,
            affordable=can_pay,
            rank=rank,
            dropped=_dropped(servers, server, can_pay, rank, p.n),
        )
        return trace, tuple(int(row) for row in best[: p.n])


def _dropped(servers: ServerTrace, server: np.ndarray, can_pay: np.ndarray, rank: np.ndarray, n: int) -> np.ndarray:
    """For each tool the first stage that dropped it."""
    return np.select(
        [~servers.shortlisted[server], ~servers.accepted[server], ~can_pay, rank > n],
        [DROPS.index(d) for d in (Drop.NOT_SHORTLISTED, Drop.REJECTED, Drop.NOT_AFFORDABLE, Drop.OUTRANKED)],
        default=KEPT,
    ).astype(np.int8)


def _reason(servers: ServerTrace, tools: ToolTrace, candidates: tuple[int, ...]) -> str:
    if not candidates:
        return _why_none(servers, tools)
    first = candidates[0]
    lead = f"{tools.ids[first]} has the highest utility, {tools.utility[first]:.3f}"
    if len(candidates) == 1:
        return f"{lead}, and is the only candidate."
    margin = tools.utility[first] - tools.utility[candidates[1]]
    return f"{lead}, {margin:.3f} ahead of {tools.ids[candidates[1]]}."


def _why_none(servers: ServerTrace, tools: ToolTrace) -> str:
    raise_prices = "raise p_bs, p_ofs or the budget cap."
    if not len(tools.ids):
        return "The catalog has no tools; import or discover a catalog that has some."
    if not servers.accepted.any():
        return f"None of the {servers.shortlisted.sum()} short-listed servers accepted the posted price; {raise_prices}"
    if servers.accepted[tools.server_row].any():
        return f"No tool on the accepted servers is affordable at its server's posted price; {raise_prices}"
    if servers.shortlisted.all():
        return f"The accepted servers have no tools, and those with tools rejected; {raise_prices}"
    return "The accepted servers have no tools; raise k."
