"""EHRR: economics-aware hierarchical retrieval and routing (Algorithm 2 of the paper).

Servers by utility (3) -> top-k -> posted-price auction (4), (5) -> affordable tools of accepted servers by utility (7)
-> top-n (9). Its three ablations are parameters, and so is exploration (ours, `core.routers.estimates`).

`EhrrEngine` computes it over many points of parameters at once. The router, sweeps and What if (`core.decisions.case`) are views of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Decision, Explored, Fit, Stage
from core.domain.params import CUBE_ROOT, Range, knob
from core.domain.trace import DROPS, KEPT, Array, Drop, ServerEstimates, ServerTrace, ToolEstimates, ToolTrace, columns
from core.routers import auction, utility
from core.routers.base import EHRR, Router, RoutingResult, winning_reason
from core.routers.context import Match, Query, RoutingContext
from core.routers.estimates import (
    Beliefs,
    ExplorationParameters,
    beliefs,
    estimate_servers,
    estimate_tools,
    estimates,
    exploration_note,
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
)
from core.routers.ranked_result import NO_TOOLS
from core.routers.side_effects import asks_to_know, writing_tools
from core.routers.utility import Mask, Rows


@dataclass(frozen=True)
class EhrrParameters(ExplorationParameters, LearningParameters, MatchingParameters):
    """EHRR's knobs, the switches of its ablation study, and exploration. Table V is the preset `paper`."""

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
    settlement: str = knob("price", group=AUCTION, label="What a call pays", advanced=True, choices=tuple(auction.SETTLEMENTS),
        help="price: the tool's listed price. posted: exactly the posted price, Corollary 2. ask: the server's ask. It changes no choice.")  # fmt: skip
    kappa: float = knob(100.0, Range(0.0, 1000.0, 0.5, "s/$", CUBE_ROOT), group=BUDGET, symbol="κ", label="Money matters",
        help="Seconds that one dollar is worth, EHRR (6).")  # fmt: skip
    budget_usd: float | None = knob(None, Range(0.0, 1.0, 0.001, "$", CUBE_ROOT), group=BUDGET, symbol="B", label="Price limit", kind=float,
        help="Cap of every posted price, Proposition 3; off where empty.")  # fmt: skip
    billing: str = knob("per_call", group=BUDGET, label="What a retry costs", advanced=True, choices=("per_call", "per_attempt"),
        help="per_call: the price counts once. per_attempt: it counts for each expected attempt (variant of (6)).")  # fmt: skip
    worthwhile: bool = knob(True, group=TIME, symbol="U > 0", label="Only tools worth a call",
        help="Only tools of positive utility: a try that is expected to cost more than it brings is not made. Off: the paper's top-n.")  # fmt: skip
    reads_first: bool = knob(True, group=SIMILARITY, symbol="reads first", label="Reading tools answer questions", advanced=True,
        help="Where the question asks to know, a tool that writes loses to one that reads and fits at least a fifth as well. Not with the papers' similarity.")  # fmt: skip
    auction: bool = knob(True, group=ABLATION, label="Hold the auction", advanced=True,
        help="Off: no posted price, no ask, no price limit (w/o Auction).")  # fmt: skip
    execution_signals: bool = knob(True, group=ABLATION, label="Use time, reliability and price", advanced=True,
        help="Off: similarity alone ranks servers and tools (w/o Execution).")  # fmt: skip
    hierarchy: bool = knob(True, group=ABLATION, label="Rank servers before tools", advanced=True,
        help="Off: all servers are on the short-list, tools are ranked flat (w/o Hierarchical).")  # fmt: skip

    def weights_of_time(self) -> tuple[float, float]:
        """Similarity given up per second of a server (3) and of a tool (7), 1/s; 0 if similarity alone ranks."""
        return (self.alpha_s, self.alpha_t) if self.execution_signals else (0.0, 0.0)


# Reading before writing, ours
#
#     Sim'_j = Sim_j / 5    for a tool that writes, if the question asks to know (`core.routers.base`)

WRITING_SHARE = 0.2
"""No labelled set loses a question at any share from .9 to .05 (docs/decisions/0024)."""


def matched(query: Query, context: RoutingContext, p: EhrrParameters) -> Match:
    """Similarities of the sub-task. With `reads_first` a tool that writes counts a fifth if the question asks to know."""
    match = query.match(p)
    share = counted_share(query.text, context, p, query.known_fit)
    return match if isinstance(share, float) else replace(match, tools=share * match.tools)


