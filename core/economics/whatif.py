"""Exact what-if: where a straight-line utility stops winning.

For a fixed feasible set U = intercept - slope * x is linear in alpha_t, and in kappa, so the value at which the winner
changes is computed, not sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.economics.time_to_success import Array


@dataclass(frozen=True, slots=True)
class Interval:
    """Where today's winner holds: `low` and `high` bound it; who wins beyond each end (None: nobody up to the limit)."""

    low: float
    high: float
    below: int | None
    above: int | None


def winning_interval(intercept: Array, slope: Array, winner: int, *, low: float, high: float) -> Interval:
    """The values of x in [low, high] at which row `winner` has the highest intercept - slope * x.

    Shapes: (N,) each. Exact: pairwise crossings, no sampling. `winner` must win at some x in the range, and the result
    is the (connected) interval around it, because an upper envelope of lines gives each line one interval.

    >>> winning_interval(np.array([1.0, 0.75]), np.array([1.0, 0.5]), 0, low=0.0, high=1.0)
    Interval(low=0.0, high=0.5, below=None, above=1)
    """
    gap = intercept[winner] - intercept
    steeper = slope[winner] - slope
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = gap / steeper
    upper = np.where(steeper > 0, crossing, np.inf)
    lower = np.where(steeper < 0, crossing, -np.inf)
    # of lines that meet at an end the flattest wins above it, the steepest below
    above, below = int(np.lexsort((slope, upper))[0]), int(np.lexsort((-slope, -lower))[0])
    return Interval(
        low=max(low, float(lower[below])),
        high=min(high, float(upper[above])),
        below=below if lower[below] > low else None,
        above=above if upper[above] < high else None,
    )


def smallest_winning_value(
    intercept: Array, slope: Array, row: int, current: float, *, low: float, high: float
) -> float | None:
    """The value of x nearest to `current` in [low, high] at which `row` wins, or None where it never does.

    >>> smallest_winning_value(np.array([1.0, 0.75]), np.array([1.0, 0.5]), 1, 0.1, low=0.0, high=1.0)
    0.5
    """
    gap = intercept - intercept[row]
    flatter = slope - slope[row]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = gap / flatter
    if np.any((flatter == 0) & (gap > 0)):
        return None
    first = float(np.max(np.where(flatter > 0, crossing, -np.inf), initial=low))
    last = float(np.min(np.where(flatter < 0, crossing, np.inf), initial=high))
    if first > last:
        return None
    return float(min(max(current, first), last))
