"""Fluctuating latency: a rhythm that can be recognised (NetMCP, state 1).

latency[k] = base + amplitude * sin(2 pi k step / period + phase)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.params import knob
from core.network.base import Effect, State, base_knob


@dataclass(frozen=True)
class Fluctuating(State):
    """Load that comes and goes: busy by day, idle by night, each server with a phase of its own."""

    id = "fluctuating"
    title = "Fluctuating"
    summary = "Rises and falls in a rhythm."

    base_ms: float = base_knob(200.0, "The middle of the rhythm.")
    amplitude_ms: float = base_knob(150.0, "How far it rises and falls.")
    period_s: float = knob(
        3600.0, unit="s", low=20.0, high=86_400.0, step=60.0, group="network", help="One rise and fall."
    )
    phase: float = knob(
        0.0, unit="rad", low=0.0, high=6.2832, step=0.1, group="network", help="Where in the rhythm it starts."
    )

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:  # noqa: ARG002
        """See `State.effect`."""
        turns = np.arange(steps) * (step_s / self.period_s)
        return Effect(self.base_ms + self.amplitude_ms * np.sin(2 * np.pi * turns + self.phase))
