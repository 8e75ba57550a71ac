"""Strips: who wins at which value of one parameter, all others as they are. Plain data for pages."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


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
