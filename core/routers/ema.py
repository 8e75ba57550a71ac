"""Online statistics as exponential moving averages, EHRR (8), their decay with time (ours), and tables of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.domain.statistics import Source
from core.routers.utility import Array


def ema(old: float, observed: float, rate: float) -> float:
    """One step of an exponential moving average; Lemma 2 gives its mean and variance.

    >>> ema(1.0, 0.0, 0.15)
    0.85
    """
    return (1.0 - rate) * old + rate * observed


def decayed_share(age_s: Array, half_life_s: float | Array) -> Array:
    """The forgotten share of experience that is `age_s` old: 1 - 2^(-age / half-life). 0 without a half-life.

    An age of NaN means no experience. Shapes: (N,), and (N,) or a single half-life, in s.

    >>> decayed_share(np.array([0.0, 600.0, 1200.0, np.nan]), 600.0).tolist()
    [0.0, 0.5, 0.75, 0.0]
    >>> decayed_share(np.array([600.0]), 0.0).tolist()
    [0.0]
    """
    if np.ndim(half_life_s) == 0 and half_life_s == 0:
        return np.zeros(age_s.shape)
    return 1.0 - np.exp2(-np.nan_to_num(np.maximum(age_s, 0.0)) / half_life_s)


def decayed(figure: Array, start: Array, share: Array) -> Array:
    """Moves a figure back towards its start value. The decay is exponential, so that two spans add up.

    >>> decayed(np.array([0.2]), np.array([0.9]), np.array([0.5])).round(2).tolist()
    [0.55]
    """
    return np.where(share == 0, figure, figure + share * (start - figure)) if share.any() else figure.copy()


@dataclass(frozen=True, slots=True)
class Priors:
    """The figures assumed without a declaration and without a call, in the order of `Running`. Units: probabilities, s."""

    success: float = 0.9
    variance: float = 0.0
    failure: float = 0.02
    call_s: float = 1.0
    conn_s: float = 0.3


SOFT = 0.25  # weight in (8) of rejected arguments: the caller may be at fault, but tools with hard parameters fail more often
Fading = Literal["everything", "failures"]


@dataclass(frozen=True, slots=True)
class Rates:
    """The smoothing coefficients of (8): success, variance, post-accept failure, latency. Each in (0, 1).

    After `half_life_s` without a call a figure is half-way back to its base. With `fading` "everything" the base is its start, with
    "failures" its value after the last successful call. 0, the paper's form, never decays.
    """

    success: float = 0.15
    variance: float = 0.15
    failure: float = 0.15
    latency: float = 0.15
    half_life_s: float = 0.0
    fading: Fading = "everything"


@dataclass(frozen=True, slots=True)
class Running:
    """The running figures of one server, or of one tool (which uses success and latency only). Units: s, [0, 1]."""

    success: float
    success_variance: float
    post_accept_failure: float
    call_s: float
    conn_s: float
    calls: int = 0
    connects: int = 0

    def after(self, *, y: bool, latency_s: float | None, fail: bool, connect_s: float | None, rates: Rates) -> Running:
        """The figures after one call, EHRR (8). The four updates are simultaneous: the variance uses the old mean.

        A time that was not observed (None) leaves its figure unchanged.

        >>> r = Running(0.9, 0.0, 0.02, 1.0, 0.3).after(y=False, latency_s=2.0, fail=True, connect_s=None, rates=Rates())
        >>> round(r.success, 3), round(r.success_variance, 4), round(r.post_accept_failure, 3), round(r.call_s, 2), r.conn_s
        (0.765, 0.1215, 0.167, 1.15, 0.3)
        """
        return Running(
            success=ema(self.success, float(y), rates.success),
            success_variance=ema(self.success_variance, (float(y) - self.success) ** 2, rates.variance),
            post_accept_failure=ema(self.post_accept_failure, float(fail), rates.failure),
            call_s=self.call_s if latency_s is None else ema(self.call_s, latency_s, rates.latency),
            conn_s=self.conn_s if connect_s is None else ema(self.conn_s, connect_s, rates.latency),
            calls=self.calls + 1,
            connects=self.connects + (connect_s is not None),
        )

    def rejected(self, rates: Rates) -> Running:
        """The figures after a tool rejected its arguments: a failure by EHRR (8) at `SOFT` times its rates. Time and count stay.

        >>> round(Running(0.9, 0.0, 0.02, 1.0, 0.3).rejected(Rates()).success, 4)
        0.8663
        """
        return replace(
            self,
            success=ema(self.success, 0.0, SOFT * rates.success),
            success_variance=ema(self.success_variance, self.success**2, SOFT * rates.variance),
        )


# Running figures as columns: rows change one by one, snapshots are copies

SOURCES = {
    "success": "success_source",
    "success_variance": "variance_source",
    "post_accept_failure": "failure_source",
    "call_s": "call_source",
    "conn_s": "conn_source",
}
"""The running figures in the order of `Running`, each with the column of its source."""

_figures = attrgetter(*SOURCES)
CONN_ROW = len(SOURCES) - 1


class RunningTable:
    """Rows go in and out as `Running`. Each keeps the time of its last write, in seconds of a single clock.

    `start` (5, N) are the figures before any call in the order of `Running`, `sources` (5, N) their sources.

    Figures fade back to a base. With `rates.fading` "everything" the base is the start. With "failures" it is the row after its last
    successful call, so only the effect of later failures fades. The half-life is then at least the duration of the failures: a server
    that was down for a second is tried again soon, a server that has been down for a day ever more rarely.
    """

    def __init__(self, start: Array, sources: NDArray[Any], *, rates: Rates) -> None:
        rows = start.shape[1]
        self._last_good = start.copy()  # after the last success
        self._base = self._last_good if rates.fading == "failures" else start
        self._figures = start.copy()
        self._sources = sources.astype(np.int8)
        self._counts = np.zeros((2, rows), dtype=np.int64)  # calls, connects
        self._seen_s = np.full((2, rows), np.nan)  # the last call, the last connect
        self._seen_version = np.zeros(rows, dtype=np.int64)
        self._failing_since_s = np.full(rows, np.nan)
        self._failing = set[int]()  # the rows with a time above; every decision checks for any
        self._rates = rates

    @property
    def fades(self) -> bool:
        """Whether some figure changes with time alone."""
        if self._rates.half_life_s == 0:
            return False
        return self._rates.fading != "failures" or bool(self._failing)

    def row(self, row: int, at_s: float | None = None) -> Running:
        """The figures of a row after its last call or, with decay, at a later time."""
        figures = self._figures[:, row]
        if at_s is not None and self._rates.half_life_s and not self._stays(row):
            share = self._share(at_s - self._seen_s[0, row : row + 1], slice(row, row + 1))
            figures = decayed(figures, self._base[:, row], share)
        return Running(*figures.tolist(), *self._counts[:, row].tolist())

    def put(
        self,
        row: int,
        running: Running,
        *,
        at_s: float,
        version: int,
        succeeded: bool,
        source: Source = Source.MEASURED,
    ) -> None:
        """Writes a row: the figures after the outcome number `version`, seen at `at_s`. A row with a simulated call stays simulated."""
        if running.connects > self._counts[1, row]:
            self._seen_s[1, row] = at_s
            self._sources[CONN_ROW, row] = Source.MEASURED
        # a late outcome does not make the row older
        self._seen_s[0, row] = np.fmax(self._seen_s[0, row], at_s)
        self._seen_version[row] = version
        self._sources[:CONN_ROW, row] = np.maximum(self._sources[:CONN_ROW, row], source)
        self._figures[:, row] = _figures(running)
        self._counts[:, row] = running.calls, running.connects
        if succeeded:
            self._last_good[:, row] = self._figures[:, row]
            self._succeeded(row)
        else:
            self._failing_since_s[row] = np.fmin(self._failing_since_s[row], at_s)
            self._failing.add(row)

    def shares(self, at_s: float) -> Array:
        """(2, N) the forgotten shares at `at_s` of what calls and connects have taught."""
        return self._share(at_s - self._seen_s, slice(None))

    def columns(self, shares: Array) -> dict[str, NDArray[Any]]:
        """Every column with these `shares` forgotten, (N,) each, by the names of `ServerStatistics`. The arrays are copies."""
        share, conn_share = shares
        calls, connects = self._counts.copy()
        return {
            **dict(zip(SOURCES, decayed(self._figures, self._base, share), strict=True)),
            **dict(zip(SOURCES.values(), self._sources.copy(), strict=True)),
            "calls": calls,
            "connects": connects,
            "seen_version": self._seen_version.copy(),
            "decayed": share,
            "conn_decayed": conn_share,
        }

    def forgive(self, row: int, at_s: float) -> None:
        """Forgets failures, because a signal other than a call, such as a ping, shows that the server answers again."""
        self._figures[:, row] = self._last_good[:, row]
        self._succeeded(row)
        self._seen_s[0, row] = np.fmax(self._seen_s[0, row], at_s)

    def _succeeded(self, row: int) -> None:
        self._failing_since_s[row] = np.nan
        self._failing.discard(row)

    def _stays(self, row: int) -> bool:
        """Whether the figures of a row do not change with time: only failures fade, and its last call succeeded."""
        return self._rates.fading == "failures" and math.isnan(self._failing_since_s[row])

    def _share(self, age_s: Array, rows: slice) -> Array:
        if self._rates.fading == "everything" or self._rates.half_life_s == 0:
            return decayed_share(age_s, self._rates.half_life_s)
        failing_s = self._seen_s[0, rows] - self._failing_since_s[rows]  # NaN: the last call succeeded
        share = decayed_share(age_s, np.fmax(failing_s, self._rates.half_life_s))
        return np.where(np.isnan(failing_s), 0.0, share)
