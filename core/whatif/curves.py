"""Cost curves of one sub-task, each with the equation that it draws and the current numbers in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.domain.trace import Array
from core.economics.auction import posted_price
from core.economics.time_to_success import attempt_success
from core.routers.estimates import estimate_servers, estimate_tools
from core.whatif.case import Case, decide
from core.whatif.strips import Strip
from core.whatif.terms import Terms
from core.whatif.utility_curves import Curve, Line, rounded
from core.whatif.value_case import ValueCase

POINTS = 80


def posted(case: Case) -> Curve:
    """The price posted to a server over its expected time: its asks, the region in which it accepts, and Proposition 2's bound."""
    p, now = case.parameters, decide(case, {})
    known = estimate_servers(case.context, l_route_s=p.l_route_s, eps=p.eps, beliefs=case.beliefs)
    listed = np.flatnonzero(now.listed[0])
    winner = int(now.winner[0])
    subject = int(case.context.tool_server[winner]) if winner >= 0 else int(listed[0])
    similarity, cost = float(case.match.servers[subject]), float(known.cost_s[subject])
    longest = 1.3 * float(known.cost_s[listed].max())
    xs = np.linspace(0.0, longest, POINTS)

    def price(at: Array) -> Array:
        return posted_price(
            np.full(len(at), similarity), at, p_bs=p.p_bs, p_ofs=p.p_ofs, l0_s=p.l0_s, budget_usd=p.budget_usd
        )

    here = float(price(np.array([cost]))[0])
    slope = p.p_ofs / p.l0_s
    asks = case.context.statistics.servers.ask_usd
    name = case.context.server_names[subject]
    tangent = np.array([cost, longest])
    bound = here + slope * (tangent - cost)
    highest = 1e3 * float(max(price(xs).max(), np.nanmax(asks[listed], initial=0.0)))
    lines = [
        Line(f"posted to {name}: asks below are accepted", tuple(xs.tolist()), tuple((1e3 * price(xs)).tolist()), "chosen", filled=True),
        Line("no steeper than this, Proposition 2", tuple(tangent.tolist()), tuple(np.minimum(1e3 * bound, highest * 1.3).tolist()), "muted", dashed=True),
    ]  # fmt: skip
    for row in listed:
        if np.isfinite(asks[row]):
            kind = "accepted" if now.accepted[0, row] else "rejected"
            lines.append(Line(f"{case.context.server_names[row]} asks", (float(known.cost_s[row]),), (1e3 * float(asks[row]),), kind, marks="circle"))  # fmt: skip
    cap = "" if p.budget_usd is None else f", at most B = {rounded(p.budget_usd)} $"
    return Curve(
        f"Price posted to {name} against expected time", "expected time to success C (s)", "m$ per call", tuple(lines), cost, longest,
        r"\begin{gathered}\tau = p_{bs}\,\mathrm{Sim} + p_{ofs}\ln(1 + C / L_0) \\ |d\tau / dC| \le p_{ofs} / L_0\end{gathered}",
        f"{rounded(p.p_bs)} · {rounded(similarity)} + {rounded(p.p_ofs)} · ln(1 + {rounded(cost)} / {rounded(p.l0_s)}) = {rounded(here)} ${cap}; "
        f"bound {rounded(slope)} $/s",
    )  # fmt: skip


def time_against_success(case: Case) -> Curve:
    """Expected time to success of the winner's server over its success rate, and the short-listed servers where they stand."""
    p, now, terms = case.parameters, decide(case, {}), Terms.of(case)
    known = estimate_servers(case.context, l_route_s=p.l_route_s, eps=p.eps, beliefs=case.beliefs)
    listed = np.flatnonzero(now.listed[0])
    winner = int(now.winner[0])
    subject = int(case.context.tool_server[winner]) if winner >= 0 else int(listed[0])
    wait, failure = float(terms.wait_s[subject]), float(known.post_accept_failure[subject])
    xs = np.linspace(0.05, 1.0, POINTS)
    ys = wait / attempt_success(xs, np.full(POINTS, failure), eps=p.eps)
    success = float(known.success[subject])
    name = case.context.server_names[subject]
    lines = [Line(name, tuple(xs.tolist()), tuple(ys.tolist()), "chosen")]
    lines += [
        Line(f"{case.context.server_names[row]} as it stands", (float(known.success[row]),), (float(known.cost_s[row]),),
             "accepted" if now.accepted[0, row] else "rejected", marks="circle")
        for row in listed
    ]  # fmt: skip
    return Curve(
        f"Expected time of {name} against its success", "conservative success r̃", "C (s)", tuple(lines), success, 1.0,
        r"C = \frac{G + L}{\max(\varepsilon,\ (1 - p_{fail})\,\tilde r)}",
        f"{rounded(wait)} s / max({rounded(p.eps)}, (1 − {rounded(failure)}) · {rounded(success)}) = {rounded(wait / max(p.eps, (1 - failure) * success))} s",
    )  # fmt: skip


