"""Gaussian latencies: ideal conditions, far away, or irregular (NetMCP, states 5, 3 and 4).

latency[k] = base + spread * z, z normal
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.network.base import Effect, Noisy, base_knob, spread_knob


@dataclass(frozen=True)
class Ideal(Noisy):
    """Inside a data centre, or across a city: low latency, hardly any variance."""

    id = "ideal"
    title = "Ideal"
    summary = "Low and steady."

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:  # noqa: ARG002
        """See `State.effect`."""
        return Effect(self.noise(steps, rng))


@dataclass(frozen=True)
class HighLatency(Ideal):
    """From far away: across an ocean, or over a link that is always full. Constantly slow, low variance."""

    id = "high_latency"
    title = "High latency"
    summary = "Always slow, and steady."

    base_ms: float = base_knob(400.0)
    spread_ms: float = spread_knob(20.0)


@dataclass(frozen=True)
class HighJitter(Ideal):
    """A moderate latency that changes at random: radio links, shared bandwidth. Never below 1 ms."""

    id = "high_jitter"
    title = "High jitter"
    summary = "Moderate on average, different at every step."

    base_ms: float = base_knob(150.0)
    spread_ms: float = spread_knob(80.0)
