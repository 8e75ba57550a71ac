"""The running figures of many servers, or of many tools, as columns: rows change one by one, snapshots are copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.statistics import Source
from core.economics.time_to_success import Array
from core.stats.ema import Running, decayed, decayed_share


@dataclass(frozen=True, slots=True)
class Columns:
    """Figures at one moment, shape (N,) each. `seen_version` numbers each row's last outcome, 0 before any.

    `decayed` and `conn_decayed` are the shares that time has taken back of what calls and connects taught; `*_source` hold
    `Source`.
    """

    success: Array
    variance: Array
    failure: Array
    call_s: Array
    conn_s: Array
    calls: NDArray[np.int64]
    connects: NDArray[np.int64]
    seen_version: NDArray[np.int64]
    decayed: Array
    conn_decayed: Array
    success_source: NDArray[np.int8]
    failure_source: NDArray[np.int8]
    call_source: NDArray[np.int8]
    conn_source: NDArray[np.int8]


class RunningTable:
    """Rows go in and out as `Running`; each keeps when it was last written. Times are seconds on any one clock.

    `sources` say where the figures of each row of `start` come from, in the order of `Running`.
    """

    def __init__(self, start: Sequence[Running], sources: Sequence[Sequence[Source]], *, half_life_s: float) -> None:
        rows = [(r.success, r.variance, r.failure, r.call_s, r.conn_s) for r in start]
        self._start = np.array(rows, dtype=np.float64).reshape(len(rows), 5).T.copy()
        self._figures = self._start.copy()  # (5, N)
        self._sources = np.array(sources, dtype=np.int8).reshape(len(rows), 5).T.copy()
        self._counts = np.zeros((2, len(rows)), dtype=np.int64)  # calls, connects
        self._seen_s = np.full((2, len(rows)), np.nan)  # the last call, the last connect
        self._seen_version = np.zeros(len(rows), dtype=np.int64)
        self._half_life_s = half_life_s

    def row(self, row: int, at_s: float | None = None) -> Running:
        """The figures of one row, as they stood after its last call or, with decay, at a later moment."""
        figures = self._figures[:, row]
        if at_s is not None and self._half_life_s:
            share = decayed_share(at_s - self._seen_s[:1, row], self._half_life_s)
            figures = decayed(figures, self._start[:, row], share)
        return Running(*figures.tolist(), *self._counts[:, row].tolist())

    def put(self, row: int, running: Running, *, at_s: float, version: int) -> None:
        """Write a row: the figures after the outcome number `version`, which was seen at `at_s`."""
        if running.connects > self._counts[1, row]:
            self._seen_s[1, row] = at_s
            self._sources[4, row] = Source.MEASURED
        # an outcome that comes late does not make what is known older
        self._seen_s[0, row] = np.fmax(self._seen_s[0, row], at_s)
        self._seen_version[row] = version
        self._sources[:4, row] = Source.MEASURED
        self._figures[:, row] = (running.success, running.variance, running.failure, running.call_s, running.conn_s)
        self._counts[:, row] = running.calls, running.connects

    def columns(self, at_s: float) -> Columns:
        """Every figure at `at_s`. The arrays are the caller's own."""
        share, conn_share = decayed_share(at_s - self._seen_s, self._half_life_s)
        success, variance, failure, call_s, conn_s = decayed(self._figures, self._start, share)
        calls, connects = self._counts.copy()
        success_source, _, failure_source, call_source, conn_source = self._sources.copy()
        return Columns(
            success=success,
            variance=variance,
            failure=failure,
            call_s=call_s,
            conn_s=conn_s,
            calls=calls,
            connects=connects,
            seen_version=self._seen_version.copy(),
            decayed=share,
            conn_decayed=conn_share,
            success_source=success_source,
            failure_source=failure_source,
            call_source=call_source,
            conn_source=conn_source,
        )
