"""What would make a tool the first try under the router of expected value, and how far the first try may worsen: halved between
the figure as it is and the best or worst that it can be. With a lower price or latency, a higher success or fit, a try is never
worth less, and one that begins with it gains most: its place is always gained, so one limit parts won from lost.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.routers.expected_value import chosen_order, prospects
from core.whatif.counterfactuals import NUDGE, Change, Counterfactual, Room, of_knobs
from core.whatif.layer import COLUMNS, FIGURES, FIT, LATENCY, PRICE, SUCCESS, Supposed, layered
from core.whatif.strips import Strip
from core.whatif.value_case import ValueCase

HALVINGS = 40
BEST = {PRICE: 0.0, LATENCY: 0.0, SUCCESS: 1.0, FIT: 1.0}
AT_BEST = {
    PRICE: "for nothing",
    LATENCY: "without any wait",
    SUCCESS: "with a success of 100 %",
    FIT: "with a fit of 100 %",
}


def counterfactual(case: ValueCase, strips: Mapping[str, Strip], row: int) -> Counterfactual:
    """Of a tool that is not the first try."""
    tool = case.context.tool_ids[row]
    changes, blocked = of_knobs(case.parameters, strips, tool), dict[str, str]()
    for figure in FIGURES:
        now = figure_now(case, row, figure)
        ahead = first_with(case, row, figure, BEST[figure])
        if case.refused or ahead != row:
            rival = "no try is worth its cost" if ahead is None else f"{case.context.tool_ids[ahead]} is tried first"
            blocked[figure] = "the sub-task is refused" if case.refused else f"even {AT_BEST[figure]} {rival}"
            continue
        then = _limit(case, row, figure, lost=now, won=BEST[figure])
        changes.append(Change(figure, now, then, abs(then - now) / max(now, 1e-9), of_knob=False))
    return Counterfactual(tool, tuple(sorted(changes, key=lambda one: one.size)), blocked)


def room(case: ValueCase) -> Room | None:
    """Of the first try; None where nothing is tried."""
    order = case.candidates("worth_usd", case.parameters.worth_usd)
    if not order:
        return None
    row, p = order[0], case.parameters
    worst = {PRICE: p.worth_usd, LATENCY: p.worth_usd * p.kappa, SUCCESS: 0.0, FIT: 0.0}  # worth no try
    limit = {
        figure: _limit(case, row, figure, lost=max(worst[figure], now) if figure in {PRICE, LATENCY} else worst[figure], won=now)
        for figure in FIGURES
        for now in (figure_now(case, row, figure),)
    }  # fmt: skip
    return Room(case.context.tool_ids[row], limit[PRICE], limit[LATENCY], limit[SUCCESS], limit[FIT])


def figure_now(case: ValueCase, row: int, figure: str) -> float:
    """A tool's figure as it is; the price that an unpriced tool is taken to have."""
    if figure == PRICE:
        return float(case.known.price_usd[row])
    known = case.known.p_fit if figure == FIT else getattr(case.context.statistics.tools, COLUMNS[figure])
    return float(known[row])


def first_with(case: ValueCase, row: int, figure: str, value: float) -> int | None:
    """Which tool the router tries first with one figure of a tool at another value; None where it tries nothing."""
    if case.refused:
        return None
    context, p_fit = case.context, case.known.p_fit
    if figure == FIT:
        p_fit = p_fit.copy()
        p_fit[row] = value
    else:
        context = layered(context, (Supposed(context.tool_ids[row], figure, value),))
    order = chosen_order(prospects(p_fit, context), case.likeness, context, case.parameters)[2]
    return order[0] if order else None


def _limit(case: ValueCase, row: int, figure: str, *, lost: float, won: float) -> float:
    """Next to the value at which the first try is gained, on the side where it is."""
    for _ in range(HALVINGS):
        if abs(won - lost) <= NUDGE * max(abs(won), abs(lost)):
            break
        middle = (lost + won) / 2
        if first_with(case, row, figure, middle) == row:
            won = middle
        else:
            lost = middle
    return won
