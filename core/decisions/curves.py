"""Cost curves of a sub-task, each with its equation and the current numbers, and the winner over a plane of two parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.decisions.case import NONE, Case, Outcomes, decide
from core.decisions.ehrr_strips import of_listed
from core.decisions.expected_value import ValueCase
from core.decisions.strips import Strip
from core.domain import units
from core.domain.params import Knob
from core.domain.trace import Array
from core.routers.auction import posted_price
from core.routers.ehrr import EhrrEngine
from core.routers.estimates import estimate_servers
from core.routers.utility import Rows, attempt_success

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Line:
    """Points of a curve. `kind` is chosen, accepted, rejected, muted, or empty for a separate colour. `marks` names a symbol for single
    points."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: str = ""
    dashed: bool = False
    steps: bool = False
    marks: str = ""
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """A chart as data: title, axes, lines, the current value, the end of the x axis, and the equation as LaTeX and with the current
    numbers. The winner does not change within `holds`."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    current: float | None
    longest: float | None
    formula: str
    filled: str
    holds: tuple[float, float] | None = None


def utilities(case: Case, strip: Strip) -> Curve:
    """Utility of each tool in the race over alpha_t or kappa, or of each server over alpha_s."""
    p, outcomes, name = case.parameters, decide(case, {}), strip.parameter
    value = float(getattr(p, name))
    knob = next(knob for knob in p.knobs() if knob.name == name)
    beyond = [span.low for span in strip.winners()[1:] if span.low > value]  # as far as the first other winner
    longest = min(strip.high, max([4 * value, *(1.5 * edge for edge in beyond[:1]), strip.high / 50]))
    xs = np.unique([0.0, value, longest])
    servers = name == "alpha_s"
    drawn_from = decide(case, {name: xs})
    utility = drawn_from.servers.utility if servers else drawn_from.tools.utility
    utility = np.broadcast_to(utility, (len(xs), utility.shape[-1]))
    names = case.context.server_names if servers else case.context.tool_ids
    rows = np.argsort(-outcomes.servers.utility, kind="stable")[:SHOWN].tolist() if servers else _best_tools(outcomes)
    winner = int(outcomes.winner[0])
    first = int(case.context.tool_server[winner]) if servers and winner >= 0 else winner
    lines = tuple(
        Line(
            names[row],
            tuple(xs.tolist()),
            tuple(utility[:, row].tolist()),
            "chosen" if row == first else "",
        )
        for row in rows
    )
    formula, filled = (_server_utility if servers else _tool_utility)(case, outcomes, first)
    holds = next((span.low, min(span.high, longest)) for span in reversed(strip.winners()) if span.low <= value)
    return Curve(
        f"Utility against {knob.symbol}", f"{knob.symbol} ({knob.unit})", "U", lines, value, longest, formula, filled,
        holds if winner >= 0 else None,
    )  # fmt: skip


def _best_tools(outcomes: Outcomes) -> list[int]:
    order = np.argsort(-outcomes.racing[0], kind="stable")[:SHOWN]
    return [int(row) for row in order if np.isfinite(outcomes.racing[0, row])]


def _tool_utility(case: Case, outcomes: Outcomes, row: int) -> tuple[str, str]:
    formula = r"U = \mathrm{Sim} - \alpha_t \left(\frac{G + l}{\beta} + \kappa\,p\right)"
    if case.parameters.billing == "per_attempt":
        formula = r"U = \mathrm{Sim} - \alpha_t \left(\frac{G + l}{\beta} + \kappa\,\frac{p}{\beta}\right)"
    if row < 0:
        return formula, ""
    p = case.parameters
    _, alpha = p.weights_of_time()
    tools, servers = outcomes.engine.tools, outcomes.engine.servers
    similarity, beta = float(case.match.tools[row]), float(tools.success[row])
    wait = float(servers.fixed_s[case.context.tool_server[row]] + tools.latency_s[row])
    paid = float(np.nan_to_num(tools.price_usd[row])) / (beta if p.billing == "per_attempt" else 1.0)
    result = similarity - alpha * (wait / beta + p.kappa * paid)
    return formula, (
        f"{rounded(similarity)} − {rounded(alpha)} · ({rounded(wait)} s / {rounded(beta)} + {rounded(p.kappa)} s/$ · {rounded(paid)} $) = {rounded(result)}"
    )


def _server_utility(case: Case, outcomes: Outcomes, row: int) -> tuple[str, str]:
    formula = r"U_i = \mathrm{Sim}_i - \alpha_s\,C_i,\quad C_i = \frac{G_i + L_i}{\beta_i}"
    if row < 0:
        return formula, ""
    alpha, _ = case.parameters.weights_of_time()
    servers = outcomes.engine.servers
    similarity, wait = float(case.match.servers[row]), float(servers.fixed_s[row] + servers.call_s[row])
    beta = float(attempt_success(servers.success, servers.post_accept_failure, eps=case.parameters.eps)[row])
    return formula, (
        f"{rounded(similarity)} − {rounded(alpha)} · {rounded(wait)} s / {rounded(beta)} = {rounded(similarity - alpha * wait / beta)}"
    )


def rounded(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


POINTS = 80


def _listed(case: Case, outcomes: Outcomes) -> tuple[Rows, int]:
    """The short-list, and the winner's server, or the first short-listed server."""
    listed, winner = np.flatnonzero(outcomes.listed[0]), int(outcomes.winner[0])
    return listed, int(case.context.tool_server[winner]) if winner >= 0 else int(listed[0])


