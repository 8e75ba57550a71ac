"""The strips of the router of expected value: values at which its order of tries changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.domain.params import Knob
from core.shared import units
from core.whatif.ehrr_strips import apart
from core.whatif.reasons import REFUSAL, against
from core.whatif.strips import Segment, Strip, asked, at_value, meeting, placed
from core.whatif.value_case import VALUES, ValueCase

WORTH, ORDER = "worth a try", "order of tries"
LONGEST_ORDER = 6  # beyond it tools follow one by one
Order = tuple[int, ...]


def strips(case: ValueCase) -> dict[str, Strip]:
    """The strips of V, w, w of writes, kappa and n. Margins are in USD."""
    knobs = {knob.name: knob for knob in case.parameters.knobs()}
    return {**{name: _of_value(case, knobs[name]) for name in VALUES}, "n": _of_tries(case, knobs["n"])}


def _of_value(case: ValueCase, knob: Knob) -> Strip:
    low, high = float(knob.low or 0.0), float(knob.high or 1.0)
    edges = apart(np.zeros(0) if case.refused else case.events(knob.name, low, high), low, high)
    found = [case.candidates(knob.name, float(middle)) for middle in (edges[:-1] + edges[1:]) / 2]
    bounds, orders = _merged(edges.tolist(), found)
    values = asked(knob, bounds, getattr(case.parameters, knob.name))
    margins = [
        case.lead(knob.name, value, order[0]) if order else 0.0 for value, order in zip(values, orders, strict=True)
    ]
    return _assembled(case, knob, bounds, orders, margins)


def _of_tries(case: ValueCase, knob: Knob) -> Strip:
    """n: an order for each number up to six, then the same with more tools behind."""
    low, high = int(knob.low or 1), int(knob.high or 1)
    few = [case.candidates("n", value) for value in range(low, LONGEST_ORDER + 1)]
    longest = case.candidates("n", high)
    orders = few + [longest[:value] for value in range(LONGEST_ORDER + 1, high + 1)]
    edges = [float(low), *(value + 0.5 for value in range(low, high)), float(high)]
    bounds, kept = _merged(edges, orders)
    margins = [
        _lead(case, int(value), order[0]) if order else 0.0
        for value, order in zip(asked(knob, bounds, case.parameters.n), kept, strict=True)
    ]
    return _assembled(case, knob, bounds, kept, margins)


def _lead(case: ValueCase, n: int, first: int) -> float:
    """How much more the best order of `n` tries is worth than one that begins with another tool than `first`."""
    other = replace(case, parameters=replace(case.parameters, n=n), orders={})
    return other.lead("worth_usd", case.parameters.worth_usd, first)


def _merged(edges: list[float], orders: list[Order]) -> tuple[list[float], list[Order]]:
    kept = [at for at in range(len(orders)) if at == 0 or orders[at] != orders[at - 1]]
    return [*(edges[at] for at in kept), edges[-1]], [orders[at] for at in kept]


def _assembled(case: ValueCase, knob: Knob, bounds: list[float], orders: list[Order], margins: list[float]) -> Strip:
    here = placed(bounds, getattr(case.parameters, knob.name))
    segments: list[Segment] = []
    for place, (order, margin) in enumerate(zip(orders, margins, strict=True)):
        if place == here:
            stage, reason = _now(case, order, margin)
        else:
            neighbour, at = meeting(knob, bounds, place, here)
            stage, change = _change(case, orders[neighbour], order)
            reason = f"{at_value(knob, at)} {change}"
        winner = case.context.tool_ids[order[0]] if order else None
        segments.append(Segment(bounds[place], bounds[place + 1], winner, reason, stage, margin))
    return Strip(knob.name, bounds[0], bounds[-1], tuple(segments))


def _now(case: ValueCase, order: Order, margin: float) -> tuple[str, str]:
    if case.refused:
        return REFUSAL, case.refused
    if not order:
        return WORTH, "no try is worth its cost"
    return (
        ORDER,
        f"to begin with {case.context.tool_ids[order[0]]} is worth {units.price(margin)} more than any other beginning",
    )


def _change(case: ValueCase, old: Order, new: Order) -> tuple[str, str]:
    names = case.context.tool_ids
    if old and new and old[0] != new[0]:
        loser = against(case.context, case.known.p_fit, old[0], new[0])
        return ORDER, f"{loser} loses the first try to {names[new[0]]}"
    came, left = [row for row in new if row not in old], [row for row in old if row not in new]
    if came and left:
        return ORDER, f"{names[came[0]]} is tried in place of {names[left[0]]}"
    if came or left:
        words = f"a try of {names[came[0]]} becomes" if came else f"a try of {names[left[0]]} is not"
        return WORTH, f"{words} worth its cost{'' if came else ' any more'}"
    swapped = next(at for at in range(len(new)) if old[at] != new[at])
    return ORDER, f"{names[new[swapped]]} is tried before {names[old[swapped]]}"
