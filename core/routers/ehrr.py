"""EHRR: economics-aware hierarchical retrieval and routing (Algorithm 2 of the paper).

Servers by utility (3) -> top-k -> posted-price auction (4), (5) -> affordable tools of accepted servers by utility (7)
-> top-n (9). Its three ablations are parameters, and so is exploration (ours, `core.routers.estimates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.domain.decision import Decision, Explored, Stage
from core.domain.params import CUBE_ROOT, Range, knob
from core.domain.trace import DROPS, KEPT, Array, Drop, ServerEstimates, ServerTrace, ToolTrace, columns
from core.economics import auction, utility
from core.routers.base import EHRR, RefusingParameters, Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.estimates import (
    Beliefs,
    ExplorationParameters,
    beliefs,
    estimate_servers,
    estimate_tools,
    exploration_note,
    ranks,
)
from core.routers.parameters import (
    ABLATION,
    AUCTION,
    BUDGET,
    FIT,
    SIMILARITY,
    TIME,
    LearningParameters,
    MatchingParameters,
    similarity_knob,
)
from core.routers.ranked_result import NO_TOOLS, Scored, ranked_result, top, winning_reason

# ----------------------------------------------------------------------------------------------------------------------
# The parameters of EHRR: Table V of the paper, the switches of its ablation study, and exploration.


@dataclass(frozen=True)
class EhrrParameters(RefusingParameters, ExplorationParameters, LearningParameters, MatchingParameters):
    """EHRR's knobs, the switches of its ablation study, and exploration. Table V is the preset `paper`."""

    similarity: str = similarity_knob(FIT)
    k: int = knob(5, Range(1, 100, scale=CUBE_ROOT), group=SIMILARITY, symbol="k", label="Servers on the short-list",
        help="Servers on the short-list, top-k by (3).")  # fmt: skip
    alpha_s: float = knob(0.01, Range(0.0, 2.0, 0.01, "1/s", CUBE_ROOT), group=TIME, symbol="αs", label="Server time matters",
        help="Similarity given up per second of a server's expected time to success, EHRR (3).")  # fmt: skip
    alpha_t: float = knob(0.02, Range(0.0, 2.0, 0.01, "1/s", CUBE_ROOT), group=TIME, symbol="αt", label="Time matters",
        help="Similarity given up per second of a tool's expected cost, EHRR (7).")  # fmt: skip
    l_route_s: float = knob(0.0, Range(0.0, 5.0, 0.01, "s", CUBE_ROOT), group=TIME, symbol="Lroute", label="Routing overhead", advanced=True,
        help="Routing overhead before every call; G = Lroute + Lconn.")  # fmt: skip
    eps: float = knob(1e-3, Range(1e-3, 0.5, 1e-3, scale=CUBE_ROOT), group=TIME, symbol="ε", label="Least success", advanced=True,
        help="Floor of every success probability in (2), (6).")  # fmt: skip
    p_bs: float = knob(0.1, Range(0.0, 1.0, 0.0005, "$", CUBE_ROOT), group=AUCTION, symbol="p_bs", label="Base price",
        help="Base price: offered per unit of similarity, EHRR (4).")  # fmt: skip
    p_ofs: float = knob(0.0225, Range(0.0, 0.2, 0.0005, "$", CUBE_ROOT), group=AUCTION, symbol="p_ofs", label="Offset price",
        help="Offset price: offered per unit of ln(1 + C / L0), EHRR (4).")  # fmt: skip
    l0_s: float = knob(1.0, Range(0.1, 60.0, 0.1, "s", CUBE_ROOT), group=AUCTION, symbol="L0", label="Reference time", advanced=True,
        help="Reference time of the posted price, EHRR (4).")  # fmt: skip
    kappa: float = knob(100.0, Range(0.0, 1000.0, 0.5, "s/$", CUBE_ROOT), group=BUDGET, symbol="κ", label="Money matters",
        help="Seconds that one dollar is worth, EHRR (6).")  # fmt: skip
    budget_usd: float | None = knob(None, Range(0.0, 1.0, 0.001, "$", CUBE_ROOT), group=BUDGET, symbol="B", label="Price limit", kind=float,
        help="Cap of every posted price, Proposition 3; off where empty.")  # fmt: skip
    billing: str = knob("per_call", group=BUDGET, label="What a retry costs", advanced=True, choices=("per_call", "per_attempt"),
        help="per_call: the price counts once. per_attempt: it counts for each expected attempt (variant of (6)).")  # fmt: skip
    worthwhile: bool = knob(True, group=TIME, symbol="U > 0", label="Only tools worth a call",
        help="Only tools of positive utility: a try that is expected to cost more than it brings is not made. Off: the paper's top-n.")  # fmt: skip
    auction: bool = knob(True, group=ABLATION, label="Hold the auction", advanced=True,
        help="Off: no posted price, no ask, no price limit (w/o Auction).")  # fmt: skip
    execution_signals: bool = knob(True, group=ABLATION, label="Use time, reliability and price", advanced=True,
        help="Off: similarity alone ranks servers and tools (w/o Execution).")  # fmt: skip
    hierarchy: bool = knob(True, group=ABLATION, label="Rank servers before tools", advanced=True,
        help="Off: all servers are on the short-list, tools are ranked flat (w/o Hierarchical).")  # fmt: skip

    def weights_of_time(self) -> tuple[float, float]:
        """Similarity given up per second, of a server (3) and of a tool (7); 0 where similarity alone ranks, 1/s."""
        return (self.alpha_s, self.alpha_t) if self.execution_signals else (0.0, 0.0)


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
        utilities = utility.utility(similarity, cost_s, alpha=p.weights_of_time()[0])
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
        utilities = utility.utility(similarity, known.time_cost_s + known.money_cost_s, alpha=p.weights_of_time()[1])
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