def posted(case: Case) -> Curve:
    """The price posted to the winner's server over expected time with Proposition 2's bound, and the offer and ask of each short-listed
    server."""
    p, outcomes = case.parameters, decide(case, {})
    servers = outcomes.engine.servers
    rows, focus = _listed(case, outcomes)
    similarity, cost = float(case.match.servers[focus]), float(servers.cost_s[focus])
    longest = 1.3 * float(servers.cost_s[rows].max())
    xs = np.linspace(0.0, longest, POINTS)

    def price(costs: Array) -> Array:
        return outcomes.engine.posted_usd(np.full(len(costs), similarity), costs)

    current, uncapped = float(price(np.array([cost]))[0]), {"p_bs": p.p_bs, "p_ofs": p.p_ofs, "l0_s": p.l0_s}
    offer = float(posted_price(np.array([similarity]), np.array([cost]), **uncapped)[0])
    slope = p.p_ofs / p.l0_s
    asks = case.context.statistics.servers.ask_usd
    name = case.context.server_names[focus]
    tangent = np.array([cost, longest])
    bound = current + slope * (tangent - cost)
    highest = 1e3 * float(max(price(xs).max(), np.nanmax(asks[rows], initial=0.0)))
    lines = [
        Line(f"posted to {name}: asks below are accepted", tuple(xs.tolist()), tuple((1e3 * price(xs)).tolist()), "chosen", filled=True),
        Line("no steeper than this, Proposition 2", tuple(tangent.tolist()), tuple(np.minimum(1e3 * bound, highest * 1.3).tolist()), "muted", dashed=True),
    ]  # fmt: skip
    for i in map(int, rows):
        kind = "accepted" if outcomes.accepted[0, i] else "rejected"
        for verb, usd, mark in (("is offered", outcomes.servers.posted_usd[i], "diamond"), ("asks", asks[i], "circle")):
            if np.isfinite(usd):
                x = (float(servers.cost_s[i]),)
                lines.append(Line(f"{case.context.server_names[i]} {verb}", x, (1e3 * float(usd),), kind, marks=mark))
    cap = "" if p.budget_usd is None or offer <= p.budget_usd else f", capped by B at {rounded(p.budget_usd)} $"
    return Curve(
        f"Price posted to {name}", "expected time to success C (s)", "m$ per call", tuple(lines), cost, longest,
        r"\begin{gathered}\tau = p_{bs}\,\mathrm{Sim} + p_{ofs}\ln(1 + C / L_0) \\ |d\tau / dC| \le p_{ofs} / L_0\end{gathered}",
        f"{rounded(p.p_bs)} · {rounded(similarity)} + {rounded(p.p_ofs)} · ln(1 + {rounded(cost)} / {rounded(p.l0_s)}) = {rounded(offer)} ${cap}; "
        f"bound {rounded(slope)} $/s",
    )  # fmt: skip


def _server(case: Case, outcomes: Outcomes, row: int, x: Array, y: Array, suffix: str = "") -> Line:
    """The point of a server in a chart of all servers."""
    kind = "accepted" if outcomes.accepted[0, row] else "rejected"
    return Line(f"{case.context.server_names[row]}{suffix}", (float(x[row]),), (float(y[row]),), kind, marks="circle")


