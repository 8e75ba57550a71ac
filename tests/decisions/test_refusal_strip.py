"""The strip of admitted wrong refusals: the sub-task is refused from its breakpoint on, and nowhere below."""

from __future__ import annotations

import numpy as np

from core.decisions.strips import Segment, refusal_strip
from core.relevance.scoring import limit_of
from core.routers.ehrr import EhrrParameters
from tests.cases import each

KNOB = next(knob for knob in EhrrParameters.knobs() if knob.name == "wrong_refusals")
DECIDED = Segment(1, 50, "a::b", "it is ahead", "candidates", 0.2)


@each("now", [0.0, 3.0, 50.0])
def test_a_subtask_is_refused_from_the_breakpoint_on(now: float) -> None:
    for nothing in np.linspace(0.0, 1.0, 21).tolist():
        strip = refusal_strip(KNOB, now, nothing, DECIDED)
        (below, *refusing) = strip.segments
        assert (below.winner, below.margin, strip.low, strip.high) == ("a::b", 0.2, 0.0, 50.0)
        for percent in (
            0.0,
            *np.linspace(0.01, 50.0, 60).tolist(),
            *(s.low + side for s in refusing for side in (-1e-7, 1e-7)),
        ):
            refused = percent > 0 and nothing >= limit_of(percent)
            assert (strip.at(percent).winner is None) == refused, (nothing, percent)
        if refusing and now < refusing[0].low:
            assert (below.reason, below.stage) == ("it is ahead", "candidates")
