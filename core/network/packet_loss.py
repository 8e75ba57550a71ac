"""Packet loss: what is lost is sent again after a while, each time after twice as long. Ours, not NetMCP's.

latency[k] = base + spread * z + retry * (2^m - 1)         m packets lost in a row, P(m) = (1 - loss) * loss^m
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.params import Range, knob
from core.network.base import Effect, Noisy, base_knob, spread_knob

MOST_RETRIES = 6


@dataclass(frozen=True)
class PacketLoss(Noisy):
    """A bad cable or a full queue. With 200 ms to the first retry, the third in a row is an outage."""

    id = "packet_loss"
    title = "Packet loss"
    summary = "Fast, with single calls that take long."

    base_ms: float = base_knob(30.0)
    spread_ms: float = spread_knob(5.0)
    loss: float = knob(0.05, Range(0.0, 0.9, 0.01), group="network", help="Share of packets that are lost.")
    retry_ms: float = base_knob(200.0, "Until the first retry; it doubles with each.")

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:  # noqa: ARG002
        """See `State.effect`."""
        calm, losses = rng.spawn(2)
        draws = losses.random(steps)
        lost = np.sum(draws[:, None] < self.loss ** np.arange(1, MOST_RETRIES + 1), axis=1)
        return Effect(self.noise(steps, calm) + self.retry_ms * (2.0**lost - 1))