def time_against_success(case: Case) -> Curve:
    """Expected time to success of the winner's server over its success rate, and the points of the short-listed servers."""
    p, outcomes = case.parameters, decide(case, {})
    servers = outcomes.engine.servers
    rows, focus = _listed(case, outcomes)
    wait, failure = float(servers.fixed_s[focus] + servers.call_s[focus]), float(servers.post_accept_failure[focus])
    xs = np.linspace(0.05, 1.0, POINTS)
    ys = wait / attempt_success(xs, np.full(POINTS, failure), eps=p.eps)
    success = float(servers.success[focus])
    name = case.context.server_names[focus]
    lines = [Line(name, tuple(xs.tolist()), tuple(ys.tolist()), "chosen")]
    lines += [_server(case, outcomes, row, servers.success, servers.cost_s, " as it stands") for row in map(int, rows)]
    return Curve(
        f"Expected time of {name} against its success", "conservative success r̃", "C (s)", tuple(lines), success, 1.0,
        r"C = \frac{G + L}{\max(\varepsilon,\ (1 - p_{fail})\,\tilde r)}",
        f"{rounded(wait)} s / max({rounded(p.eps)}, (1 − {rounded(failure)}) · {rounded(success)}) = {rounded(wait / max(p.eps, (1 - failure) * success))} s",
    )  # fmt: skip


def conservatism(case: Case) -> Curve:
    """Seconds that the short-listed servers lose because success counts one standard deviation lower, C(r~) - C(r)."""
    p, outcomes = case.parameters, decide(case, {})
    statistics = case.context.statistics.servers
    careful = outcomes.engine.servers
    bold = replace(statistics, success_variance=np.zeros_like(statistics.success_variance))
    plain = estimate_servers(
        replace(case.context, statistics=replace(case.context.statistics, servers=bold)), l_route_s=p.l_route_s, eps=p.eps,
        beliefs=case.beliefs,
    )  # fmt: skip
    listed = np.flatnonzero(outcomes.listed[0])
    extra = careful.cost_s - plain.cost_s
    order: list[int] = listed[np.argsort(-extra[listed], kind="stable")].tolist()
    worst = order[0]
    deviation = np.sqrt(statistics.success_variance)
    longest = 1.1 * float(deviation[listed].max() or 0.1)
    lines = [_server(case, outcomes, row, deviation, extra) for row in order]
    spread = float(deviation[worst])
    return Curve(
        "The cost of conservatism: seconds that r̃ adds to r", "standard deviation of success σ", "s added to C", tuple(lines), None, longest,
        r"\Delta C = \frac{G + L}{(1 - p_{fail})(r - \sigma)} - \frac{G + L}{(1 - p_{fail})\,r}",
        f"{case.context.server_names[worst]}: σ = {rounded(spread)}, {rounded(float(careful.cost_s[worst]))} s − {rounded(float(plain.cost_s[worst]))} s = "
        f"{rounded(float(extra[worst]))} s",
    )  # fmt: skip


def money_against_cap(case: Case, strip: Strip, fit: Array) -> tuple[Curve, Curve]:
    """The winner's price, and the chance that one call solves the sub-task, over the cap B, as steps between exact breakpoints.
    `fit` (T,) are the probabilities of fit."""
    context, p = case.context, case.parameters
    tools = EhrrEngine.of(context, p, case.beliefs).tools
    rows = {name: row for row, name in enumerate(context.tool_ids)}
    xs, money, success = list[float](), list[float](), list[float]()
    for segment in strip.segments:
        row = rows.get(segment.winner or "")
        xs.append(1e3 * segment.low)
        money.append(0.0 if row is None else 1e3 * float(np.nan_to_num(tools.price_usd[row])))
        success.append(0.0 if row is None else 100 * float(fit[row] * tools.success[row]))
    longest = 1.6 * max(xs[-1], 1.0)
    ends = (*xs, longest)
    current = None if p.budget_usd is None else 1e3 * p.budget_usd
    present = strip.segments[-1] if p.budget_usd is None else strip.at(p.budget_usd)
    row = rows.get(present.winner or "")
    filled = "no tool wins" if row is None else (
        f"{rounded(float(fit[row]))} · {rounded(float(tools.success[row]))} = {rounded(float(fit[row] * tools.success[row]))}"
    )  # fmt: skip
    paid = "no tool wins" if row is None else f"p = {units.price(float(tools.price_usd[row]))}"
    axis = "cap B of every posted price (m$)"
    return (
        Curve("Money against the cap", axis, "price of the winner (m$)", (Line("price", ends, (*money, money[-1]), "chosen", steps=True),),
              current, longest, r"\tau' = \min(\tau, B),\quad p_{winner} \le \tau'", paid),
        Curve("Success against the cap", axis, "one call solves it (%)", (Line("success", ends, (*success, success[-1]), "chosen", steps=True),),
              current, longest, r"P = p_{fit}\,(1 - p_{fail})\,r", filled),
    )  # fmt: skip


