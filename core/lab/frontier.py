"""The frontier of success against what it takes: of routers that played the same tasks, those that no other beats in both.

>>> unbeaten([(0.9, 0.008), (0.8, 0.005), (0.7, 0.006), (0.0, float("nan"))])
(True, True, False, False)
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def unbeaten(points: Sequence[tuple[float, float]]) -> tuple[bool, ...]:
    """Which points of (success rate, money, seconds or tokens per solved sub-task) are on the Pareto front: no other has at least the
    success for at most the cost, and more of one. A router that solved nothing has no cost per solution and is never on it."""
    return tuple(
        math.isfinite(usd) and not any(_beats(other, (success, usd)) for other in points) for success, usd in points
    )


def _beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] >= other[0] and one[1] <= other[1] and one != other
