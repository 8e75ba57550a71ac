"""Utilities and their ranking: EHRR (1), (3), (6), (7), (9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.economics.time_to_success import Array

LEAST_BEST = 0.2  # of unrelated texts MiniLM says up to about this much


def clipped_cosine(query: NDArray[np.float32], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Similarity in [0, 1], EHRR (1): max(0, cos), 0 where a norm is 0.

    Shapes: (D,), (N, D) -> (N,).

    >>> rows = np.array([[1, 0], [-1, 0], [0, 0]], dtype=np.float32)
    >>> [float(x) for x in clipped_cosine(np.array([2, 0], dtype=np.float32), rows)]
    [1.0, 0.0, 0.0]
    """
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(query)
    dots = rows @ query
    return np.clip(np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0), 0.0, 1.0)


def calibrated(similarity: Array, *, midpoint: float, steepness: float, least: float = LEAST_BEST) -> Array:
    """Similarity with its contrast raised: strictly increasing in [0, 1]; midpoint 0 leaves it as it is.

        Sim' = Sim^a / (Sim^a + m^a),   m = midpoint * max(best Sim, least)

    An encoder's cosines crowd into a narrow band, so that in (3) and (7) a second of waiting outweighs the whole
    difference between a tool that fits and one that does not (docs/decisions/0002-similarity.md). What has the share
    `midpoint` of the best counts one half; where even the best is below `least`, all of them count less. Shapes: (N,).

    >>> calibrated(np.array([0.1, 0.35, 0.5]), midpoint=0.7, steepness=6.0).round(2)
    array([0.  , 0.5 , 0.89])
    >>> calibrated(np.array([0.1]), midpoint=0.7, steepness=6.0, least=0.2).round(2)
    array([0.12])
    >>> calibrated(np.array([0.25]), midpoint=0.0, steepness=6.0)
    array([0.25])
    """
    if midpoint == 0 or not len(similarity):
        return similarity
    raised = similarity**steepness
    return raised / (raised + (midpoint * max(float(similarity.max()), least)) ** steepness)


def utility(similarity: Array, cost_s: Array, *, alpha: float | Array) -> Array:
    """Similarity less the weighted expected cost: EHRR (3) with alpha_s, (7) with alpha_t.

        U = Sim - alpha * C

    Shapes: (N,) each. Units: [0, 1], s; alpha in 1/s.

    >>> utility(np.array([0.75, 0.85]), np.array([1.78, 3.33]), alpha=0.1).round(3)      # Table I
    array([0.572, 0.517])
    """
    return similarity - alpha * cost_s


def money_cost(price_usd: Array, attempt_success: Array, *, kappa: float | Array, per_attempt: bool) -> Array:
    """The price as seconds, the second term of EHRR (6): kappa * p, or kappa * p / beta where each attempt is billed.

    Shapes: (N,) each. Units: USD per call, probability; kappa in s per USD; result in s. An unpriced tool (NaN) costs
    0 s here: the caller shows it as unpriced, never as free.

    >>> money_cost(np.array([0.02, np.nan]), np.array([0.5, 0.5]), kappa=1.0, per_attempt=True)
    array([0.04, 0.  ])
    """
    paid = np.where(np.isnan(price_usd), 0.0, price_usd)
    return kappa * (paid / attempt_success if per_attempt else paid)


def ranking(utilities: Array, similarity: Array, name_order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows from best to worst: higher utility, then higher similarity, then name.

    `name_order` holds each row's place in alphabetical order. Shapes: (N,) each -> (N,).

    >>> ranking(np.array([0.5, 0.7, 0.5]), np.array([0.6, 0.7, 0.9]), np.array([0, 1, 2])).tolist()
    [1, 2, 0]
    """
    return np.lexsort((name_order, -similarity, -utilities))
