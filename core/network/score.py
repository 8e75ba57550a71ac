"""SONAR's network score N of each server from its recent latencies: NetMCP (6), (7) with the spec's weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.network.states import OUTAGE_MS, Array

IDEAL_MS = 50.0  # up to here latency costs nothing
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
    """(S,) N of each server from the last latencies (S, w) in s, oldest first; `neutral` for a server without any.

        L      = EWMA over the window        base = 1 / (1 + max(0, L - 50) / 200)                    in ms
        high   = clip((L - 50) / 950, 0, 1)  trend = clip(slope * w / max(mean, 50), 0, 1)
        outage = share at or above 1000 ms   unstable = clip(std / mean, 0, 1)
        N      = base * max(0, 1 - (0.25 high + 0.15 trend + 0.40 outage + 0.20 unstable)),  -1 while the last is >= 1000

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
    """(R,) N of servers with the same number n of samples (R, n), in ms."""
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
    slope = centred / np.sum(centred**2) if samples > 1 else centred  # one sample has none
    return np.stack([ewma, np.full(samples, 1.0 / samples), samples * slope], axis=1)
