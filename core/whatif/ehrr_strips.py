"""The strips of EHRR: values at which the decision changes, and what changes there."""

from __future__ import annotations

import numpy as np

from core.domain.params import Knob
from core.domain.trace import Array
from core.whatif.case import Case, decide
from core.whatif.events import SMOOTH, events
from core.whatif.reasons import reason_now, reason_of
from core.whatif.strips import Segment, Strip, asked, meeting, placed
from core.whatif.terms import Terms

WHOLE = ("k", "n")
NEAREST = 1e-13  # of the range: values nearer to each other are one


def strips(case: Case) -> dict[str, Strip]:
    """The strip of every parameter but the weights of views."""
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
        edges = apart(events(case, terms, knob.name, low, high), low, high)
        middles = (edges[:-1] + edges[1:]) / 2
    kept = np.flatnonzero(np.concatenate([[True], decide(case, {knob.name: middles}).changes]))
    return _assembled(case, knob, [*edges[kept].tolist(), high])


def apart(inside: Array, low: float, high: float) -> Array:
    """The ends of the range and the values between them, of which those are left out that are next to the one before."""
    edges = np.concatenate([[low], inside, [high]])
    edges = edges[np.concatenate([[True], np.diff(edges) > NEAREST * (high - low)])]
    edges[-1] = high
    return edges


def _assembled(case: Case, knob: Knob, bounds: list[float]) -> Strip:
    """Segments between bounds, each with its reason."""
    now = getattr(case.parameters, knob.name)
    outcomes = decide(case, {knob.name: np.array(asked(knob, bounds, now))})
    seconds, margins = outcomes.runners_up()
    segments: list[Segment] = []
    here = placed(bounds, now)
    for place in range(len(bounds) - 1):
        if place == here:
            stage, reason = reason_now(case, outcomes, place, int(seconds[place]), float(margins[place]))
        else:
            stage, reason = reason_of(case, knob, outcomes, place, *meeting(knob, bounds, place, here))
        winner = int(outcomes.winner[place])
        name = case.context.tool_ids[winner] if winner >= 0 else None
        segments.append(Segment(bounds[place], bounds[place + 1], name, reason, stage, float(margins[place])))
    return Strip(knob.name, bounds[0], bounds[-1], tuple(segments))
