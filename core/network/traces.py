"""Latencies of servers over time, generated under a profile or measured by calls, their faults in calls, and SONAR's network
score."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.domain.params import STEP_S
from core.network.states import OUTAGE_MS, Array, State, latencies_ms

OUTAGE_S = OUTAGE_MS / 1e3


class NetworkView(Protocol):
    """The network as a router sees it when it decides."""

    def recent_s(self, window: int) -> Array:
        """(S, w) the last latencies of each server in s, oldest first, with NaN at the front for missing ones."""
        ...


@dataclass(frozen=True)
class Traces:
    """Latencies (S, N) in s of S servers over N steps of `step_s` seconds. Read-only."""

    servers: tuple[str, ...]
    latency_s: Array
    step_s: float = STEP_S

    @classmethod
    def of(cls, states: Mapping[str, Sequence[State]], steps: int, *, seed: int = 0, step_s: float = STEP_S) -> Traces:
        """Generates traces. A server's trace depends on the seed, its name and its states, not on other servers.

        >>> from core.network.states import Ideal
        >>> short = Traces.of({"a": [Ideal()]}, 5)
        >>> bool((Traces.of({"b": [Ideal()], "a": [Ideal()]}, 9).latency_s[1, :5] == short.latency_s[0]).all())
        True
        """
        rows = [
            latencies_ms(
                server_states, steps, step_s=step_s, seed=np.random.SeedSequence([seed, zlib.crc32(name.encode())])
            )
            for name, server_states in states.items()
        ]
        latency_s = np.array(rows, dtype=np.float64).reshape(len(rows), steps) / 1e3
        latency_s.setflags(write=False)
        return cls(tuple(states), latency_s, step_s)

    @property
    def steps(self) -> int:
        return self.latency_s.shape[1]

    @cached_property
    def outage(self) -> NDArray[np.bool_]:
        """(S, N) whether a server is down."""
        return self.latency_s >= OUTAGE_S

    def history_s(self, at: int, window: int | None = None) -> Array:
        """(S, W) the latencies up to and with step `at`: all of them, or the last `window`, with NaN for missing ones."""
        if window is None:
            return self.latency_s[:, : at + 1]
        if at + 1 >= window:
            return self.latency_s[:, at + 1 - window : at + 1]
        missing = np.full((len(self.servers), window - at - 1), np.nan)
        return np.concatenate([missing, self.latency_s[:, : at + 1]], axis=1)


@dataclass(eq=False)
class TraceView:
    """Traces up to the step `at`, which may change."""

    traces: Traces
    at: int = 0

    def recent_s(self, window: int) -> Array:
        return self.traces.history_s(self.at, window)


@dataclass(eq=False)
class CallHistory:
    """The network as measured by real calls: latencies by server in the order of the calls, read on first use.

    >>> CallHistory(("a", "b"), lambda: [("b", 0.2), ("b", 0.3), ("gone", 9.0)]).recent_s(3).tolist()
    [[nan, nan, nan], [nan, 0.2, 0.3]]
    """

    servers: Sequence[str]
    calls: Callable[[], Iterable[tuple[str, float]]]

    def recent_s(self, window: int) -> Array:
        recent = np.full((len(self.servers), window), np.nan)
        for row, latencies in enumerate(self._seen.values()):
            last = latencies[-window:]
            recent[row, window - len(last) :] = last
        return recent

    @cached_property
    def _seen(self) -> dict[str, list[float]]:
        latencies: dict[str, list[float]] = {name: [] for name in self.servers}
        for server, latency_s in self.calls():
            if server in latencies:
                latencies[server].append(latency_s)
        return latencies


# Faults of real calls
#     latency < 1000 ms    the message arrives that much later
#     an outage            the message is lost without an error (silent), or the connection breaks (dropped)
# Seed, server name and step decide which of the two.


class FaultKind(StrEnum):
    DELAYED = "delayed"
    SILENT = "silent"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Fault:
    """The fault of a message. `delay_s` is used if it is delayed.

    >>> str(Fault(FaultKind.DELAYED, 0.16)), str(Fault(FaultKind.SILENT)), str(Fault(FaultKind.DROPPED))
    ('delayed by 160 ms', 'no answer', 'connection dropped')
    """

    kind: FaultKind
    delay_s: float = 0.0

    def __str__(self) -> str:
        if self.kind is FaultKind.DELAYED:
            return f"delayed by {self.delay_s * 1e3:.0f} ms"
        return "no answer" if self.kind is FaultKind.SILENT else "connection dropped"


@dataclass(eq=False)
class Injection:
    """The faults of a network at the step `at`, which may change. None means no faults.

    A connection to a silent server is given up after `give_up_s`.

    >>> from core.network.states import Ideal
    >>> injection = Injection(Traces.of({"a": [Ideal(base_ms=20, spread_ms=0)]}, 1))
    >>> injection.at = 0
    >>> str(injection.fault("a")), injection.fault("unknown")
    ('delayed by 20 ms', None)
    """

    traces: Traces
    _: KW_ONLY
    seed: int = 0
    dropped_share: float = 0.5
    give_up_s: float = OUTAGE_S

    def __post_init__(self) -> None:
        self.at: int | None = None
        self._row = {name: row for row, name in enumerate(self.traces.servers)}

    def fault(self, server: str) -> Fault | None:
        """The fault of a message to the server at this step. None for a server outside the network."""
        row = self._row.get(server)
        if row is None or self.at is None:
            return None
        latency_s = float(self.traces.latency_s[row, self.at])
        if latency_s < OUTAGE_S:
            return Fault(FaultKind.DELAYED, latency_s)
        draws = np.random.default_rng([self.seed, zlib.crc32(server.encode()), self.at])
        return Fault(FaultKind.DROPPED if draws.random() < self.dropped_share else FaultKind.SILENT)


# SONAR's network score N of each server from its recent latencies: NetMCP (6), (7) with the spec's weights

IDEAL_MS = 50.0  # up to here latency has no cost
SMOOTH_MS = 200.0
DOWN = -1.0
EWMA = 0.3
NEUTRAL = 0.5  # half way between the best and the worst server that is up


@dataclass(frozen=True, slots=True)
class Weights:
    """The EWMA's factor and the weights of the four penalties."""

    ewma: float = EWMA
    high: float = 0.25
    trend: float = 0.15
    outage: float = 0.40
    unstable: float = 0.20


