"""The strips of EHRR: values at which the decision changes, and what changes there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core.domain.params import Knob
from core.domain.trace import Array
from core.routers.ehrr_parameters import EhrrParameters
from core.whatif.brackets import bracketed
from core.whatif.case import Case, Outcomes, decide
from core.whatif.events import SMOOTH, events
from core.whatif.reasons import reason_now, reason_of
from core.whatif.strips import Segment, Strip, asked, meeting, placed
from core.whatif.terms import Terms
from core.whatif.view_signals import SERVER_WEIGHTS, TOOL_WEIGHTS, WEIGHTS, ViewSignals

WHOLE = ("k", "n")
NEAREST = 1e-13  # of the range: values nearer to each other are one


def strips(case: Case) -> dict[str, Strip]:
    """The strip of every parameter; those of the views and of their scale where similarity is made of them."""
    terms = Terms.of(case)
    knobs = {knob.name: knob for knob in case.parameters.knobs()}
    found = {name: strip(case, terms, knobs[name]) for name in (*SMOOTH, *WHOLE)}
    return found | ({} if case.signals is None else _of_views(case, case.signals, knobs))


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
    return _assembled(case, knob, [*edges[kept].tolist(), high], lambda values: decide(case, {knob.name: values}))


def _of_views(case: Case, signals: ViewSignals, knobs: Mapping[str, Knob]) -> dict[str, Strip]:
    """The strips of WEIGHTS; that of the hint where there is one."""
    p = case.parameters
    names = [name for name in WEIGHTS if (signals.hinted or name != "hint_weight") and not _alone(p, name)]
    current = {name: float(getattr(p, name)) for name in names}

    def outcomes(asked: Sequence[str], values: Array) -> Outcomes:
        points = {name: np.full(len(values), current[name]) for name in set(asked)}
        for at, name in enumerate(asked):
            points[name][at] = values[at]
        return decide(case, {}, signals.match(p, points))

    ranges = {name: (float(knobs[name].low or 0.0), float(knobs[name].high or 1.0)) for name in names}
    found = bracketed(ranges, lambda asked, values: outcomes(asked, values).signatures())
    return {
        name: _assembled(
            case,
            knobs[name],
            apart(np.array(found[name]), *ranges[name]).tolist(),
            lambda values, name=name: outcomes([name] * len(values), values),
        )
        for name in names
    }


def _alone(p: EhrrParameters, name: str) -> bool:
    """Whether a weight is the only one of its layer: whatever it is, it is the whole."""
    layer = next((names for names in (TOOL_WEIGHTS, SERVER_WEIGHTS) if name in names), ())
    return bool(layer) and not any(getattr(p, other) for other in layer if other != name)


def apart(inside: Array, low: float, high: float) -> Array:
    """The ends of the range and the values between them, of which those are left out that are next to the one before."""
    edges = np.concatenate([[low], inside, [high]])
    edges = edges[np.concatenate([[True], np.diff(edges) > NEAREST * (high - low)])]
    edges[-1] = high
    return edges


def _assembled(case: Case, knob: Knob, bounds: list[float], decided: Callable[[Array], Outcomes]) -> Strip:
    """Segments between bounds, each with its reason."""
    now = getattr(case.parameters, knob.name)
    outcomes = decided(np.array(asked(knob, bounds, now)))
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
