"""High jitter: a moderate latency that changes at random (NetMCP, state 4)."""

from __future__ import annotations

from dataclasses import dataclass

from core.network.base import base_knob, spread_knob
from core.network.ideal import Ideal


@dataclass(frozen=True)
class HighJitter(Ideal):
    """As ideal conditions with a large variance: radio links, shared bandwidth. Never below 1 ms."""

    id = "high_jitter"
    title = "High jitter"
    summary = "Moderate on average, different at every step."

    base_ms: float = base_knob(150.0)
    spread_ms: float = spread_knob(80.0)
