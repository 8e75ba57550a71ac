"""Latency traces: the latencies of a catalog's servers over time under a profile, and views of them up to a step."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.network.base import OUTAGE_MS, STEP_S, Array, State, latencies_ms

OUTAGE_S = OUTAGE_MS / 1e3


class NetworkView(Protocol):
    """What a router sees of the network when it decides."""

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
        """Generate traces. A server's trace depends on the seed, its name and its states, and not on the other servers.

        >>> from core.network.gaussian import Ideal
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
        """(S, W) the latencies up to and with step `at`: all of them, or the last `window` (NaN where there are fewer)."""
        if window is None:
            return self.latency_s[:, : at + 1]
        if at + 1 >= window:
            return self.latency_s[:, at + 1 - window : at + 1]
        missing = np.full((len(self.servers), window - at - 1), np.nan)
        return np.concatenate([missing, self.latency_s[:, : at + 1]], axis=1)


class TraceView:
    """Traces up to the step `at`, which may be moved on."""

    def __init__(self, traces: Traces, at: int = 0) -> None:
        self.traces = traces
        self.at = at

    def recent_s(self, window: int) -> Array:
        """See `NetworkView`."""
        return self.traces.history_s(self.at, window)


class CallHistory:
    """The network as real calls showed it: their latencies by server, in the order of the calls, read when first needed.

    >>> CallHistory(("a", "b"), lambda: [("b", 0.2), ("b", 0.3), ("gone", 9.0)]).recent_s(3).tolist()
    [[nan, nan, nan], [nan, 0.2, 0.3]]
    """

    def __init__(self, servers: Sequence[str], calls: Callable[[], Iterable[tuple[str, float]]]) -> None:
        self._servers = servers
        self._calls = calls

    def recent_s(self, window: int) -> Array:
        """See `NetworkView`."""
        recent = np.full((len(self._servers), window), np.nan)
        for row, seen in enumerate(self._seen.values()):
            last = seen[-window:]
            recent[row, window - len(last) :] = last
        return recent

    @cached_property
    def _seen(self) -> dict[str, list[float]]:
        seen: dict[str, list[float]] = {name: [] for name in self._servers}
        for server, latency_s in self._calls():
            if server in seen:
                seen[server].append(latency_s)
        return seen
