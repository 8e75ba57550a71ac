"""The strip of the share of wrong refusals that is admitted: from where on the sub-task is turned down.

refused        where P(nothing fits) >= limit(w), w > 0                        `core.relevance.refusal`
"""

from __future__ import annotations

from core.domain.params import Knob
from core.relevance.refusal import percent_refusing
from core.whatif.reasons import REFUSAL
from core.whatif.strips import Segment, Strip, at_value

LEAST = 1e-9  # percent: 0 admits none


def refusal_strip(knob: Knob, now: float, nothing: float, decided: Segment) -> Strip:
    """`nothing`: P(nothing fits). `decided`: what is decided at present but for a refusal."""
    low, high = float(knob.low or 0.0), float(knob.high or 1.0)
    chance = f"P(nothing fits) is {nothing:.2f}"
    found = percent_refusing(nothing)
    if found is None or found >= high:
        why = f"{chance}, and no admitted share turns that down"
        return Strip(knob.name, low, high, (Segment(low, high, decided.winner, why, REFUSAL, decided.margin),))
    at = max(found, LEAST)
    if now < at:
        allowed, why = (decided.stage, decided.reason), f"{at_value(knob, at)} the sub-task is refused: {chance}"
    else:
        allowed, why = (REFUSAL, f"{at_value(knob, at)} the sub-task is refused no more"), f"refused: {chance}"
    return Strip(
        knob.name,
        low,
        high,
        (
            Segment(low, at, decided.winner, allowed[1], allowed[0], decided.margin),
            Segment(at, high, None, why, REFUSAL, 0.0),
        ),
    )
