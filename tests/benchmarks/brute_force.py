"""Strips held against a dense grid: breakpoints that are missed, and breakpoints at which nothing changes."""

from __future__ import annotations

import numpy as np

from core.decisions.case import Case, Outcomes, decide
from core.decisions.strips import Strip

TOLERANCE = 1e-7  # of the range of the parameter


def missed(case: Case, strip: Strip, *, points: int, step: float) -> list[float]:
    """Values of a dense grid at which the decision is not that of its segment, though no breakpoint is near and their band
    is wider than a step."""
    span, starts = strip.high - strip.low, np.array([segment.low for segment in strip.segments])
    ends = np.append(starts, strip.high)
    steps = np.linspace(0.0, 1.0, points // 2)[1:-1]
    grid = np.sort(np.concatenate([strip.low + span * steps, strip.low + span * steps**4]))  # denser at the low end
    grid = grid[np.abs(grid[:, None] - ends).min(axis=1) > TOLERANCE * span]
    inside = np.searchsorted(starts, grid, side="right") - 1
    found = decide(case, {strip.parameter: grid})
    expected = decide(case, {strip.parameter: (ends[:-1] + ends[1:]) / 2})
    wrong = differs(found, expected, inside)
    return [value for value in grid[wrong].tolist() if _width(case, strip, value, step) > step]


def _width(case: Case, strip: Strip, value: float, step: float) -> float:
    """The width of the band of one decision around a value, as far as two steps."""
    around = np.linspace(max(value - step, strip.low), min(value + step, strip.high), 401)
    here = decide(case, {strip.parameter: np.array([value])})
    same = ~differs(decide(case, {strip.parameter: around}), here, np.zeros(len(around), dtype=np.int64))
    return float(same.sum() * (around[1] - around[0]))


def invented(case: Case, strip: Strip) -> list[float]:
    """Breakpoints on both sides of which the decision is the same."""
    at = np.array(strip.breakpoints())
    if not len(at):
        return []
    widths = np.diff([segment.low for segment in strip.segments] + [strip.high])
    near = np.minimum(TOLERANCE * (strip.high - strip.low), np.minimum(widths[:-1], widths[1:]) / 3)
    below, above = (decide(case, {strip.parameter: at + side * near}) for side in (-1, 1))
    return at[~differs(below, above, np.arange(len(at)))].tolist()


def differs(one: Outcomes, other: Outcomes, rows: np.ndarray) -> np.ndarray:
    """(P,) whether each point of `one` is decided otherwise than its row of `other`."""
    return (
        (one.listed != other.listed[rows]).any(axis=1)
        | (one.accepted != other.accepted[rows]).any(axis=1)
        | (one.candidates != other.candidates[rows]).any(axis=1)
    )