def conservatism(case: Case) -> Curve:
    """What it costs the short-listed servers that success is taken one standard deviation lower: expected time with r~ and with r."""
    p, now = case.parameters, decide(case, {})
    statistics = case.context.statistics.servers
    careful = estimate_servers(case.context, l_route_s=p.l_route_s, eps=p.eps, beliefs=case.beliefs)
    bold = replace(statistics, success_variance=np.zeros_like(statistics.success_variance))
    plain = estimate_servers(
        replace(case.context, statistics=replace(case.context.statistics, servers=bold)), l_route_s=p.l_route_s, eps=p.eps,
        beliefs=case.beliefs,
    )  # fmt: skip
    listed = np.flatnonzero(now.listed[0])
    extra = careful.cost_s - plain.cost_s
    order: list[int] = listed[np.argsort(-extra[listed], kind="stable")].tolist()
    most = order[0]
    longest = 1.1 * float(np.sqrt(statistics.success_variance[listed]).max() or 0.1)
    lines = [
        Line(case.context.server_names[row], (float(np.sqrt(statistics.success_variance[row])),), (float(extra[row]),),
             "accepted" if now.accepted[0, row] else "rejected", marks="circle")
        for row in order
    ]  # fmt: skip
    spread = float(np.sqrt(statistics.success_variance[most]))
    return Curve(
        "The cost of conservatism: seconds that r̃ adds to r", "standard deviation of success σ", "s added to C", tuple(lines), None, longest,
        r"\Delta C = \frac{G + L}{(1 - p_{fail})(r - \sigma)} - \frac{G + L}{(1 - p_{fail})\,r}",
        f"{case.context.server_names[most]}: σ = {rounded(spread)}, {rounded(float(careful.cost_s[most]))} s − {rounded(float(plain.cost_s[most]))} s = "
        f"{rounded(float(extra[most]))} s",
    )  # fmt: skip


def money_against_cap(case: Case, strip: Strip) -> tuple[Curve, Curve]:
    """Price of the winner, and the chance that one call of it solves the sub-task, over the cap B: steps between exact breakpoints."""
    context, p = case.context, case.parameters
    known = estimate_servers(context, l_route_s=p.l_route_s, eps=p.eps, beliefs=case.beliefs)
    tools = estimate_tools(context, known, eps=p.eps, beliefs=case.beliefs)
    rows = {name: row for row, name in enumerate(context.tool_ids)}
    xs, money, success = list[float](), list[float](), list[float]()
    for segment in strip.segments:
        row = rows.get(segment.winner or "")
        xs.append(1e3 * segment.low)
        money.append(0.0 if row is None else 1e3 * float(np.nan_to_num(tools.price_usd[row])))
        success.append(0.0 if row is None else 100 * float(case.match.tools[row] * tools.success[row]))
    longest = 1.6 * max(xs[-1], 1.0)
    ends = (*xs, longest)
    current = None if p.budget_usd is None else 1e3 * p.budget_usd
    at = strip.segments[-1] if p.budget_usd is None else strip.at(p.budget_usd)
    row = rows.get(at.winner or "")
    filled = "nobody wins" if row is None else (
        f"{rounded(float(case.match.tools[row]))} · {rounded(float(tools.success[row]))} = {rounded(float(case.match.tools[row] * tools.success[row]))}"
    )  # fmt: skip
    paid = "nobody wins" if row is None else f"p = {rounded(float(np.nan_to_num(tools.price_usd[row])))} $"
    axis = "cap B of every posted price (m$)"
    return (
        Curve("Money against the cap", axis, "price of the winner (m$)", (Line("price", ends, (*money, money[-1]), "chosen", steps=True),),
              current, longest, r"\tau' = \min(\tau, B),\quad p_{winner} \le \tau'", paid),
        Curve("Success against the cap", axis, "one call solves it (%)", (Line("success", ends, (*success, success[-1]), "chosen", steps=True),),
              current, longest, r"P = \mathrm{Sim}_{winner}\,(1 - p_{fail})\,r", filled),
    )  # fmt: skip


def value_against_worth(case: ValueCase) -> Curve:
    """The expected value of the best order of tries over V: straight between breakpoints, bent upwards at each."""
    p = case.parameters
    longest = max(4 * p.worth_usd, 0.2)
    bends = [] if case.refused else [one for one in case.events("worth_usd", 0.0, 10.0).tolist() if one < longest]
    xs = sorted({0.0, *bends, p.worth_usd, longest})
    ys = [0.0 if case.refused else case.value("worth_usd", x) for x in xs]
    solved, cost = (0.0, 0.0) if case.refused else case.expected(p.worth_usd)
    return Curve(
        "Value against V", "V, worth of a solution ($)", "expected value ($)", (Line("best order of tries", tuple(xs), tuple(ys), "chosen"),),
        p.worth_usd, longest, r"\mathrm{value} = V\,P_{solved} - E[\mathrm{cost}]",
        f"{rounded(p.worth_usd)} $ · {rounded(solved)} − {rounded(cost)} $ = {rounded(p.worth_usd * solved - cost)} $",
    )  # fmt: skip
