"""The running figures of many servers, or of many tools, as columns: rows change one by one, snapshots are copies."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.statistics import Source
from core.stats.ema import Running, decayed, decayed_share

SOURCES = {
    "success": "success_source",
    "success_variance": "variance_source",
    "post_accept_failure": "failure_source",
    "call_s": "call_source",
    "conn_s": "conn_source",
}
"""The running figures in the order of `Running`, each with the column that says where it comes from."""

_figures = attrgetter(*SOURCES)
CONN_ROW = len(SOURCES) - 1


class RunningTable:
    """Rows go in and out as `Running`; each keeps when it was last written. Times are seconds on any one clock.

    `sources` say where the figures of each row of `start` come from, in the order of `Running`.
    """

    def __init__(self, start: Sequence[Running], sources: Sequence[Sequence[Source]], *, half_life_s: float) -> None:
        rows = list(map(_figures, start))
        self._start = np.array(rows, dtype=np.float64).reshape(len(rows), len(SOURCES)).T.copy()
        self._figures = self._start.copy()  # (5, N)
        self._sources = np.array(sources, dtype=np.int8).reshape(len(rows), len(SOURCES)).T.copy()
        self._counts = np.zeros((2, len(rows)), dtype=np.int64)  # calls, connects
        self._seen_s = np.full((2, len(rows)), np.nan)  # the last call, the last connect
        self._seen_version = np.zeros(len(rows), dtype=np.int64)
        self._half_life_s = half_life_s

    def row(self, row: int, at_s: float | None = None) -> Running:
        """The figures of one row, as they stood after its last call or, with decay, at a later time."""
        figures = self._figures[:, row]
        if at_s is not None and self._half_life_s:
            share = decayed_share(at_s - self._seen_s[:1, row], self._half_life_s)
            figures = decayed(figures, self._start[:, row], share)
        return Running(*figures.tolist(), *self._counts[:, row].tolist())

    def put(self, row: int, running: Running, *, at_s: float, version: int) -> None:
        """Write a row: the figures after the outcome number `version`, which was seen at `at_s`."""
        if running.connects > self._counts[1, row]:
            self._seen_s[1, row] = at_s
            self._sources[CONN_ROW, row] = Source.MEASURED
        # an outcome that comes late does not make what is known older
        self._seen_s[0, row] = np.fmax(self._seen_s[0, row], at_s)
        self._seen_version[row] = version
        self._sources[:CONN_ROW, row] = Source.MEASURED
        self._figures[:, row] = _figures(running)
        self._counts[:, row] = running.calls, running.connects

    def columns(self, at_s: float) -> dict[str, NDArray[Any]]:
        """Every column at `at_s`, (N,) each, by the names of `ServerStatistics`. The arrays are the caller's own."""
        share, conn_share = decayed_share(at_s - self._seen_s, self._half_life_s)
        calls, connects = self._counts.copy()
        return {
            **dict(zip(SOURCES, decayed(self._figures, self._start, share), strict=True)),
            **dict(zip(SOURCES.values(), self._sources.copy(), strict=True)),
            "calls": calls,
            "connects": connects,
            "seen_version": self._seen_version.copy(),
            "decayed": share,
            "conn_decayed": conn_share,
        }
