"""The auction of one sub-task as an account: answers, and the gains of buyer and servers. Theorem 1, Corollary 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.decisions.case import Case, decide
from core.routers.utility import ranking


@dataclass(frozen=True, slots=True)
class Offer:
    """One short-listed server: posted and ask price (USD per call), its answer, its surplus, and the buyer's surplus from a call of
    its best tool."""

    server: str
    posted_usd: float
    ask_usd: float | None
    accepts: bool
    server_usd: float
    buyer_usd: float
    tool: str


@dataclass(frozen=True, slots=True)
class Payoff:
    """What a server with a true cost earns from a call."""

    posted_usd: float
    cost_usd: float

    @property
    def truthful_usd(self) -> float:
        """What it earns if it states its cost; 0 where it rejects."""
        return self.said(self.cost_usd)

    def said(self, cost_usd: float) -> float:
        """What it earns if it states this cost. It accepts up to the posted price and is paid that price."""
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
    context, now = case.context, decide(case, {})
    posted, success = now.servers.posted_usd, now.engine.tools.success
    best_first = ranking(now.tools.utility, case.match.tools, context.tool_order)
    found: list[Offer] = []
    for row in map(int, np.argsort(now.servers.rank)):
        if not now.listed[0, row]:
            continue
        best = next((int(tool) for tool in best_first if context.tool_server[tool] == row), -1)
        chance = float(case.fitting.tools[best] * success[best]) if best >= 0 else 0.0
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
