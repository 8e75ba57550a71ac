"""Single changes of a knob or of a tool's own figures that make the tool win, and how far the winner may worsen.

Price, latency and success solve (6) and (7). Knobs are read off the strips. Fit also moves the tool's server, (3) and (4), and is
searched between 0 and 1. If no single change helps, the stage that blocks it is named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.decisions.case import Case, Outcomes, decide
from core.decisions.layer import FIT, LATENCY, PRICE, SUCCESS, with_fit
from core.decisions.strips import Strip
from core.domain.params import Knob, Parameters
from core.domain.trace import Array
from core.routers.context import Match
from core.routers.parameters import FIT as BY_FIT
from core.routers.utility import Headroom, headroom

# The fit at which a tool begins to win or ceases to win

POINTS, HALVINGS = 65, 30
LEAST = 1e-7


def lowest_fit(case: Case, row: int) -> float:
    """The lowest fit with which the winner still wins; 0 if it wins with any fit."""
    points = np.linspace(0.0, float(case.fitting.tools[row]), POINTS)
    lost = np.flatnonzero(~_wins(case, row, points))
    if not len(lost):
        return 0.0
    last = int(lost[-1])
    edge = _edge(case, row, float(points[last]), float(points[min(last + 1, POINTS - 1)]))
    return edge if edge > LEAST else 0.0


def winning_fit(case: Case, row: int) -> float | None:
    """The lowest fit above the current fit with which a tool wins. Returns None if it does not win even with 1."""
    points = np.linspace(float(case.fitting.tools[row]), 1.0, POINTS)
    won = np.flatnonzero(_wins(case, row, points))
    if not len(won):
        return None
    first = int(won[0])
    return _edge(case, row, float(points[max(first - 1, 0)]), float(points[first]))


def _edge(case: Case, row: int, bad: float, good: float) -> float:
    for _ in range(HALVINGS):
        middle = (bad + good) / 2
        if _wins(case, row, np.array([middle]))[0]:
            good = middle
        else:
            bad = middle
    return good


def _wins(case: Case, row: int, values: Array) -> NDArray[np.bool_]:
    follow = case.parameters.similarity == BY_FIT
    fitting = case.fitting
    matches = [with_fit(fitting, {row: float(fit)}, case.context.tool_server, servers_follow=follow) for fit in values]
    match = Match(np.stack([m.servers for m in matches]), case.counted * np.stack([m.tools for m in matches]))
    return decide(case, {}, match).winner == row


NUDGE = 1e-7  # relative: a tie is not yet won


@dataclass(frozen=True, slots=True)
class Change:
    """A single change after which the tool wins. `name` is a parameter or one of FIGURES. `size` is the change as a share of the
    knob's range or of the present figure."""

    name: str
    now: float
    then: float
    size: float
    of_knob: bool


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The single changes that make a tool win, smallest first, and the reason for each figure that cannot."""

    tool: str
    changes: tuple[Change, ...]
    blocked: Mapping[str, str]

    @property
    def proof(self) -> str:
        return f"No single change makes {self.tool} win: {'; '.join(dict.fromkeys(self.blocked.values()))}."


@dataclass(frozen=True, slots=True)
class Room:
    """How far the winner may worsen in a single figure and still win: price in USD, latency in s, success and fit in [0, 1]. None is no
    limit."""

    tool: str
    price_usd: float | None
    latency_s: float | None
    success: float | None
    fit: float


def room(case: Case) -> Room | None:
    outcomes = decide(case, {})
    winner = int(outcomes.winner[0])
    if winner < 0:
        return None
    limits = _limits(case, outcomes, winner)
    return Room(
        case.context.tool_ids[winner], limits.price_usd, limits.latency_s, limits.success,
        lowest_fit(case, winner),
    )  # fmt: skip


def counterfactual(case: Case, strips: Mapping[str, Strip], row: int) -> Counterfactual:
    outcomes = decide(case, {})
    changes, blocked = of_knobs(case.parameters, strips, case.context.tool_ids[row]), dict[str, str]()
    statistics = case.context.statistics.tools
    block = _block(case, outcomes, row)
    limits = _limits(case, outcomes, row) if block is None else None
    for name, column, reached in (
        (PRICE, statistics.price_usd, None if limits is None else limits.price_usd),
        (LATENCY, statistics.latency_s, None if limits is None else limits.latency_s),
        (SUCCESS, statistics.success, None if limits is None else limits.success),
    ):
        value, why = float(np.nan_to_num(column[row])), block
        if why is None and name != PRICE and not outcomes.tools.affordable[row]:
            why = "its price is above what its server is offered"
        if why is None and (reached is None or math.isnan(reached)):
            why = _out_of_reach(case, outcomes)
        if why is not None or reached is None:
            blocked[name] = why or ""
            continue
        then = min(reached * (1 + NUDGE), 1.0) if name == SUCCESS else reached * (1 - NUDGE)
        changes.append(Change(name, value, then, abs(then - value) / max(value, 1e-9), of_knob=False))
    fit, now_fit = winning_fit(case, row), float(case.fitting.tools[row])
    if fit is not None:
        changes.append(Change(FIT, now_fit, fit, (fit - now_fit) / max(now_fit, 1e-9), of_knob=False))
    else:
        blocked[FIT] = block or "even with a fit of 100 % another tool is ahead"
    return Counterfactual(case.context.tool_ids[row], tuple(sorted(changes, key=lambda change: change.size)), blocked)


def _block(case: Case, outcomes: Outcomes, row: int) -> str | None:
    """Why no price, latency or success of the tool can help. Returns None if its server is in the race."""
    server = int(case.context.tool_server[row])
    if case.refused:
        return "the sub-task is refused"
    if not outcomes.listed[0, server]:
        return f"{case.context.server_names[server]} is not on the short-list, EHRR (3)"
    if not outcomes.accepted[0, server]:
        return f"{case.context.server_names[server]} rejects the price it is offered, EHRR (5)"
    return None


def _out_of_reach(case: Case, outcomes: Outcomes) -> str:
    ahead = int(outcomes.winner[0])
    if ahead < 0:
        return "its utility stays below 0, EHRR (7)"
    return f"{case.context.tool_ids[ahead]} stays ahead, EHRR (7)"


def _limits(case: Case, outcomes: Outcomes, row: int) -> Headroom:
    """The price, latency and success at which the tool's utility equals the best other tool's utility, or 0."""
    p, statistics, server = case.parameters, case.context.statistics.tools, int(case.context.tool_server[row])
    others = outcomes.racing[0].copy()
    others[row] = -np.inf
    to_beat = max(float(others.max(initial=-np.inf)), 0.0 if p.worthwhile else -math.inf)
    servers, posted = outcomes.engine.servers, float(outcomes.servers.posted_usd[server])
    success = statistics.success if case.beliefs is None else case.beliefs.tool_success
    return headroom(
        similarity=float(case.match.tools[row]),
        fixed_s=float(servers.fixed_s[server]),
        latency_s=float(statistics.latency_s[row]),
        success=float(success[row]),
        post_accept_failure=float(servers.post_accept_failure[server]),
        price_usd=float(np.nan_to_num(statistics.price_usd[row])),
        to_beat=to_beat,
        posted_usd=posted if p.auction else math.inf,
        alpha_t=p.weights_of_time()[1],
        kappa=p.kappa,
        eps=p.eps,
        per_attempt=p.billing == "per_attempt",
    )


def of_knobs(parameters: Parameters, strips: Mapping[str, Strip], tool: str) -> list[Change]:
    """The nearest value of each knob at which a tool wins, read off its strip."""
    knobs = {knob.name: knob for knob in parameters.knobs()}
    changes: list[Change] = []
    for name, strip in strips.items():
        value = getattr(parameters, name)
        current = math.inf if value is None else float(value)
        near = [
            nearest_value(knobs[name], strip, place, current)
            for place, segment in enumerate(strip.segments)
            if segment.winner == tool
        ]
        if near:
            then = min(near, key=lambda point: abs(point - min(current, strip.high)))
            size = abs(then - min(current, strip.high)) / (strip.high - strip.low)
            changes.append(Change(name, current, then, size, of_knob=True))
    return changes


def nearest_value(knob: Knob, strip: Strip, place: int, now: float) -> float:
    """The value in a segment that is nearest to the current value. It is a multiple of the knob's step if the segment has a multiple
    near its end, else a value just inside."""
    segment = strip.segments[place]
    if segment.low <= now <= segment.high:
        return now
    if knob.kind is int:
        return float(math.ceil(segment.low) if now < segment.low else math.floor(segment.high))
    up = now < segment.low  # the value moves up to the low end, or down to the high end
    step = knob.step or 1.0
    margin = min((segment.high - segment.low) / 2, 1e-6 * (strip.high - strip.low))
    slack = 1e-9 * (strip.high - strip.low)  # a bisected end may lie right beside a multiple
    stepped = round((math.ceil(segment.low / step) if up else math.floor(segment.high / step)) * step, 9)
    if segment.low + slack < stepped < segment.high - slack:
        return stepped
    return segment.low + margin if up else segment.high - margin
