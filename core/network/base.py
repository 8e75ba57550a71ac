"""What a network state is: parameters in ms, and one effect on a sequence of latencies. States add up.

    latency[k] = max(1 ms, sum over states of added[k], max over states of least[k])

A state draws its k-th numbers from streams of its own, in order: the sequence up to step k is the same however many
steps follow, and whatever else the server has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.domain.params import Parameters, Range, knob

Array = NDArray[np.float64]

FLOOR_MS = 1.0
OUTAGE_MS = 1000.0  # a latency of this or more is an outage (NetMCP, section III-A)
STEP_S = 10.0
HORIZON_S = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Effect:
    """What one state does to each of N steps, in ms: `added` (N,) to the sum, `least` (N,) the latency is at least."""

    added: Array
    least: Array | None = None


@dataclass(frozen=True)
class State(Parameters):
    """One network state. A subclass sets the class variables, declares its knobs and fills `effect`."""

    id: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:
        """The effect on `steps` steps of `step_s` seconds each."""

    def to_json(self) -> dict[str, Any]:
        """The state as profiles keep it: its name and what differs from its defaults.

        >>> from core.network.gaussian import Ideal
        >>> Ideal(base_ms=30).to_json()
        {'state': 'ideal', 'base_ms': 30.0}
        """
        return {"state": self.id, **self.changed()}


def latencies_ms(states: Sequence[State], steps: int, *, step_s: float, seed: np.random.SeedSequence) -> Array:
    """(N,) latencies in ms of a server under several states at once.

    >>> from core.network.gaussian import Ideal
    >>> from core.network.outage import Outage
    >>> calm, broken = Ideal(base_ms=20, spread_ms=0), Outage(base_ms=0, spread_ms=0, start=1)
    >>> latencies_ms([calm, broken], 2, step_s=10, seed=np.random.SeedSequence(1)).tolist()
    [1000.0, 1000.0]
    """
    added, least = np.zeros(steps), np.full(steps, FLOOR_MS)
    for state, child in zip(states, seed.spawn(len(states)), strict=True):
        effect = state.effect(steps, step_s, np.random.default_rng(child))
        added += effect.added
        if effect.least is not None:
            np.maximum(least, effect.least, out=least)
    return np.maximum(added, least)


def base_knob(default: float, what: str = "Latency while nothing happens.") -> Any:
    """A latency in ms."""
    return knob(default, Range(0.0, 5000.0, 5.0, "ms"), group="network", help=what)


def spread_knob(default: float) -> Any:
    """A standard deviation in ms."""
    return knob(default, Range(0.0, 2000.0, 1.0, "ms"), group="network", help="Standard deviation of it.")


@dataclass(frozen=True)
class Noisy(State):
    """A state with Gaussian noise around a base; its defaults are those of a server nearby."""

    base_ms: float = base_knob(20.0)
    spread_ms: float = spread_knob(2.0)

    def noise(self, steps: int, rng: np.random.Generator) -> Array:
        """(N,) base + spread * z, z normal, in ms."""
        return self.base_ms + self.spread_ms * rng.standard_normal(steps)
