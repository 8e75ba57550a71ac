"""How often the tools of a catalog would be found, and what they are taken for (`core.services.learn.findable`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missed:
    """A request of a tool that another tool is ranked first for."""

    text: str
    taken_for: str
    rank: int


@dataclass(frozen=True, slots=True)
class ToolFound:
    """How often a tool is `first`, and `found` among the first three, `of` so many requests. `missed` are those where it is not first."""

    tool: str
    first: int
    found: int
    of: int
    missed: tuple[Missed, ...] = ()

    @property
    def taken_for(self) -> tuple[tuple[str, int], ...]:
        """The tools that were ranked first in its place, with how often, most often first."""
        return tuple(Counter(one.taken_for for one in self.missed).most_common())


@dataclass(frozen=True, slots=True)
class Findable:
    """The estimate for a catalog: shares of requests in [0, 1], each with a 95 % interval over tools, and the tools, worst first.

    `hit_1` and `hit_3` are corrected by what labelled sets tell of such estimates; `left_out_1` and `left_out_3` are the shares of
    the left-out requests themselves. `without` is the number of tools that have no requests, of which nothing is known.
    """

    hit_1: float
    hit_3: float
    left_out_1: float
    left_out_3: float
    interval_1: tuple[float, float]
    interval_3: tuple[float, float]
    tools: tuple[ToolFound, ...]
    without: int

    @property
    def mutual(self) -> tuple[tuple[str, str, int], ...]:
        """Pairs of tools that are taken for each other, with how often, most often first: candidates for an equal set."""
        times = {(one.tool, other): count for one in self.tools for other, count in one.taken_for}
        both = (
            (one, other, count + times[other, one]) for (one, other), count in times.items() if (other, one) in times
        )
        return tuple(sorted((pair for pair in both if pair[0] < pair[1]), key=lambda pair: -pair[2]))


@dataclass(frozen=True, slots=True)
class Preview:
    """What another description of a tool would change: how it is found now and then, and each near tool that is found more or
    less often."""

    now: ToolFound
    then: ToolFound
    others: tuple[tuple[ToolFound, ToolFound], ...]