def value_against_worth(case: ValueCase) -> Curve:
    """The expected value of the best order of tries over V, straight between breakpoints and convex."""
    p = case.parameters
    longest = max(4 * p.worth_usd, 0.2)
    bends = [] if case.refused else [bend for bend in case.events("worth_usd", 0.0, 10.0).tolist() if bend < longest]
    xs = sorted({0.0, *bends, p.worth_usd, longest})
    ys = [0.0 if case.refused else case.value("worth_usd", x) for x in xs]
    solved, cost = (0.0, 0.0) if case.refused else case.expected(p.worth_usd)
    return Curve(
        "Value against V", "V, worth of a solution ($)", "expected value ($)", (Line("best order of tries", tuple(xs), tuple(ys), "chosen"),),
        p.worth_usd, longest, r"\mathrm{value} = V\,P_{solved} - E[\mathrm{cost}]",
        f"{rounded(p.worth_usd)} $ · {rounded(solved)} − {rounded(cost)} $ = {rounded(p.worth_usd * solved - cost)} $",
    )  # fmt: skip


# The winner over a plane of two parameters, and its lead

ROWS_AT_ONCE = 8
REACH = 5


@dataclass(frozen=True, slots=True)
class Plane:
    """`winner` (Y, X) are rows of tools, -1 without a winner. `margin` (Y, X) is the lead: utility, infinite without a rival, or USD
    under expected value."""

    x: Array
    y: Array
    winner: NDArray[np.int64]
    margin: Array
    tools: Sequence[str]

    @property
    def contested(self) -> float:
        """The share of the plane that the second most frequent winner has; 0 if at most one tool wins.

        >>> won = np.array([[3, 3, 3, 3], [3, 5, 3, NONE]])
        >>> Plane(np.arange(4.0), np.arange(2.0), won, won, ()).contested
        0.125
        """
        counts = np.unique(self.winner[self.winner != NONE], return_counts=True)[1]
        return float(np.sort(counts)[-2] / self.winner.size) if len(counts) > 1 else 0.0


def values_of(knob: Knob, count: int, near: float | None = None) -> Array:
    """At most `count` values over a knob's range, or up to five times the value `near`; whole numbers if needed.

    >>> knob = Knob("k", int, 5, "k", "", 1, 100, 1, "", "")
    >>> len(values_of(knob, 200)), values_of(knob, 200, 1).tolist()
    (100, [1.0, 2.0, 3.0, 4.0, 5.0])
    """
    low, high = float(knob.low or 0.0), float(knob.high or 1.0)
    if near:
        high = min(high, REACH * near)
    values = np.linspace(low, high, count)
    return np.unique(values.round()) if knob.kind is int else values


def plane(case: Case, x: str, y: str, x_values: Array, y_values: Array) -> Plane:
    parts = [y_values[start : start + ROWS_AT_ONCE] for start in range(0, len(y_values), ROWS_AT_ONCE)]
    points = [{x: np.tile(x_values, len(rows)), y: np.repeat(rows, len(x_values))} for rows in parts]
    case = of_listed(case, points)
    winners, margins = list[NDArray[np.int64]](), list[Array]()
    for block in points:
        outcomes = decide(case, block)
        winners.append(outcomes.winner.reshape(-1, len(x_values)))
        margins.append(outcomes.runners_up()[1].reshape(-1, len(x_values)))
    return Plane(x_values, y_values, np.concatenate(winners), np.concatenate(margins), case.context.tool_ids)


def value_plane(case: ValueCase, x: str, y: str, x_values: Array, y_values: Array) -> Plane:
    """The first try at every pair of values, and the lead of the best order with that first try over all other orders."""
    shape = len(y_values), len(x_values)
    winner, margin = np.full(shape, NONE, dtype=np.int64), np.zeros(shape)
    for up, value in enumerate(y_values.tolist()):
        row = replace(case, parameters=case.parameters.replaced({y: value}))
        for across, x_value in enumerate(x_values.tolist()):
            order = row.candidates(x, x_value)
            if order:
                winner[up, across], margin[up, across] = order[0], row.lead(x, x_value, order[0])
    return Plane(x_values, y_values, winner, margin, case.context.tool_ids)
