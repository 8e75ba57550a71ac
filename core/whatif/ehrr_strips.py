"""The strips of EHRR: values at which the decision changes, and what changes there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from core.domain.params import Knob
from core.domain.trace import Array
from core.whatif.case import Case, decide
from core.whatif.events import SMOOTH, events
from core.whatif.reasons import reason_now, reason_of
from core.whatif.strips import Segment, Strip
from core.whatif.terms import Terms

WHOLE = ("k", "n")
NEAREST = 1e-13  # of the range: values nearer to each other are one


def strips(case: Case) -> dict[str, Strip]:
    """The strip of every parameter that has an order and moves the decision of EHRR."""
    terms = Terms.of(case)
    knobs = {knob.name: knob for knob in case.parameters.knobs()}
    return {name: strip(case, terms, knobs[name]) for name in (*SMOOTH, *WHOLE)}


def strip(case: Case, terms: Terms, knob: Knob) -> Strip:
    """The strip of one parameter."""
    low, high = float(knob.low or 0.0), float(knob.high or 1.0)
    if knob.name in WHOLE:
        middles = np.arange(low, high + 1)
        edges = np.concatenate([[low], middles[:-1] + 0.5, [high]])
    else:
        inside = events(case, terms, knob.name, low, high)
        edges = np.concatenate([[low], inside, [high]])
        edges = edges[np.concatenate([[True], np.diff(edges) > NEAREST * (high - low)])]
        edges[-1] = high
        middles = (edges[:-1] + edges[1:]) / 2
    kept = np.flatnonzero(np.concatenate([[True], decide(case, {knob.name: middles}).changes]))
    bounds = np.append(edges[kept], high)
    return _assembled(case, knob, bounds)


def _assembled(case: Case, knob: Knob, bounds: Array) -> Strip:
    """Segments between bounds, each with its reason."""
    current = getattr(case.parameters, knob.name)
    now = np.inf if current is None else float(current)
    here = int(np.clip(np.searchsorted(bounds, now, side="right") - 1, 0, len(bounds) - 2))
    asked = np.ceil(bounds[:-1]) if knob.name in WHOLE else (bounds[:-1] + bounds[1:]) / 2
    asked[here] = min(max(now, bounds[here]), bounds[here + 1])
    outcomes = decide(case, {knob.name: asked})
    seconds, margins = outcomes.runners_up()
    segments: list[Segment] = []
    for place, (low, high) in enumerate(pairwise(bounds.tolist())):
        if place == here:
            stage, reason = reason_now(case, outcomes, place, int(seconds[place]), float(margins[place]))
        else:
            neighbour = place - 1 if place > here else place + 1
            at = low if place > here else high
            if knob.name in WHOLE:  # from this number on, down from this number on
                at = np.ceil(at) if place > here else np.floor(at)
            stage, reason = reason_of(case, knob, outcomes, place, neighbour, at)
        winner = int(outcomes.winner[place])
        name = case.context.tool_ids[winner] if winner >= 0 else None
        segments.append(Segment(low, high, name, reason, stage, float(margins[place])))
    return Strip(knob.name, float(bounds[0]), float(bounds[-1]), tuple(segments))