def counted_share(text: str, context: RoutingContext, p: EhrrParameters, fit: Fit | None = None) -> Array | float:
    """The share of its fit that counts as a tool's similarity, (T,), or 1 for all. Reads only tools that the fit scored."""
    if not p.reads_first or p.similarity != FIT or not asks_to_know(text):
        return 1.0
    count = len(context.tool_ids)
    rows = np.arange(count) if fit is None or fit.scored is None else fit.scored
    share = np.ones(count)
    share[rows[writing_tools(context.catalog, rows)]] = WRITING_SHARE
    return share


# The engine: Algorithm 2 over points of parameters and over sub-tasks
#
# Leading axes `...` broadcast. A decision has none, P points of a sub-task have (P,), P points of Q sub-tasks (P, Q).

NO_RANK: Rows = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class ServerLayer:
    """Servers (..., S): similarity, utility (3), posted price (4) in USD per call, short-list, and acceptance (5). `rank` (S,) are
    the places from 1 in a single decision, empty over several points."""

    similarity: Array
    utility: Array
    posted_usd: Array
    listed: Mask
    accepted: Mask
    rank: Rows


@dataclass(frozen=True, slots=True)
class ToolLayer:
    """Tools (..., T): similarity, utility (7), and masks: the price is within the posted price, the tool can be paid on an accepted
    server, the tool is in the race."""

    similarity: Array
    utility: Array
    affordable: Mask
    payable: Mask
    racing: Mask


@dataclass(frozen=True, slots=True)
class EhrrEngine:
    """Algorithm 2 over a catalog, with the estimates (2) of servers (..., S) and (6) of tools (..., T).

    `differing` holds the parameters that differ between points as columns (P, 1) or (P, 1, 1). An infinite budget means no budget.
    """

    context: RoutingContext
    parameters: EhrrParameters
    differing: Mapping[str, Array]
    servers: ServerEstimates[Array]
    tools: ToolEstimates[Array, Array]

    @classmethod
    def of(
        cls,
        context: RoutingContext,
        p: EhrrParameters,
        believed: Beliefs | None = None,
        differing: Mapping[str, Array] = MappingProxyType({}),
    ) -> EhrrEngine:
        """The engine of a routing context. `believed` replaces estimated probabilities."""
        per_attempt = p.billing == "per_attempt"
        if believed is None and not differing:
            layers = estimates(context, l_route_s=p.l_route_s, kappa=p.kappa, per_attempt=per_attempt, eps=p.eps)
            return cls(context, p, differing, *layers)
        eps, kappa = differing.get("eps", p.eps), differing.get("kappa", p.kappa)
        l_route_s = differing.get("l_route_s", p.l_route_s)
        servers = estimate_servers(context, l_route_s=l_route_s, eps=eps, beliefs=believed)
        tools = estimate_tools(context, servers, kappa=kappa, per_attempt=per_attempt, eps=eps, beliefs=believed)
        return cls(context, p, differing, servers, tools)

    def value(self, name: str) -> Any:
        """A parameter: its number, or its column if it differs between points."""
        return self.differing[name] if name in self.differing else getattr(self.parameters, name)

    def server_layer(self, similarity: Array) -> ServerLayer:
        """The short-list and the auction for similarities (..., S)."""
        p, cost_s, order = self.parameters, self.servers.cost_s, self.context.server_order
        utilities = utility.utility(similarity, cost_s, alpha=self._weight("alpha_s"))
        k, rank = self.value("k") if p.hierarchy else len(order), NO_RANK
        if utilities.ndim == 1 and "k" not in self.differing:
            rank = np.argsort(utility.ranking(utilities, similarity, order)) + 1
            shortlist = rank <= k
        else:
            shortlist = utility.highest(utilities, similarity, order, k)
        if not p.auction:
            return ServerLayer(similarity, utilities, np.full_like(utilities, np.nan), shortlist, shortlist, rank)
        posted_usd = self.posted_usd(similarity, cost_s)
        accepted_servers = shortlist & auction.accepts(self.context.statistics.servers.ask_usd, posted_usd)
        return ServerLayer(similarity, utilities, posted_usd, shortlist, accepted_servers, rank)

    def posted_usd(self, similarity: Array, cost_s: Array) -> Array:
        """Posted prices (4) for similarities and expected times, with or without an auction."""
        return auction.posted_price(
            similarity, cost_s, p_bs=self.value("p_bs"), p_ofs=self.value("p_ofs"), l0_s=self.value("l0_s"),
            budget_usd=self.value("budget_usd"),
        )  # fmt: skip

    def payment_usd(self, servers: ServerLayer, tools: Rows | None = None) -> Array:
        """The payment for a call of each tool (..., T), or of the tools in some rows (..., n). Without an auction, or on a server that did
        not accept, it is the listed price."""
        rows = np.arange(len(self.context.tool_ids)) if tools is None else tools
        server_rows, has_deal = self.context.tool_server[rows], servers.accepted & self.parameters.auction
        figures = servers.posted_usd, self.context.statistics.servers.ask_usd
        posted_usd, ask = (utility.at_rows(np.where(has_deal, usd, np.nan), server_rows) for usd in figures)
        settlement = self.parameters.settlement
        return auction.payment(settlement, price_usd=self.tools.price_usd[rows], posted_usd=posted_usd, ask_usd=ask)

    def tool_layer(self, similarity: Array, servers: ServerLayer) -> ToolLayer:
        server, tools = self.context.tool_server, self.tools
        posted_usd, reachable = servers.posted_usd.take(server, axis=-1), servers.accepted.take(server, axis=-1)
        return self._race(similarity, tools.time_cost_s + tools.money_cost_s, tools.price_usd, posted_usd, reachable)

    def few_tools(self, similarity: Array, servers: ServerLayer) -> tuple[Rows, ToolLayer]:
        """The race among the tools of accepted servers alone, and their rows (..., K), T in places without a tool."""
        count, width = len(self.context.tool_ids), len(self.context.server_names)
        places = np.sort(np.where(servers.accepted, np.arange(width), width), axis=-1)
        places = places[..., : int(servers.accepted.sum(axis=-1).max(initial=1))]
        tool_rows = _tools_by_server(self.context)[places]
        rows = tool_rows.reshape(*places.shape[:-1], -1)
        tools, valid, take = self.tools, np.minimum(rows, count - 1), utility.at_rows
        posted_usd = np.repeat(take(servers.posted_usd, np.minimum(places, width - 1)), tool_rows.shape[-1], axis=-1)
        cost_s = take(tools.time_cost_s + tools.money_cost_s, valid)
        return rows, self._race(take(similarity, valid), cost_s, tools.price_usd[valid], posted_usd, rows < count)

    def _race(self, similarity: Array, cost_s: Array, price_usd: Array, posted_usd: Array, accepted: Mask) -> ToolLayer:
        p = self.parameters
        utilities = utility.utility(similarity, cost_s, alpha=self._weight("alpha_t"))
        can_pay = auction.affordable(price_usd, posted_usd) if p.auction else np.ones(price_usd.shape, dtype=np.bool_)
        payable = accepted & can_pay
        in_race = payable & (utilities > 0) if p.worthwhile else payable
        return ToolLayer(similarity, utilities, can_pay, payable, in_race)

    def _weight(self, name: str) -> Any:
        return self.value(name) if self.parameters.execution_signals else 0.0


