"""Ideal conditions: low latency, hardly any variance (NetMCP, state 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.network.base import Effect, State, base_knob, noise, spread_knob


@dataclass(frozen=True)
class Ideal(State):
    """base + spread * z, z normal: inside a data centre, or across a city."""

    id = "ideal"
    title = "Ideal"
    summary = "Low and steady."

    base_ms: float = base_knob(20.0)
    spread_ms: float = spread_knob(2.0)

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:  # noqa: ARG002
        """See `State.effect`."""
        return Effect(noise(self.base_ms, self.spread_ms, steps, rng))
