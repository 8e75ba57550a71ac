"""High latency: constantly slow, low variance (NetMCP, state 3)."""

from __future__ import annotations

from dataclasses import dataclass

from core.network.base import base_knob, spread_knob
from core.network.ideal import Ideal


@dataclass(frozen=True)
class HighLatency(Ideal):
    """As ideal conditions, from far away: across an ocean, or over a link that is always full."""

    id = "high_latency"
    title = "High latency"
    summary = "Always slow, and steady."

    base_ms: float = base_knob(400.0)
    spread_ms: float = spread_knob(20.0)
