"""Faults from a latency trace: what happens to a message to a server at a step, for calls that are really made.

    latency < 1000 ms    it arrives that much later
    an outage            it gets lost and nobody says so (silent), or the connection breaks (dropped)

Which of the two follows from the seed, the server's name and the step.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from core.network.traces import OUTAGE_S, Traces


class FaultKind(StrEnum):
    """What happens to a message."""

    DELAYED = "delayed"
    SILENT = "silent"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a message. `delay_s` counts where it is delayed.

    >>> str(Fault(FaultKind.DELAYED, 0.16)), str(Fault(FaultKind.SILENT)), str(Fault(FaultKind.DROPPED))
    ('delayed by 160 ms', 'no answer', 'connection dropped')
    """

    kind: FaultKind
    delay_s: float = 0.0

    def __str__(self) -> str:
        if self.kind is FaultKind.DELAYED:
            return f"delayed by {self.delay_s * 1e3:.0f} ms"
        return "no answer" if self.kind is FaultKind.SILENT else "connection dropped"


class Injection:
    """The faults of a network at the step `at`, which may be moved on; there are none while it is None.

    `give_up_s` is how long connecting to a silent server is tried.

    >>> from core.network.gaussian import Ideal
    >>> injection = Injection(Traces.of({"a": [Ideal(base_ms=20, spread_ms=0)]}, 1))
    >>> injection.at = 0
    >>> str(injection.fault("a")), injection.fault("unknown")
    ('delayed by 20 ms', None)
    """

    def __init__(
        self, traces: Traces, *, seed: int = 0, dropped_share: float = 0.5, give_up_s: float = OUTAGE_S
    ) -> None:
        self.at: int | None = None
        self.give_up_s = give_up_s
        self._traces = traces
        self._row = {name: row for row, name in enumerate(traces.servers)}
        self._seed = seed
        self._dropped_share = dropped_share

    def fault(self, server: str) -> Fault | None:
        """What happens to a message to the server now; None for a server that is not in the network."""
        row = self._row.get(server)
        if row is None or self.at is None:
            return None
        latency_s = float(self._traces.latency_s[row, self.at])
        if latency_s < OUTAGE_S:
            return Fault(FaultKind.DELAYED, latency_s)
        draws = np.random.default_rng([self._seed, zlib.crc32(server.encode()), self.at])
        return Fault(FaultKind.DROPPED if draws.random() < self._dropped_share else FaultKind.SILENT)
