"""EHRR: economics-aware hierarchical retrieval and routing (Algorithm 2 of the paper).

Servers by utility (3) -> top-k -> posted-price auction (4), (5) -> affordable tools of accepted servers by utility (7)
-> top-n (9). Its three ablations are parameters, and so is exploration (ours, `core.routers.exploration`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.domain.decision import Decision, Explored, Stage
from core.domain.trace import DROPS, KEPT, Array, Drop, ServerEstimates, ServerTrace, ToolTrace, columns
from core.economics import auction, utility
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.ehrr_parameters import EhrrParameters
from core.routers.estimates import estimate_servers, estimate_tools, ranks
from core.routers.exploration import Beliefs, beliefs, exploration_note
from core.routers.papers import EHRR
from core.routers.ranked_result import NO_TOOLS, winning_reason

NOT_SHORTLISTED, REJECTED, NOT_AFFORDABLE, OUTRANKED, NOT_WORTH = map(
    DROPS.index, (Drop.NOT_SHORTLISTED, Drop.REJECTED, Drop.NOT_AFFORDABLE, Drop.OUTRANKED, Drop.NOT_WORTH)
)


class Ehrr(Router[EhrrParameters]):
    """Utility of servers, posted-price auction, utility of tools: similarity against time, reliability and price."""

    id = "ehrr"
    title = "EHRR"
    paper = EHRR
    score = "utility"
    economic = True

    def decide(self, query: Query, context: RoutingContext, parameters: EhrrParameters) -> RoutingResult:
        """Algorithm 2."""
        match = query.match(parameters)
        believed = beliefs(context.statistics, parameters, rate=parameters.lambda_r)
        estimates = estimate_servers(context, l_route_s=parameters.l_route_s, eps=parameters.eps, beliefs=believed)
        servers = self._server_layer(match.servers, estimates, context, parameters)
        tools, candidates = self._tool_layer(match.tools, servers, estimates, believed, context, parameters)
        reason = (
            winning_reason(tools.ids, tools.utility, candidates, self.score)
            if candidates
            else _why_none(servers, tools)
        )
        return RoutingResult(
            servers,
            tools,
            candidates,
            reason + exploration_note(parameters),
            _stages(servers, tools, candidates),
            explored=None if believed is None else _explored(context, parameters),
        )

    def event(self, decision: Decision) -> dict[str, Any]:
        """Where success was explored: the value that was used and the estimate, for the short-list and its tools."""
        if decision.explored is None:
            return {}
        servers, tools, explored = decision.servers, decision.tools, decision.explored
        return {
            "exploration": explored.how,
            "success": {
                **_both(servers.names, decision.shortlist(), servers.success, explored.server_estimate),
                **_both(tools.ids, decision.evaluated_tools(), tools.success, explored.tool_estimate),
            },
        }

    def _server_layer(
        self, similarity: Array, estimates: ServerEstimates[Array], context: RoutingContext, p: EhrrParameters
    ) -> ServerTrace:
        ask_usd, cost_s = context.statistics.servers.ask_usd, estimates.cost_s
        utilities = utility.utility(similarity, cost_s, alpha=p.alpha_s if p.execution_signals else 0.0)
        rank = ranks(utility.ranking(utilities, similarity, context.server_order))
        shortlisted = rank <= (p.k if p.hierarchy else len(rank))
        posted = auction.posted_price(
            similarity, cost_s, p_bs=p.p_bs, p_ofs=p.p_ofs, l0_s=p.l0_s, budget_usd=p.budget_usd
        )
        if not p.auction:
            posted = np.full_like(posted, np.nan)
        return ServerTrace(
            **columns(estimates),
            names=context.server_names,
            similarity=similarity,
            utility=utilities,
            posted_price_usd=posted,
            ask_usd=ask_usd,
            rank=rank,
            shortlisted=shortlisted,
            accepted=shortlisted & (auction.accepts(ask_usd, posted) if p.auction else True),
        )

    def _tool_layer(
        self,
        similarity: Array,
        servers: ServerTrace,
        estimates: ServerEstimates[Array],
        believed: Beliefs | None,
        context: RoutingContext,
        p: EhrrParameters,
    ) -> tuple[ToolTrace, tuple[int, ...]]:
        server = context.tool_server
        known = estimate_tools(
            context, estimates, kappa=p.kappa, per_attempt=p.billing == "per_attempt", eps=p.eps, beliefs=believed
        )
        utilities = utility.utility(
            similarity, known.time_cost_s + known.money_cost_s, alpha=p.alpha_t if p.execution_signals else 0.0
        )
        can_pay = (
            auction.affordable(known.price_usd, servers.posted_price_usd[server])
            if p.auction
            else np.ones(len(server), dtype=np.bool_)
        )
        in_race = servers.accepted[server] & can_pay
        if p.worthwhile:
            in_race &= utilities > 0
        feasible = np.flatnonzero(in_race)
        best = feasible[utility.ranking(utilities[feasible], similarity[feasible], context.tool_order[feasible])]
        rank = np.zeros(len(server), dtype=np.int64)
        rank[best] = np.arange(1, len(best) + 1)
        trace = ToolTrace(
            **columns(known),
            ids=context.tool_ids,
            server_row=server,
            similarity=similarity,
            utility=utilities,
            affordable=can_pay,
            rank=rank,
            dropped=_dropped(servers, server, can_pay, rank, p),
        )
        return trace, tuple(int(row) for row in best[: p.n])


def _both(names: Sequence[str], rows: Sequence[int], used: Array, estimate: Array) -> dict[str, dict[str, float]]:
    return {names[row]: {"used": float(used[row]), "estimate": float(estimate[row])} for row in rows}


def _explored(context: RoutingContext, p: EhrrParameters) -> Explored:
    servers = estimate_servers(context, l_route_s=p.l_route_s, eps=p.eps)
    return Explored(p.exploration, servers.success, estimate_tools(context, servers, eps=p.eps).success)


def _stages(servers: ServerTrace, tools: ToolTrace, candidates: tuple[int, ...]) -> tuple[Stage, ...]:
    listed, accepted = int(np.count_nonzero(servers.shortlisted)), int(np.count_nonzero(servers.accepted))
    within = int(np.count_nonzero(servers.accepted[tools.server_row]))
    feasible = int(np.count_nonzero(tools.rank))
    return (
        Stage("short-list", "servers", listed, len(servers.names), "Highest utility, EHRR (3)."),
        Stage("auction", "servers", accepted, listed, "Ask price within the posted price, EHRR (4), (5)."),
        Stage("affordable", "tools", feasible, within, "Price within the posted price of the server."),
        Stage("candidates", "tools", len(candidates), feasible, "Highest utility, EHRR (7), (9)."),
    )


def _dropped(
    servers: ServerTrace, server: np.ndarray, can_pay: np.ndarray, rank: np.ndarray, p: EhrrParameters
) -> np.ndarray:
    """For each tool the first stage that dropped it."""
    codes = np.where(rank > p.n, OUTRANKED, KEPT).astype(np.int8)
    if p.worthwhile:
        codes[rank == 0] = NOT_WORTH
    codes[~can_pay] = NOT_AFFORDABLE
    codes[~servers.accepted[server]] = REJECTED
    codes[~servers.shortlisted[server]] = NOT_SHORTLISTED
    return codes


def _why_none(servers: ServerTrace, tools: ToolTrace) -> str:
    raise_prices = "raise p_bs, p_ofs or the budget cap."
    if not len(tools.ids):
        return NO_TOOLS
    if not servers.accepted.any():
        return f"None of the {servers.shortlisted.sum()} short-listed servers accepted the posted price; {raise_prices}"
    if servers.accepted[tools.server_row].any():
        return f"No tool on the accepted servers is affordable at its server's posted price; {raise_prices}"
    if servers.shortlisted.all():
        return f"The accepted servers have no tools, and those with tools rejected; {raise_prices}"
    return "The accepted servers have no tools; raise k."
