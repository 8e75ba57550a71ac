"""The auction of one sub-task as an account: who answers what, and what buyer and servers gain. Theorem 1, Corollary 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.economics.auction import posted_price
from core.economics.utility import ranking, utility
from core.routers.estimates import estimate_servers, estimate_tools
from core.whatif.case import Case, decide


@dataclass(frozen=True, slots=True)
class Offer:
    """One short-listed server: what it is offered and asks (USD per call), its bit, its surplus and the buyer's if it is executed
    with its best tool."""

    server: str
    posted_usd: float
    ask_usd: float | None
    accepts: bool
    server_usd: float
    buyer_usd: float
    tool: str


@dataclass(frozen=True, slots=True)
class Payoff:
    """What a server of a true cost earns when it is executed and says the truth."""

    posted_usd: float
    cost_usd: float

    @property
    def truthful_usd(self) -> float:
        """0 where it rejects."""
        return self.said(self.cost_usd)

    def said(self, cost_usd: float) -> float:
        """What it earns if it says this cost: it accepts up to the posted price, and is paid exactly that."""
        return self.posted_usd - self.cost_usd if cost_usd <= self.posted_usd else 0.0


def payoff(posted_usd: float, cost_usd: float) -> Payoff:
    """
    >>> found = payoff(0.03, 0.01)
    >>> round(found.truthful_usd, 3), round(found.said(0.029), 3), found.said(0.031)
    (0.02, 0.02, 0.0)
    >>> payoff(0.03, 0.05).truthful_usd, round(payoff(0.03, 0.05).said(0.01), 3)
    (0.0, -0.02)
    """
    return Payoff(posted_usd, cost_usd)


def auction_of(case: Case, worth_usd: float) -> list[Offer]:
    """The short-list, the highest utility first. The chance of the buyer is that of the server's tool of highest utility."""
    p, context, now = case.parameters, case.context, decide(case, {})
    known = estimate_servers(context, l_route_s=p.l_route_s, eps=p.eps, beliefs=case.beliefs)
    tools = estimate_tools(
        context, known, kappa=p.kappa, per_attempt=p.billing == "per_attempt", eps=p.eps, beliefs=case.beliefs
    )
    posted = posted_price(
        case.match.servers, known.cost_s, p_bs=p.p_bs, p_ofs=p.p_ofs, l0_s=p.l0_s, budget_usd=p.budget_usd
    )
    of_servers, of_tools = p.weights_of_time()
    servers_u = utility(case.match.servers, known.cost_s, alpha=of_servers)
    tools_u = utility(case.match.tools, tools.time_cost_s + tools.money_cost_s, alpha=of_tools)
    best_first = ranking(tools_u, case.match.tools, context.tool_order)
    found: list[Offer] = []
    for row in map(int, ranking(servers_u, case.match.servers, context.server_order)):
        if not now.listed[0, row]:
            continue
        best = next((int(tool) for tool in best_first if context.tool_server[tool] == row), -1)
        chance = float(case.match.tools[best] * tools.success[best]) if best >= 0 else 0.0
        offered, ask = float(posted[row]), float(context.statistics.servers.ask_usd[row])
        asked = None if np.isnan(ask) else ask
        found.append(
            Offer(
                context.server_names[row],
                offered,
                asked,
                bool(now.accepted[0, row]),
                offered - (asked or 0.0),
                worth_usd * chance - offered,
                context.tool_ids[best] if best >= 0 else "none",
            )
        )
    return found
