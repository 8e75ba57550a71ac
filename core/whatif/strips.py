"""Strips: who wins at which value of one parameter, all others as they are. Plain data for pages."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.domain.params import Knob, Value


@dataclass(frozen=True, slots=True)
class Segment:
    """Values from `low` to `high` for which the decision is the same: winner, candidates, short-list and acceptance bits.

    `winner` is a tool's id, None where there is none. `reason` says what is different here from the neighbour on the side of the
    current value, and `stage` where; for the current segment, what decides it. `margin` is the winner's lead over the next
    tool in the middle of the segment (at the current value in the current one); infinite without a rival, 0 without a winner.
    """

    low: float
    high: float
    winner: str | None
    reason: str
    stage: str
    margin: float


@dataclass(frozen=True, slots=True)
class Strip:
    """The segments of one parameter from its lowest to its highest value, without gaps.

    Those of a whole number meet in the middle between two numbers.
    """

    parameter: str
    low: float
    high: float
    segments: tuple[Segment, ...]

    def at(self, value: float) -> Segment:
        """The segment that a value lies in; of two that meet there the higher.

        >>> strip = Strip("k", 1, 9, (Segment(1, 3.5, "a", "", "", 0.1), Segment(3.5, 9, "b", "", "", 0.2)))
        >>> strip.at(3).winner, strip.at(4).winner
        ('a', 'b')
        """
        place = bisect_right([segment.low for segment in self.segments], value) - 1
        return self.segments[min(max(place, 0), len(self.segments) - 1)]

    def breakpoints(self) -> tuple[float, ...]:
        """The values at which the decision changes, in order."""
        return tuple(segment.low for segment in self.segments[1:])

    def winners(self) -> tuple[Segment, ...]:
        """The segments with neighbours of the same winner put together: what a narrow track can show."""
        found: list[Segment] = []
        for segment in self.segments:
            if found and found[-1].winner == segment.winner:
                last = found[-1]
                found[-1] = Segment(last.low, segment.high, last.winner, last.reason, last.stage, last.margin)
            else:
                found.append(segment)
        return tuple(found)


def at_value(knob: Knob, value: float) -> str:
    """`at αt = 0.31 1/s`, the beginning of a reason."""
    return f"at {knob.symbol} = {value:.4g}{f' {knob.unit}' if knob.unit else ''}"


def placed(bounds: Sequence[float], value: Value) -> int:
    """In which interval between the bounds the current value lies; in the last one where it is None, no limit."""
    at = len(bounds) if value is None else bisect_right(bounds, float(value))
    return min(max(at - 1, 0), len(bounds) - 2)


def meeting(knob: Knob, bounds: Sequence[float], place: int, here: int) -> tuple[int, float]:
    """Of an interval that is not the current one: its neighbour on that side, and the value from which on it is reached; a whole
    number where the knob takes no other."""
    neighbour, at = (place - 1, bounds[place]) if place > here else (place + 1, bounds[place + 1])
    if knob.kind is int:
        at = math.ceil(at) if place > here else math.floor(at)
    return neighbour, at


def asked(knob: Knob, bounds: Sequence[float], value: Value) -> list[float]:
    """One value of each interval: the current one where it lies, the middle of the others; whole numbers where needed."""
    found = [math.ceil(low) if knob.kind is int else (low + high) / 2 for low, high in pairwise(bounds)]
    here = placed(bounds, value)
    found[here] = bounds[-1] if value is None else float(value)
    return found
