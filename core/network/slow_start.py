"""Slow start: cold at first, warm after a while. Ours, not NetMCP's.

latency[k] = base + spread * z + extra * exp(-t / settles),     t = seconds since the last start
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.params import Range, knob
from core.network.base import Effect, Noisy, base_knob


@dataclass(frozen=True)
class SlowStart(Noisy):
    """Empty caches, a container that was scaled to zero; started anew every `restarts_s`, or once."""

    id = "slow_start"
    title = "Slow start"
    summary = "Slow at first, then fast."

    extra_ms: float = base_knob(800.0, "On top of it right after a start.")
    settles_s: float = knob(300.0, Range(1.0, 86_400.0, 10.0, "s"), group="network",
        help="Time in which it falls to a third.")  # fmt: skip
    restarts_s: float | None = knob(None, Range(10.0, 86_400.0, 60.0, "s"), group="network", kind=float,
        help="Time from one start to the next; off where empty: it starts once.")  # fmt: skip

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:
        """See `State.effect`."""
        time_s = np.arange(steps) * step_s
        since_s = time_s if self.restarts_s is None else time_s % self.restarts_s
        cold = self.extra_ms * np.exp(-since_s / self.settles_s)
        return Effect(self.noise(steps, rng) + cold)
