"""The parts of EHRR (2), (3), (4), (6) and (7) as functions of one parameter, all others as they are.

y is the parameter, or 1 / eps: in it utilities are straight lines, those over 1 / eps up to the cap 1 / beta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.trace import Array
from core.economics.auction import accepts, affordable, posted_price
from core.economics.crossings import Lines, straight
from core.economics.time_to_success import attempt_success
from core.economics.utility import money_cost
from core.routers.estimates import estimate_servers, estimate_tools
from core.whatif.case import Case, Mask, Rows

UNFLOORED = 1e-300  # an eps that lifts nothing


@dataclass(frozen=True, slots=True)
class Terms:
    """Of servers (S,) and tools (T,): `wait_s` is what one attempt takes, with L_route; `chance` is (1 - pfail) r before the floor
    eps, `beta` after it; `paid_s` is the money term for kappa 1."""

    case: Case
    wait_s: Array
    chance: Array
    beta: Array
    tool_wait_s: Array
    tool_chance: Array
    tool_beta: Array
    paid_s: Array

    @classmethod
    def of(cls, case: Case) -> Terms:
        """The terms under the case's parameters."""
        context, p = case.context, case.parameters
        bare = estimate_servers(context, l_route_s=p.l_route_s, eps=UNFLOORED, beliefs=case.beliefs)
        bare_tools = estimate_tools(context, bare, eps=UNFLOORED, beliefs=case.beliefs)
        chance = attempt_success(bare.success, bare.post_accept_failure, eps=UNFLOORED)
        tool_beta = np.maximum(p.eps, bare_tools.success)
        price, per_attempt = context.statistics.tools.price_usd, p.billing == "per_attempt"
        return cls(
            case,
            bare.fixed_s + bare.call_s,
            chance,
            np.maximum(p.eps, chance),
            bare.fixed_s[context.tool_server] + bare_tools.latency_s,
            bare_tools.success,
            tool_beta,
            money_cost(price, tool_beta, kappa=1.0, per_attempt=per_attempt),
        )

    def servers(self, name: str) -> Lines:
        """U_i (3) over alpha_s, L_route or 1 / eps."""
        p, similarity = self.case.parameters, self.case.match.servers
        alpha = p.alpha_s if p.execution_signals else 0.0
        if name == "eps":
            return Lines(similarity, alpha * self.wait_s, 1 / self.chance)
        cost_s = self.wait_s / self.beta
        if name == "l_route_s":
            return straight(similarity - alpha * (cost_s - p.l_route_s / self.beta), alpha / self.beta)
        return straight(similarity, cost_s if p.execution_signals else np.zeros_like(cost_s))

    def tools(self, name: str) -> Lines:
        """U_ij (7) over alpha_t, kappa, L_route or 1 / eps."""
        p, similarity = self.case.parameters, self.case.match.tools
        alpha = p.alpha_t if p.execution_signals else 0.0
        time_s, money_s = self.tool_wait_s / self.tool_beta, p.kappa * self.paid_s
        if name == "alpha_t":
            slope = time_s + money_s
            return straight(similarity, slope if p.execution_signals else np.zeros_like(slope))
        if name == "kappa":
            return straight(similarity - alpha * time_s, alpha * self.paid_s)
        if name == "l_route_s":
            return straight(
                similarity - alpha * (time_s - p.l_route_s / self.tool_beta + money_s), alpha / self.tool_beta
            )
        if p.billing == "per_attempt":  # the price is divided by beta as well
            paid = p.kappa * self.paid_s * self.tool_beta
            return Lines(similarity, alpha * (self.tool_wait_s + paid), 1 / self.tool_chance)
        return Lines(similarity - alpha * money_s, alpha * self.tool_wait_s, 1 / self.tool_chance)

    def limit(self, name: str, servers: Rows, price_usd: Array) -> Array:
        """The y at which the price that these servers are offered, (4), equals `price_usd`; anything not finite where it never does.

        Shapes: (N,) each.
        """
        p, similarity = self.case.parameters, self.case.match.servers[servers]
        wait_s, beta = self.wait_s[servers], self.beta[servers]
        cost_s = wait_s / beta
        with np.errstate(all="ignore"):
            if name == "budget_usd":
                return price_usd
            if name == "p_bs":
                return (price_usd - p.p_ofs * np.log1p(cost_s / p.l0_s)) / similarity
            if name == "p_ofs":
                return (price_usd - p.p_bs * similarity) / np.log1p(cost_s / p.l0_s)
            needed = np.expm1((price_usd - p.p_bs * similarity) / p.p_ofs)  # C / L0
            if name == "l0_s":
                return cost_s / needed
            if name == "l_route_s":
                return p.l_route_s + p.l0_s * needed * beta - wait_s
            return p.l0_s * needed / wait_s

    def in_race(self, name: str, y: Array, rows: Rows) -> Mask:
        """(E, R) whether these tools' servers accept and their prices are affordable at each y; `name` is L_route or eps."""
        context, p = self.case.context, self.case.parameters
        if not p.auction:
            return np.ones((len(y), len(rows)), dtype=np.bool_)
        listed, of_row = np.unique(context.tool_server[rows], return_inverse=True)
        if name == "eps":
            cost_s = self.wait_s[listed] * np.minimum(y[:, None], 1 / self.chance[listed])
        else:
            cost_s = (self.wait_s[listed] + (y[:, None] - p.l_route_s)) / self.beta[listed]
        posted = posted_price(
            self.case.match.servers[listed], np.maximum(cost_s, 0.0), p_bs=p.p_bs, p_ofs=p.p_ofs, l0_s=p.l0_s,
            budget_usd=p.budget_usd,
        )  # fmt: skip
        known = context.statistics
        accepted = accepts(known.servers.ask_usd[listed], posted)[:, of_row]
        return accepted & affordable(known.tools.price_usd[rows], posted[:, of_row])
