"""Utility curves of one sub-task with their equations, and what a curve is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.whatif.case import Case, Outcomes, decide
from core.whatif.strips import Strip
from core.whatif.terms import Terms

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Line:
    """Points of a curve; `kind` is chosen, accepted, rejected, muted, or empty for a colour of its own; `marks` names a symbol for
    single points."""

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
    """A chart as data: what it shows, its axes, its lines, the current value, the end of its x axis, and its equation with the current
    numbers, as LaTeX and as numbers."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    current: float | None
    longest: float | None
    formula: str
    filled: str


def utilities(case: Case, strips: Mapping[str, Strip], name: str) -> Curve:
    """Utility of each tool in the race (or server, for alpha_s) over alpha_t, kappa or alpha_s."""
    p, now, terms = case.parameters, decide(case, {}), Terms.of(case)
    value = float(getattr(p, name))
    strip, knob = strips[name], next(one for one in p.knobs() if one.name == name)
    beyond = [one.low for one in strip.winners()[1:] if one.low > value]  # as far as the first other winner
    longest = min(strip.high, max([4 * value, *(1.5 * one for one in beyond[:1]), strip.high / 50]))
    xs = np.unique([0.0, value, longest])
    servers = name == "alpha_s"
    lines = terms.servers(name) if servers else terms.tools(name)
    names = case.context.server_names if servers else case.context.tool_ids
    rows = _best_servers(terms) if servers else _best_tools(now)
    winner = int(now.winner[0])
    first = int(case.context.tool_server[winner]) if servers and winner >= 0 else winner
    drawn = tuple(
        Line(
            names[row],
            tuple(xs.tolist()),
            tuple((lines.a[row] - lines.s[row] * xs).tolist()),
            "chosen" if row == first else "",
        )
        for row in rows
    )
    formula, filled = (_server_utility if servers else _tool_utility)(case, terms, first)
    return Curve(
        f"Utility against {knob.symbol}", f"{knob.symbol} ({knob.unit})", "U", drawn, value, longest, formula, filled
    )


def _best_tools(now: Outcomes) -> list[int]:
    order = np.argsort(-now.racing[0], kind="stable")[:SHOWN]
    return [int(row) for row in order if np.isfinite(now.racing[0, row])]


def _best_servers(terms: Terms) -> list[int]:
    p = terms.case.parameters
    values = terms.servers("alpha_s").at(np.array([p.alpha_s]))[0]
    return np.argsort(-values, kind="stable")[:SHOWN].tolist()


def _tool_utility(case: Case, terms: Terms, row: int) -> tuple[str, str]:
    formula = r"U = \mathrm{Sim} - \alpha_t \left(\frac{G + l}{\beta} + \kappa\,p\right)"
    if case.parameters.billing == "per_attempt":
        formula = r"U = \mathrm{Sim} - \alpha_t \left(\frac{G + l}{\beta} + \kappa\,\frac{p}{\beta}\right)"
    if row < 0:
        return formula, ""
    p = case.parameters
    alpha = p.alpha_t if p.execution_signals else 0.0
    similarity, wait = float(case.match.tools[row]), float(terms.tool_wait_s[row])
    beta, paid = float(terms.tool_beta[row]), float(terms.paid_s[row])
    result = similarity - alpha * (wait / beta + p.kappa * paid)
    return formula, (
        f"{rounded(similarity)} − {rounded(alpha)} · ({rounded(wait)} s / {rounded(beta)} + {rounded(p.kappa)} s/$ · {rounded(paid)} $) = {rounded(result)}"
    )


def _server_utility(case: Case, terms: Terms, row: int) -> tuple[str, str]:
    formula = r"U_i = \mathrm{Sim}_i - \alpha_s\,C_i,\quad C_i = \frac{G_i + L_i}{\beta_i}"
    if row < 0:
        return formula, ""
    p = case.parameters
    alpha = p.alpha_s if p.execution_signals else 0.0
    similarity, wait, beta = float(case.match.servers[row]), float(terms.wait_s[row]), float(terms.beta[row])
    return formula, (
        f"{rounded(similarity)} − {rounded(alpha)} · {rounded(wait)} s / {rounded(beta)} = {rounded(similarity - alpha * wait / beta)}"
    )


def rounded(value: float) -> str:
    """Four significant digits."""
    return f"{value:.4g}".replace("-", "−")
