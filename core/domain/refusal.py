"""The trade-off of refusing: what turning down what nothing fits costs in wrong refusals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class RefusalPoint:
    """What the knob does at `percent`: `wrong` is the share of answerable questions that are refused, `refused` that of
    impossible ones, both in [0, 1]."""

    percent: float
    wrong: float
    refused: float


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    """Points by rising percent, from never refusing. `questions` is how many it was measured on; 0: it is the one that comes
    with Wayfare, measured on catalogs that the constants were not fitted to."""

    points: tuple[RefusalPoint, ...]
    questions: int = 0

    def at(self, percent: float) -> RefusalPoint:
        """The point of a setting of the knob, on straight lines between those that were measured."""
        knob = [point.percent for point in self.points]
        wrong, refused = ([getattr(point, name) for point in self.points] for name in ("wrong", "refused"))
        return RefusalPoint(percent, float(np.interp(percent, knob, wrong)), float(np.interp(percent, knob, refused)))
