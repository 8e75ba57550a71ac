"""The values of one parameter of EHRR at which its decision on a sub-task may change: closed forms, no sampling.

Every change is among what is found; whoever asks the decision itself between two values that follow each other drops those at
which nothing changes.

    short-list     crossings of U_i (3), linear in alpha_s and L_route; in 1 / eps up to the cap 1 / beta_i
    acceptance     tau_i (4) is monotone in each parameter: c_i = tau_i solved for it; the same with a tool's price p_ij
    candidates     crossings of U_ij (7), linear in alpha_t, kappa, L_route, and in 1 / eps up to the cap; and U_ij = 0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from core.domain.trace import Array
from core.economics.crossings import Lines, crossings, relevant
from core.whatif.case import Case, Rows, decide
from core.whatif.terms import Terms

SMOOTH = ("alpha_s", "alpha_t", "kappa", "p_bs", "p_ofs", "l0_s", "l_route_s", "eps", "budget_usd")
MOVES_SERVERS = ("alpha_s", "l_route_s", "eps")
MOVES_PRICES = ("p_bs", "p_ofs", "l0_s", "l_route_s", "eps", "budget_usd")
MOVES_TOOLS = ("alpha_t", "kappa", "l_route_s", "eps")


def events(case: Case, terms: Terms, name: str, low: float, high: float) -> Array:
    """Values in (low, high), sorted; `name` is one of SMOOTH."""
    inverse = name == "eps"
    ends = (1 / high, 1 / low) if inverse else (low, high)
    found = np.unique(np.concatenate(_events(case, terms, name, *ends)))
    values = 1 / found[::-1] if inverse else found
    return values[(values > low) & (values < high)]


def _events(case: Case, terms: Terms, name: str, low: float, high: float) -> list[Array]:
    count, p = len(case.context.server_names), case.parameters
    listing = np.zeros(0)
    if name in MOVES_SERVERS and p.hierarchy and p.k < count:
        listing = crossings(terms.servers(name), low, high, keep=p.k, ordered=False)
    found = [listing]
    if name not in MOVES_PRICES and name not in MOVES_TOOLS:
        return found
    cells = np.concatenate([[low], listing, [high]])
    middles = (cells[:-1] + cells[1:]) / 2
    lists = decide(case, {name: 1 / middles if name == "eps" else middles}).listed
    for start, end, listed in zip(cells[:-1], cells[1:], lists, strict=True):
        found += _within(case, terms, name, (float(start), float(end)), np.flatnonzero(listed))
    return found


def _within(case: Case, terms: Terms, name: str, ends: tuple[float, float], listed: Rows) -> list[Array]:
    """Where bits and candidates may change while these servers are the short-list."""
    context = case.context
    tools = np.flatnonzero(np.isin(context.tool_server, listed))
    found: list[Array] = []
    if case.parameters.auction and name in MOVES_PRICES:
        known = context.statistics
        limits = (
            terms.limit(name, listed, known.servers.ask_usd[listed]),
            terms.limit(name, context.tool_server[tools], known.tools.price_usd[tools]),
        )
        found += [y[(y > ends[0]) & (y < ends[1])] for y in limits]
    if name in MOVES_TOOLS and not case.refused:
        found.append(_reranked(case, terms, name, ends, tools))
    return found


def _reranked(case: Case, terms: Terms, name: str, ends: tuple[float, float], tools: Rows) -> Array:
    """Where the order of the candidates may change among these tools."""
    p, lines, context = case.parameters, terms.tools(name), case.context
    price, server = context.statistics.tools.price_usd, context.tool_server
    if name in MOVES_PRICES:  # who is in the race changes too
        tools = tools[relevant(lines.rows(tools), *ends, keep=p.n, price=price[tools], group=server[tools])]
    else:
        everyone = decide(replace(case, parameters=replace(p, worthwhile=False)), {})
        tools = np.flatnonzero(np.isfinite(everyone.racing[0]))
        tools = tools[relevant(lines.rows(tools), *ends, keep=p.n)]
    drawn = lines.rows(tools)
    if p.worthwhile:  # a line at 0: what is below it is not tried
        drawn = Lines(np.append(drawn.a, 0.0), np.append(drawn.s, 0.0), np.append(drawn.cap, np.inf))

    def counted(y: Array) -> Array:
        at = drawn.at(y)
        at[:, : len(tools)][~terms.in_race(name, y, tools)] = -np.inf
        return at

    values: Callable[[Array], Array] | None = counted if name in MOVES_PRICES else None
    return crossings(drawn, *ends, keep=p.n, values=values)
