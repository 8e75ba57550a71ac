"""Fluctuating latency: a rhythm that can be recognised (NetMCP, state 1).

latency[k] = base + amplitude * sin(2 pi k step / period + phase)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.params import Range, knob
from core.network.base import Effect, State, base_knob


@dataclass(frozen=True)
class Fluctuating(State):
    """Load that comes and goes: busy by day, idle by night, each server with a phase of its own."""

    id = "fluctuating"
    title = "Fluctuating"
    summary = "Rises and falls in a rhythm."

    base_ms: float = base_knob(200.0, "The middle of the rhythm.")
    amplitude_ms: float = base_knob(150.0, "How far it rises and falls.")
    period_s: float = knob(3600.0, Range(20.0, 86_400.0, 60.0, "s"), group="network", help="One rise and fall.")
    phase: float = knob(0.0, Range(0.0, 6.2832, 0.1, "rad"), group="network", help="Where in the rhythm it starts.")

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:  # noqa: ARG002
        """See `State.effect`."""
        turns = np.arange(steps) * (step_s / self.period_s)
        return Effect(self.base_ms + self.amplitude_ms * np.sin(2 * np.pi * turns + self.phase))