# ----------------------------------------------------------------------------------------------------------------------
# RAG-MCP as EHRR's benchmark has it: similarity alone, inside the hierarchy, on the raw text of the task.
#
#     top-k servers by Sim(q, f_i), then top-n of their tools by Sim(q, f_ij)                EHRR, section VI, "RAG-MCP [3]"
#
# The benchmark enhances the published RAG-MCP (flat retrieval over all tools) by the two layers; `k` = 100 and more is flat.


@dataclass(frozen=True)
class RagMcpParameters(RefusingParameters, MatchingParameters):
    """The size of the short-list; the rest is how texts are compared."""

    similarity: str = similarity_knob(FIT)
    k: int = knob(5, Range(1, 100), group=SIMILARITY, symbol="k", label="Servers on the short-list",
        help="Servers on the short-list.")  # fmt: skip


class RagMcp(Router[RagMcpParameters]):
    """Similarity alone: the most similar servers, then the most similar of their tools."""

    id = "rag_mcp"
    title = "RAG-MCP"
    paper = f"RAG-MCP, as the benchmark of: {EHRR}"
    score = "similarity"

    def decide(self, query: Query, context: RoutingContext, parameters: RagMcpParameters) -> RoutingResult:
        """Two top-k by similarity."""
        match = query.match(parameters)
        listed = top(match.servers, match.servers, context.server_order, parameters.k)
        within = int(listed[context.tool_server].sum())
        return ranked_result(
            context,
            Scored(match.servers, match.servers),
            Scored(match.tools, query.fit().relevance if parameters.similarity == FIT else match.tools),
            n=parameters.n,
            shortlisted=listed,
            score=self.score,
            stages=(
                Stage("short-list", "servers", int(listed.sum()), len(listed), "Highest similarity."),
                Stage("candidates", "tools", min(parameters.n, within), within, "Highest similarity."),
            ),
            no_candidate="The short-listed servers have no tools; raise k.",
        )