def _tools_by_server(context: RoutingContext) -> Rows:
    """(S + 1, M) the tools of each server, T in places without a tool; the last row has none."""
    sizes = np.bincount(context.tool_server, minlength=len(context.server_names) + 1)
    places = np.arange(max(int(sizes.max(initial=0)), 1))
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.where(places < sizes[:, None], first[:, None] + places, len(context.tool_ids))


# The router: the engine at one point, with the record of a decision

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
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: EhrrParameters) -> RoutingResult:
        match = matched(query, context, parameters)
        drawn_beliefs = beliefs(context.statistics, parameters, rate=parameters.lambda_r)
        engine = EhrrEngine.of(context, parameters, drawn_beliefs)
        layer = engine.server_layer(match.servers)
        race = engine.tool_layer(match.tools, layer)
        servers = _server_trace(engine, layer)
        tools, candidates = _tool_trace(engine, layer, race)
        exploration = None
        if drawn_beliefs is not None:
            plain = estimates(context, l_route_s=parameters.l_route_s, eps=parameters.eps)
            exploration = Explored(parameters.exploration, *(layer.success for layer in plain))
        reason = _why_none(servers, tools)
        if candidates:
            reason = winning_reason(tools.ids, tools.utility, candidates, self.score)
        return RoutingResult(
            servers,
            tools,
            candidates,
            reason + exploration_note(parameters),
            _stages(servers, tools, candidates, parameters),
            explored=exploration,
        )

    def event(self, decision: Decision) -> dict[str, Any]:
        """With exploration: the success that decided and its estimate, for the short-list and its tools."""
        if decision.explored is None:
            return {}
        servers, tools, exploration = decision.servers, decision.tools, decision.explored
        success = {
            names[row]: {"used": float(success_used[row]), "estimate": float(estimate[row])}
            for names, rows, success_used, estimate in (
                (servers.names, decision.shortlist(), servers.success, exploration.server_estimate),
                (tools.ids, decision.evaluated_tools(), tools.success, exploration.tool_estimate),
            )
            for row in rows
        }
        return {"exploration": exploration.how, "success": success}


