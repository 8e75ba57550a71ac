"""Intermittent outage: now and then the server is down for a while (NetMCP, state 2).

At each step that is up an outage starts with probability `start`; it lasts `shortest` to `longest` steps, each length
as likely; while it lasts the latency is at least `down_ms`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.params import FINE_SHARE, Range, knob
from core.network.base import OUTAGE_MS, Effect, Noisy, base_knob, spread_knob
from core.shared.errors import ParameterError


@dataclass(frozen=True)
class Outage(Noisy):
    """Crashes, partitions, a region that is gone. Down for start * mean / (1 + start * mean) of the time, about."""

    id = "outage"
    title = "Intermittent outage"
    summary = "Fast, and now and then not there."

    base_ms: float = base_knob(30.0)
    spread_ms: float = spread_knob(5.0)
    start: float = knob(0.02, FINE_SHARE, group="network", help="Chance at each step that an outage begins.")
    shortest: int = knob(3, Range(1, 10_000, unit="steps"), group="network", help="Shortest outage.")
    longest: int = knob(30, Range(1, 10_000, unit="steps"), group="network", help="Longest outage.")
    down_ms: float = knob(OUTAGE_MS, Range(OUTAGE_MS, 60_000.0, 100.0, "ms"), group="network",
        help="Latency while down.")  # fmt: skip

    def __post_init__(self) -> None:
        Noisy.__post_init__(self)
        if self.longest < self.shortest:
            raise ParameterError(f"longest = {self.longest} is below shortest = {self.shortest}; raise it.")

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:  # noqa: ARG002
        """See `State.effect`."""
        calm, starts, lengths = rng.spawn(3)
        span = self.longest - self.shortest + 1
        length = self.shortest + np.floor(span * lengths.random(steps)).astype(np.int64)
        down = down_steps(starts.random(steps) < self.start, length)
        return Effect(self.noise(steps, calm), np.where(down, self.down_ms, 0.0))


def down_steps(begins: NDArray[np.bool_], length: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(N,) whether each step is down: an outage begins where `begins` says so, unless one is under way.

    >>> down_steps(np.array([0, 1, 1, 0, 0, 1], dtype=bool), np.array([9, 3, 9, 9, 9, 9])).astype(int).tolist()
    [0, 1, 1, 1, 0, 1]
    """
    down = np.zeros(len(begins), dtype=np.bool_)
    up_again = 0
    for step in np.flatnonzero(begins).tolist():
        if step >= up_again:
            up_again = step + int(length[step])
            down[step:up_again] = True
    return down
