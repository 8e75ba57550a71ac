"""Network states: parameters in ms, and the effect of each on a sequence of latencies. States add up.

    latency[k] = max(1 ms, sum over states of added[k], max over states of least[k])

A state draws its k-th numbers from its own streams, in order. The sequence up to step k does not depend on later steps or on the
server's other states.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from core.domain.errors import ParameterError
from core.domain.params import FINE_SHARE, Parameters, Range, knob

Array = NDArray[np.float64]

FLOOR_MS = 1.0
OUTAGE_MS = 1000.0  # a latency of this or more is an outage (NetMCP, section III-A)


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one state on N steps, in ms: `added` (N,) to the sum, `least` (N,) as a lower bound."""

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
        """The state as profiles store it: its name and the parameters that differ from their defaults.

        >>> from core.network.states import Ideal
        >>> Ideal(base_ms=30).to_json()
        {'state': 'ideal', 'base_ms': 30.0}
        """
        return {"state": self.id, **self.changed()}


def latencies_ms(states: Sequence[State], steps: int, *, step_s: float, seed: np.random.SeedSequence) -> Array:
    """(N,) latencies in ms of a server under several states at once.

    >>> from core.network.states import Ideal
    >>> from core.network.states import Outage
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
    return knob(default, Range(0.0, 5000.0, 5.0, "ms"), group="network", help=what)


def spread_knob(default: float) -> Any:
    return knob(default, Range(0.0, 2000.0, 1.0, "ms"), group="network", help="Standard deviation of it.")


@dataclass(frozen=True)
class Noisy(State):
    """A state with Gaussian noise around a base. Its defaults suit a server nearby."""

    base_ms: float = base_knob(20.0)
    spread_ms: float = spread_knob(2.0)

    def noise(self, steps: int, rng: np.random.Generator) -> Array:
        """(N,) base + spread * z, z normal, in ms."""
        return self.base_ms + self.spread_ms * rng.standard_normal(steps)


# Gaussian: ideal, far away, or irregular (NetMCP, states 5, 3 and 4)
#     latency[k] = base + spread * z, z normal


@dataclass(frozen=True)
class Ideal(Noisy):
    """Inside a data centre, or across a city: low latency, hardly any variance."""

    id = "ideal"
    title = "Ideal"
    summary = "Low and steady."

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:  # noqa: ARG002
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


# Fluctuating: a recognisable rhythm (NetMCP, state 1)
#     latency[k] = base + amplitude * sin(2 pi k step / period + phase)


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
        turns = np.arange(steps) * (step_s / self.period_s)
        return Effect(self.base_ms + self.amplitude_ms * np.sin(2 * np.pi * turns + self.phase))


# Intermittent outage (NetMCP, state 2)
# At each step that is up an outage starts with probability `start`. It lasts `shortest` to `longest` steps, all lengths equally
# likely, with a latency of at least `down_ms`.


@dataclass(frozen=True)
class Outage(Noisy):
    """Crashes, partitions, a lost region. Down for about start * mean / (1 + start * mean) of the time."""

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
        calm, starts, lengths = rng.spawn(3)
        span = self.longest - self.shortest + 1
        length = self.shortest + np.floor(span * lengths.random(steps)).astype(np.int64)
        down = down_steps(starts.random(steps) < self.start, length)
        return Effect(self.noise(steps, calm), np.where(down, self.down_ms, 0.0))


def down_steps(begins: NDArray[np.bool_], length: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(N,) whether each step is down. An outage begins at `begins`, unless one is under way.

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


# Packet loss: each retry after twice the time. Ours, not NetMCP's
#     latency[k] = base + spread * z + retry * (2^m - 1)         m packets lost in a row, P(m) = (1 - loss) * loss^m

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
        calm, losses = rng.spawn(2)
        draws = losses.random(steps)
        lost_packets = np.sum(draws[:, None] < self.loss ** np.arange(1, MOST_RETRIES + 1), axis=1)
        return Effect(self.noise(steps, calm) + self.retry_ms * (2.0**lost_packets - 1))


# Slow start: cold at first, warm after a while. Ours, not NetMCP's
#     latency[k] = base + spread * z + extra * exp(-t / settles),     t = seconds since the last start


@dataclass(frozen=True)
class SlowStart(Noisy):
    """Empty caches, a container that was scaled to zero. It restarts every `restarts_s`, or starts once."""

    id = "slow_start"
    title = "Slow start"
    summary = "Slow at first, then fast."

    extra_ms: float = base_knob(800.0, "On top of it right after a start.")
    settles_s: float = knob(300.0, Range(1.0, 86_400.0, 10.0, "s"), group="network",
        help="Time in which it falls to a third.")  # fmt: skip
    restarts_s: float | None = knob(None, Range(10.0, 86_400.0, 60.0, "s"), group="network", kind=float,
        help="Time from one start to the next; off where empty: it starts once.")  # fmt: skip

    def effect(self, steps: int, step_s: float, rng: np.random.Generator) -> Effect:
        time_s = np.arange(steps) * step_s
        since_s = time_s if self.restarts_s is None else time_s % self.restarts_s
        cold = self.extra_ms * np.exp(-since_s / self.settles_s)
        return Effect(self.noise(steps, rng) + cold)
