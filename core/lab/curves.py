"""The lines behind the cost curves: utility against alpha_t and kappa (exact, because both are straight lines), and
posted price against expected time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.domain.decision import Decision
from core.economics.auction import Interval, posted_price, smallest_winning_value, winning_interval
from core.economics.utility import Array, Headroom, headroom, money_cost
from core.routers.ehrr import EhrrParameters

AXES = ("alpha_t", "kappa")


@dataclass(frozen=True, slots=True)
class UtilityLines:
    """U = intercept - slope * x for each feasible tool, shape (M,), over x in [low, high]; `winner_interval` is that in
    which today's winner stays the winner (None where there is no winner)."""

    axis: str
    unit: str
    tools: tuple[str, ...]
    intercept: Array
    slope: Array
    low: float
    high: float
    current: float
    winner_interval: Interval | None


@dataclass(frozen=True, slots=True)
class PostedPriceCurve:
    """Posted price in USD over expected time in s, for similarity 0 and 1: every server's offer lies between them."""

    cost_s: Array
    lowest_usd: Array
    highest_usd: Array


def ehrr_parameters(decision: Decision) -> EhrrParameters:
    """The parameters a decision was made with."""
    return EhrrParameters().replaced(decision.parameters)


def feasible_rows(decision: Decision) -> tuple[int, ...]:
    """Rows of the tools that could win: affordable, on accepted servers; best first."""
    rank = decision.tools.rank
    rows = np.flatnonzero(rank > 0)
    return tuple(int(row) for row in rows[np.argsort(rank[rows])])


def utility_lines(decision: Decision, axis: str) -> UtilityLines:
    """Utility of every feasible tool as a straight line in `axis` (alpha_t or kappa), EHRR (6), (7).

    Without execution signals both have no effect and every slope is 0.
    """
    p = ehrr_parameters(decision)
    rows = np.array(feasible_rows(decision), dtype=np.int64)
    tools = decision.tools
    per_kappa = money_cost(
        tools.price_usd[rows], tools.success[rows], kappa=1.0, per_attempt=p.billing == "per_attempt"
    )
    if axis == "alpha_t":
        intercept, slope = tools.similarity[rows], tools.time_cost_s[rows] + p.kappa * per_kappa
    else:
        intercept, slope = tools.similarity[rows] - p.alpha_t * tools.time_cost_s[rows], p.alpha_t * per_kappa
    if not p.execution_signals:
        intercept, slope = tools.similarity[rows], np.zeros(len(rows))
    info = next(knob for knob in EhrrParameters.knobs() if knob.name == axis)
    low, high, current = float(info.low or 0.0), float(info.high or 1.0), float(getattr(p, axis))
    return UtilityLines(
        axis=axis,
        unit=info.unit,
        tools=tuple(tools.ids[row] for row in feasible_rows(decision)),
        intercept=intercept,
        slope=slope,
        low=low,
        high=high,
        current=current,
        winner_interval=_interval(intercept, slope, low, high, worthwhile=p.worthwhile) if len(rows) else None,
    )


def _interval(intercept: Array, slope: Array, low: float, high: float, *, worthwhile: bool) -> Interval:
    """Of the first row; where only what is worth a call is tried, it ends where the winner's utility is 0."""
    found = winning_interval(intercept, slope, 0, low=low, high=high)
    if worthwhile and slope[0] > 0 and (ends := float(intercept[0] / slope[0])) < found.high:
        return replace(found, high=max(ends, found.low), above=None)
    return found


def value_to_win(decision: Decision, axis: str, tool: str) -> float | None:
    """The value of `axis` nearest to the current one at which `tool` would win; None where there is none in range or the
    tool is not feasible."""
    lines = utility_lines(decision, axis)
    if tool not in lines.tools:
        return None
    return smallest_winning_value(
        lines.intercept, lines.slope, lines.tools.index(tool), lines.current, low=lines.low, high=lines.high
    )


def tool_headroom(decision: Decision, row: int) -> Headroom | None:
    """How far the winner can worsen, or what a feasible loser would have to reach; None where there is no rival."""
    p = ehrr_parameters(decision)
    tools, servers = decision.tools, decision.servers
    rivals: Sequence[int] = [other for other in feasible_rows(decision) if other != row]
    if not rivals or not p.execution_signals:
        return None
    server = int(tools.server_row[row])
    beta = float(tools.success[row])
    failure = float(servers.post_accept_failure[server])
    posted = float(servers.posted_price_usd[server])
    return headroom(
        similarity=float(tools.similarity[row]),
        fixed_s=float(servers.fixed_s[server]),
        latency_s=float(tools.latency_s[row]),
        success=beta / (1 - failure) if failure < 1 else 0.0,
        post_accept_failure=failure,
        price_usd=float(np.nan_to_num(tools.price_usd[row])),
        to_beat=float(tools.utility[rivals[0]]),
        posted_usd=posted if np.isfinite(posted) else np.inf,
        alpha_t=p.alpha_t,
        kappa=p.kappa,
        eps=p.eps,
        per_attempt=p.billing == "per_attempt",
    )


def posted_price_curve(decision: Decision, *, points: int = 120) -> PostedPriceCurve:
    """Equation (4) over expected time, up to a little beyond the slowest short-listed server."""
    p = ehrr_parameters(decision)
    shown = decision.servers.cost_s[decision.servers.shortlisted]
    longest = float(np.max(shown, initial=1.0)) * 1.25
    cost_s = np.linspace(0.0, longest, points)
    offers = [
        posted_price(
            np.full(points, similarity), cost_s, p_bs=p.p_bs, p_ofs=p.p_ofs, l0_s=p.l0_s, budget_usd=p.budget_usd
        )
        for similarity in (0.0, 1.0)
    ]
    return PostedPriceCurve(cost_s, offers[0], offers[1])
