"""Exploration: what success a decision goes by while it is unsure of it. Ours; the paper's form has none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.economics.time_to_success import Array

LEAST_CALLS = 2.0  # what a figure that nobody has tried lately is worth: as vague as two calls leave it
SURE = 1e-3  # a probability is never taken to be nearer to 0 or 1 than this


def effective_calls(calls: NDArray[np.int64], idle: NDArray[np.int64], *, rate: float, memory: float) -> Array:
    """How many calls a running probability of EHRR (8) still speaks for.

        n = 2 + min(calls, (2 - lambda) / lambda) * 2^(-idle / memory)

    A moving average with coefficient lambda is as precise as a mean of (2 - lambda) / lambda calls, Corollary 3, however
    many there were. `idle` counts the outcomes elsewhere since the last call: for each `memory` of them half is forgotten.
    Shapes: (N,) each.

    >>> effective_calls(np.array([0, 1, 500, 500]), np.array([0, 0, 0, 50]), rate=0.15, memory=50).round(2).tolist()
    [2.0, 3.0, 14.33, 8.17]
    """
    return LEAST_CALLS + np.minimum(calls, (2.0 - rate) / rate) * np.exp2(-idle / memory)


def thompson(probability: Array, calls: Array, rng: np.random.Generator) -> Array:
    """One draw of each probability from what is believed of it: Beta(p n, (1 - p) n). Shapes: (N,) each.

    >>> drawn = thompson(np.full(9999, 0.4), np.full(9999, 14.0), np.random.default_rng(1))
    >>> round(float(drawn.mean()), 2), round(float(drawn.std()), 2)      # sqrt(p (1 - p) / (n + 1))
    (0.4, 0.13)
    """
    p = np.clip(probability, SURE, 1.0 - SURE)
    return rng.beta(p * calls, (1.0 - p) * calls)


def optimistic(probability: Array, calls: Array, *, total: int, weight: float) -> Array:
    """Each probability with a bonus for not being known well: min(1, p + c sqrt(ln(1 + N) / n)), N outcomes in all.

    Shapes: (N,) each.

    >>> optimistic(np.array([0.4, 0.4]), np.array([14.0, 2.0]), total=300, weight=0.3).round(2).tolist()
    [0.59, 0.91]
    """
    return np.minimum(1.0, probability + weight * np.sqrt(np.log1p(total) / calls))