def network_score(recent_s: Array, weights: Weights | None = None, *, neutral: float = NEUTRAL) -> Array:
    """(S,) N of each server from the last latencies (S, w) in s, oldest first; `neutral` for a server without latencies.

        L      = EWMA over the window        base = 1 / (1 + max(0, L - 50) / 200)                    in ms
        high   = clip((L - 50) / 950, 0, 1)  trend = clip(slope * w / max(mean, 50), 0, 1)
        outage = share at or above 1000 ms   unstable = clip(std / mean, 0, 1)
        N      = base * max(0, 1 - (0.25 high + 0.15 trend + 0.40 outage + 0.20 unstable)),  -1 if the last is >= 1000

    The slope is that of least squares, per sample. A server with fewer than w samples has NaN at the front, and a shorter window.

    >>> fast, slow, down, unknown = [0.02] * 4, [0.45] * 4, [0.02, 0.02, 0.02, 1.0], [np.nan] * 4
    >>> network_score(np.array([fast, slow, down, unknown])).round(3)
    array([ 1.   ,  0.298, -1.   ,  0.5  ])
    """
    count = np.count_nonzero(~np.isnan(recent_s), axis=1)
    score = np.full(len(recent_s), neutral)
    for samples in {int(n) for n in count} - {0}:
        rows = count == samples
        score[rows] = _score(recent_s[rows, -samples:] * 1e3, weights or Weights())
    return score


def recent_figures(recent_s: Array, *, factor: float = EWMA) -> tuple[Array, Array]:
    """(S,) the moving averages of latency in s and of outages in [0, 1] over the last latencies (S, w) in s, oldest first.

    Both are 0 for a server without any latency.

    >>> latency_s, outage = recent_figures(np.array([[np.nan, 0.02, 0.04], [0.02, 0.02, 1.0], [np.nan] * 3]))
    >>> latency_s.round(3).tolist(), outage.round(2).tolist()
    ([0.026, 0.314, 0.0], [0.0, 0.3, 0.0])
    """
    count = np.count_nonzero(~np.isnan(recent_s), axis=1)
    latency_s, outage = np.zeros(len(recent_s)), np.zeros(len(recent_s))
    for samples in {int(n) for n in count} - {0}:
        rows = count == samples
        recent, weights = recent_s[rows, -samples:], _moments(samples, factor)[:, 0]
        latency_s[rows], outage[rows] = recent @ weights, (recent * 1e3 >= OUTAGE_MS) @ weights
    return latency_s, outage


def _score(recent: Array, w: Weights) -> Array:
    """(R,) N of servers with n samples each (R, n), in ms."""
    level, mean, rise = (recent @ _moments(recent.shape[1], w.ewma)).T
    down = recent >= OUTAGE_MS
    base = 1.0 / (1.0 + np.maximum(0.0, level - IDEAL_MS) / SMOOTH_MS)
    penalty = w.high * _share((level - IDEAL_MS) / (OUTAGE_MS - IDEAL_MS))
    penalty += w.trend * _share(rise / np.maximum(mean, IDEAL_MS))
    penalty += w.outage * down.mean(axis=1)
    penalty += w.unstable * _share(recent.std(axis=1) / np.where(mean > 0, mean, 1.0))
    return np.where(down[:, -1], DOWN, base * np.maximum(0.0, 1.0 - penalty))


def _share(value: Array) -> Array:
    return np.minimum(np.maximum(value, 0.0), 1.0)


@lru_cache(maxsize=256)
def _moments(samples: int, factor: float) -> Array:
    """(n, 3) weights of n samples for their EWMA, their mean, and slope * n.

    L[1] = x[1], L[k] = factor x[k] + (1 - factor) L[k - 1], as one weighted sum.

    >>> _moments(2, 0.3).round(2).tolist()
    [[0.7, 0.5, -2.0], [0.3, 0.5, 2.0]]
    """
    ages = np.arange(samples - 1, -1, -1, dtype=np.float64)
    ewma = np.where(ages == samples - 1, 1.0, factor) * (1.0 - factor) ** ages
    centred = (samples - 1) / 2.0 - ages
    slope = centred / np.sum(centred**2) if samples > 1 else centred  # a single sample has no slope
    return np.stack([ewma, np.full(samples, 1.0 / samples), samples * slope], axis=1)
