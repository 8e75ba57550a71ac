"""Latencies of servers over time, generated under a profile or measured by calls; and the faults that a trace injects into calls."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.domain.params import STEP_S
from core.network.states import OUTAGE_MS, Array, State, latencies_ms

OUTAGE_S = OUTAGE_MS / 1e3


class NetworkView(Protocol):
    """The network as a router sees it when it decides."""

    def recent_s(self, window: int) -> Array:
        """(S, w) the last latencies of each server in s, oldest first; NaN at the front where there are fewer."""
        ...


@dataclass(frozen=True)
class Traces:
    """Latencies (S, N) in s of S servers over N steps of `step_s` seconds. Read-only."""

    servers: tuple[str, ...]
    latency_s: Array
    step_s: float = STEP_S

    @classmethod
    def of(cls, states: Mapping[str, Sequence[State]], steps: int, *, seed: int = 0, step_s: float = STEP_S) -> Traces:
        """Generate traces. A server's trace depends on the seed, its name and its states, not on other servers.

        >>> from core.network.states import Ideal
        >>> one = Traces.of({"a": [Ideal()]}, 5)
        >>> bool((Traces.of({"b": [Ideal()], "a": [Ideal()]}, 9).latency_s[1, :5] == one.latency_s[0]).all())
        True
        """
        rows = [
            latencies_ms(
                of_server, steps, step_s=step_s, seed=np.random.SeedSequence([seed, zlib.crc32(name.encode())])
            )
            for name, of_server in states.items()
        ]
        latency_s = np.array(rows, dtype=np.float64).reshape(len(rows), steps) / 1e3
        latency_s.setflags(write=False)
        return cls(tuple(states), latency_s, step_s)

    @property
    def steps(self) -> int:
        """N."""
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
    """Traces up to the step `at`, which may be changed."""

    traces: Traces
    at: int = 0

    def recent_s(self, window: int) -> Array:
        """See `NetworkView`."""
        return self.traces.history_s(self.at, window)


@dataclass(eq=False)
class CallHistory:
    """The network as real calls measured it: latencies by server in the order of the calls, read on first use.

    >>> CallHistory(("a", "b"), lambda: [("b", 0.2), ("b", 0.3), ("gone", 9.0)]).recent_s(3).tolist()
    [[nan, nan, nan], [nan, 0.2, 0.3]]
    """

    servers: Sequence[str]
    calls: Callable[[], Iterable[tuple[str, float]]]

    def recent_s(self, window: int) -> Array:
        """See `NetworkView`."""
        recent = np.full((len(self.servers), window), np.nan)
        for row, seen in enumerate(self._seen.values()):
            last = seen[-window:]
            recent[row, window - len(last) :] = last
        return recent

    @cached_property
    def _seen(self) -> dict[str, list[float]]:
        seen: dict[str, list[float]] = {name: [] for name in self.servers}
        for server, latency_s in self.calls():
            if server in seen:
                seen[server].append(latency_s)
        return seen


# Faults, for calls that are really made
#     latency < 1000 ms    the message arrives that much later
#     an outage            the message is lost without an error (silent), or the connection breaks (dropped)
# Seed, server name and step decide which of the two.


class FaultKind(StrEnum):
    """The fate of a message."""

    DELAYED = "delayed"
    SILENT = "silent"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Fault:
    """The fate of a message. `delay_s` is used if it is delayed.

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
    """The faults of a network at the step `at`, which may be changed. There are none while it is None.

    Connecting to a silent server is given up after `give_up_s`.

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
        """The fate of a message to the server now. None for a server outside the network."""
        row = self._row.get(server)
        if row is None or self.at is None:
            return None
        latency_s = float(self.traces.latency_s[row, self.at])
        if latency_s < OUTAGE_S:
            return Fault(FaultKind.DELAYED, latency_s)
        draws = np.random.default_rng([self.seed, zlib.crc32(server.encode()), self.at])
        return Fault(FaultKind.DROPPED if draws.random() < self.dropped_share else FaultKind.SILENT)
