"""EHRR: economics-aware hierarchical retrieval and routing (Algorithm 2 of the paper).

Servers by utility (3) -> top-k -> posted-price auction (4), (5) -> affordable tools of accepted servers by utility (7)
-> top-n (9). Its three ablations are parameters, and so is exploration (ours, `core.routers.exploring`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.domain.decision import DROPS, KEPT, Decision, Drop, Explored, ServerTrace, Stage, ToolTrace
from core.domain.params import Parameters
from core.economics import auction, utility
from core.economics.time_to_success import Array
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.exploring import Beliefs, beliefs, exploration_note
from core.routers.figures import ServerFigures, ranks, server_figures, tool_figures
from core.routers.parameters import EhrrParameters
from core.routers.ranking import NO_TOOLS

NOT_SHORTLISTED, REJECTED, NOT_AFFORDABLE, OUTRANKED = map(
    DROPS.index, (Drop.NOT_SHORTLISTED, Drop.REJECTED, Drop.NOT_AFFORDABLE, Drop.OUTRANKED)
)


class Ehrr(Router):
    """The economics-aware router."""

    id = "ehrr"
    title = "EHRR"
    paper = "Clearing MCP Navigation Fog with Economics-Aware Hierarchical Tool Routing"
    summary = (
        "Utility of servers, posted-price auction, utility of tools: similarity against time, reliability and price."
    )
    parameters = EhrrParameters

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Algorithm 2."""
        if not isinstance(parameters, EhrrParameters):
            raise TypeError(f"EHRR takes EhrrParameters, not {type(parameters).__name__}")
        match = question.match(parameters)
        believed = beliefs(scene.statistics, parameters, rate=parameters.lambda_r)
        figures = server_figures(scene, l_route_s=parameters.l_route_s, eps=parameters.eps, beliefs=believed)
        servers = self._server_layer(match.servers, figures, scene, parameters)
        tools, candidates = self._tool_layer(match.tools, servers, figures, believed, scene, parameters)
        return Verdict(
            servers,
            tools,
            candidates,
            _reason(servers, tools, candidates) + exploration_note(parameters),
            _stages(servers, tools, candidates),
            explored=None if believed is None else _explored(scene, parameters),
        )

    def event(self, decision: Decision) -> dict[str, Any]:
        """Where success was explored: what was gone by and what the figures say, for the short-list and its tools."""
        if decision.explored is None:
            return {}
        servers, tools, figures = decision.servers, decision.tools, decision.explored
        return {
            "exploration": figures.how,
            "success": {
                **_both(servers.names, decision.shortlist(), servers.success, figures.server_estimate),
                **_both(tools.ids, decision.evaluated_tools(), tools.success, figures.tool_estimate),
            },
        }

    def _server_layer(self, similarity: Array, figures: ServerFigures, scene: Scene, p: EhrrParameters) -> ServerTrace:
        ask_usd, cost_s = scene.statistics.servers.ask_usd, figures.cost_s
        utilities = utility.utility(similarity, cost_s, alpha=p.alpha_s if p.execution_signals else 0.0)
        rank = ranks(utility.ranking(utilities, similarity, scene.server_order))
        shortlisted = rank <= (p.k if p.hierarchy else len(rank))
        posted = auction.posted_price(
            similarity, cost_s, p_bs=p.p_bs, p_ofs=p.p_ofs, l0_s=p.l0_s, budget_usd=p.budget_usd
        )
        if not p.auction:
            posted = np.full_like(posted, np.nan)
        return ServerTrace(
            names=scene.server_names,
            similarity=similarity,
            fixed_s=figures.fixed_s,
            call_s=figures.call_s,
            success=figures.success,
            post_accept_failure=figures.post_accept_failure,
            cost_s=cost_s,
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
        figures: ServerFigures,
        believed: Beliefs | None,
        scene: Scene,
        p: EhrrParameters,
    ) -> tuple[ToolTrace, tuple[int, ...]]:
        server = scene.tool_server
        known = tool_figures(
            scene, figures, kappa=p.kappa, per_attempt=p.billing == "per_attempt", eps=p.eps, beliefs=believed
        )
        utilities = utility.utility(
            similarity, known.time_cost_s + known.money_cost_s, alpha=p.alpha_t if p.execution_signals else 0.0
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
            success=known.success,
            time_cost_s=known.time_cost_s,
            money_cost_s=known.money_cost_s,
            utility=utilities,
            price_usd=known.price_usd,
            affordable=can_pay,
            rank=rank,
            dropped=_dropped(servers, server, can_pay, rank, p.n),
        )
        return trace, tuple(int(row) for row in best[: p.n])


def _both(names: Sequence[str], rows: Sequence[int], used: Array, estimate: Array) -> dict[str, dict[str, float]]:
    return {names[row]: {"used": float(used[row]), "estimate": float(estimate[row])} for row in rows}


def _explored(scene: Scene, p: EhrrParameters) -> Explored:
    servers = server_figures(scene, l_route_s=p.l_route_s, eps=p.eps)
    return Explored(p.exploration, servers.success, tool_figures(scene, servers, eps=p.eps).success)


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


def _dropped(servers: ServerTrace, server: np.ndarray, can_pay: np.ndarray, rank: np.ndarray, n: int) -> np.ndarray:
    """For each tool the first stage that dropped it."""
    codes = np.where(rank > n, OUTRANKED, KEPT).astype(np.int8)
    codes[~can_pay] = NOT_AFFORDABLE
    codes[~servers.accepted[server]] = REJECTED
    codes[~servers.shortlisted[server]] = NOT_SHORTLISTED
    return codes


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
        return NO_TOOLS
    if not servers.accepted.any():
        return f"None of the {servers.shortlisted.sum()} short-listed servers accepted the posted price; {raise_prices}"
    if servers.accepted[tools.server_row].any():
        return f"No tool on the accepted servers is affordable at its server's posted price; {raise_prices}"
    if servers.shortlisted.all():
        return f"The accepted servers have no tools, and those with tools rejected; {raise_prices}"
    return "The accepted servers have no tools; raise k."