def _server_trace(engine: EhrrEngine, layer: ServerLayer) -> ServerTrace:
    context = engine.context
    return ServerTrace(
        **columns(engine.servers),
        names=context.server_names,
        similarity=layer.similarity,
        utility=layer.utility,
        posted_price_usd=layer.posted_usd,
        ask_usd=context.statistics.servers.ask_usd,
        rank=layer.rank,
        shortlisted=layer.listed,
        accepted=layer.accepted,
    )


def _tool_trace(engine: EhrrEngine, servers: ServerLayer, race: ToolLayer) -> tuple[ToolTrace, tuple[int, ...]]:
    context, p = engine.context, engine.parameters
    feasible = np.flatnonzero(race.racing)
    order = utility.ranking(race.utility[feasible], race.similarity[feasible], context.tool_order[feasible])
    best = feasible[order]
    rank = np.zeros(len(race.racing), dtype=np.int64)
    rank[best] = np.arange(1, len(best) + 1)
    trace = ToolTrace(
        **columns(engine.tools),
        ids=context.tool_ids,
        server_row=context.tool_server,
        similarity=race.similarity,
        utility=race.utility,
        payment_usd=engine.payment_usd(servers),
        affordable=race.affordable,
        rank=rank,
        dropped=_dropped(servers, context.tool_server, race.affordable, rank, p),
    )
    return trace, tuple(int(row) for row in best[: p.n])


def _stages(
    servers: ServerTrace, tools: ToolTrace, candidates: tuple[int, ...], p: EhrrParameters
) -> tuple[Stage, ...]:
    listed_count, accepted_count = int(np.count_nonzero(servers.shortlisted)), int(np.count_nonzero(servers.accepted))
    tool_count = int(np.count_nonzero(servers.accepted[tools.server_row]))
    feasible = int(np.count_nonzero(tools.rank))
    note = "Ask price within the posted price, EHRR (4), (5)." if p.auction else "No auction: every server goes on."
    price_notes = ["Price within the posted price of the server."] if p.auction else []
    worth_notes = ["Utility above 0."] if p.worthwhile else []
    return (
        Stage("short-list", "servers", listed_count, len(servers.names), "Highest utility, EHRR (3)."),
        Stage("auction", "servers", accepted_count, listed_count, note),
        Stage(
            "affordable", "tools", feasible, tool_count, " ".join(price_notes + worth_notes) or "Every tool goes on."
        ),
        Stage("candidates", "tools", len(candidates), feasible, "Highest utility, EHRR (7), (9)."),
    )


def _dropped(servers: ServerLayer, server: Rows, can_pay: Mask, rank: Rows, p: EhrrParameters) -> NDArray[np.int8]:
    """(T,) the first stage that dropped each tool."""
    codes = np.where(rank > p.n, OUTRANKED, KEPT).astype(np.int8)
    if p.worthwhile:
        codes[rank == 0] = NOT_WORTH
    codes[~can_pay] = NOT_AFFORDABLE
    server_codes = np.full(len(servers.listed), KEPT, dtype=np.int8)
    server_codes[~servers.accepted] = REJECTED
    server_codes[~servers.listed] = NOT_SHORTLISTED
    early_codes = server_codes.take(server)
    np.copyto(codes, early_codes, where=early_codes != KEPT)
    return codes


def _why_none(servers: ServerTrace, tools: ToolTrace) -> str:
    raise_prices = "raise p_bs, p_ofs or the budget cap."
    if not len(tools.ids):
        return NO_TOOLS
    if not servers.accepted.any():
        return f"None of the {servers.shortlisted.sum()} short-listed servers accepted the posted price; {raise_prices}"
    not_worth = np.flatnonzero(tools.dropped == NOT_WORTH)
    if len(not_worth):
        best = int(not_worth[np.argmax(tools.utility[not_worth])])
        return (
            f"No tool is worth a call: {tools.ids[best]} has the highest utility, {tools.utility[best]:.3g}, which is not above 0. "
            "Lower αt or κ, or switch off “Only tools worth a call”."
        )
    if servers.accepted[tools.server_row].any():
        return f"No tool on the accepted servers is affordable at its server's posted price; {raise_prices}"
    if servers.shortlisted.all():
        return f"The accepted servers have no tools, and those with tools rejected; {raise_prices}"
    return "The accepted servers have no tools; raise k."
