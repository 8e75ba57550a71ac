"""Utilities and their ranking: EHRR (1), (3), (6), (7), (9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
NONE = -1  # marks unused places in rows of candidates

# Expected time to success: latency and reliability as one figure in seconds, EHRR (2) and the time term of (6)


def conservative_success(success: Array, variance: Array, *, eps: float | Array) -> Array:
    """The success estimate less one standard deviation, EHRR section III.

        r~_i = max(eps, r_i - sqrt(var_i))

    Shapes: (S,) each. Units: probabilities. Raises ValueError if a variance is negative.

    >>> conservative_success(np.array([0.9]), np.array([0.01]), eps=1e-3).round(3)
    array([0.8])
    """
    if (variance < 0).any():
        raise ValueError("a variance is negative")
    return np.maximum(eps, success - np.sqrt(variance))


def expected_time_to_success(
    fixed_s: Array, call_s: Array, success: Array, post_accept_failure: Array, *, eps: float | Array
) -> Array:
    """Expected seconds until a call succeeds under geometric retries, EHRR (2); Lemma 1 and Corollary 1.

        C_i = (G_i + L_call_i) / max(eps, (1 - pfail_i) * r~_i)

    With the tool's latency and success, the expression is the time term of (6).
    Shapes: (N,) each. Units: s, s, probability, probability; result in s.
    Raises ValueError if a time is negative.

    >>> g, call, r, pfail = (np.array(x) for x in ([0.3, 0.6], [0.9, 0.6], [0.709, 0.45], [0.05, 0.20]))
    >>> expected_time_to_success(g, call, r, pfail, eps=1e-3).round(2)      # Table I
    array([1.78, 3.33])
    """
    if (fixed_s < 0).any() or (call_s < 0).any():
        raise ValueError("a time is negative")
    return (fixed_s + call_s) / attempt_success(success, post_accept_failure, eps=eps)


def attempt_success(success: Array, post_accept_failure: Array, *, eps: float | Array) -> Array:
    """The probability that one attempt succeeds, kept away from zero: max(eps, (1 - pfail) * r).

    >>> attempt_success(np.array([0.9, 0.0]), np.array([0.5, 0.0]), eps=1e-3)
    array([0.45 , 0.001])
    """
    return np.maximum(eps, (1.0 - post_accept_failure) * success)


LEAST_BEST = 0.2  # of unrelated texts MiniLM says up to about this much


def calibrated(similarity: Array, *, midpoint: float | Array, steepness: float | Array) -> Array:
    """Similarity with its contrast raised: strictly increasing in [0, 1]. Midpoint 0 leaves it unchanged.

        Sim' = Sim^a / (Sim^a + m^a),   m = midpoint * max(best Sim, LEAST_BEST)

    An encoder's cosines crowd into a narrow band, so that in (3) and (7) a second of waiting outweighs the whole
    difference between fitting and unfitting tools (docs/decisions/0002-similarity.md). A similarity of `midpoint`
    times the best counts one half. If the best is below LEAST_BEST, all similarities count less. Shapes: (..., N), with columns of midpoints
    and steepnesses at several points.

    >>> calibrated(np.array([0.1, 0.35, 0.5]), midpoint=0.7, steepness=6.0).round(2)
    array([0.  , 0.5 , 0.89])
    >>> calibrated(np.array([0.1]), midpoint=0.7, steepness=6.0).round(2)
    array([0.12])
    >>> calibrated(np.array([0.0]), midpoint=0.7, steepness=1.0)
    array([0.])
    >>> calibrated(np.array([0.25]), midpoint=0.0, steepness=6.0)
    array([0.25])
    """
    if not np.any(midpoint):
        return similarity
    best = np.maximum(similarity.max(axis=-1, keepdims=True, initial=0.0), LEAST_BEST)
    # two logarithms and an exponential take half the time of powers; a similarity of 0 becomes 1 / (1 + inf), which is 0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        below = np.exp(steepness * (np.log(midpoint * best) - np.log(similarity)))
    below += 1
    np.reciprocal(below, out=below)
    np.copyto(below, similarity, where=np.equal(midpoint, 0))
    return below


def utility(similarity: Array, cost_s: Array, *, alpha: float | Array) -> Array:
    """Similarity less the weighted expected cost: EHRR (3) with alpha_s, (7) with alpha_t.

        U = Sim - alpha * C

    Shapes: (N,) each. Units: [0, 1], s; alpha in 1/s.

    >>> utility(np.array([0.75, 0.85]), np.array([1.78, 3.33]), alpha=0.1).round(3)      # Table I
    array([0.572, 0.517])
    """
    return similarity - alpha * cost_s


def money_cost(price_usd: Array, attempt_success: Array, *, kappa: float | Array, per_attempt: bool) -> Array:
    """The price as seconds, the second term of EHRR (6): kappa * p, or kappa * p / beta if each attempt is billed.

    Shapes: (N,) each. Units: USD per call, probability; kappa in s per USD; result in s. An unpriced tool (NaN) costs
    0 s here. The caller shows it as unpriced, never as free.

    >>> money_cost(np.array([0.02, np.nan]), np.array([0.5, 0.5]), kappa=1.0, per_attempt=True)
    array([0.04, 0.  ])
    """
    paid_usd = np.where(np.isnan(price_usd), 0.0, price_usd)
    return kappa * (paid_usd / attempt_success if per_attempt else paid_usd)


def ranking(utilities: Array, similarity: Array, name_order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows from best to worst: higher utility, then higher similarity, then name.

    `name_order` holds each row's place in alphabetical order. Shapes: (N,) each -> (N,).

    >>> ranking(np.array([0.5, 0.7, 0.5]), np.array([0.6, 0.7, 0.9]), np.array([0, 1, 2])).tolist()
    [1, 2, 0]
    """
    return np.lexsort((name_order, -similarity, -utilities))


def highest(utilities: Array, similarity: Array, name_order: Rows, k: int | Array) -> Mask:
    """(..., N) mask of the k highest utilities: the first k of `ranking`, without a sort. `k` is a number or a column (P, 1).

    >>> highest(np.array([0.5, 0.7, 0.5]), np.array([0.6, 0.7, 0.9]), np.array([0, 1, 2]), 2).tolist()
    [False, True, True]
    """
    count = np.minimum(np.atleast_1d(k), utilities.shape[-1]).astype(np.int64)
    descending = -utilities
    edge = at_rows(np.partition(descending, np.unique(count) - 1, axis=-1), count - 1)
    mask = descending <= edge
    count = count[..., 0]
    for point in map(tuple, np.argwhere(np.count_nonzero(mask, axis=-1) != count)):  # ties at the edge
        u, s = (np.broadcast_to(array, mask.shape)[point] for array in (utilities, similarity))
        first = ranking(u, s, name_order)[: int(np.broadcast_to(count, mask.shape[:-1])[point])]
        mask[point] = False
        mask[(*point, first)] = True
    return mask


def best_rows(utilities: Array, similarity: Array, rows: Rows, name_order: Rows, n: int | Array) -> Rows:
    """(..., n) the n of `rows` (..., K) of highest utility, best first: the first n of `ranking`; NONE beyond.

    `utilities` (..., K) are minus infinity for rows out of the race. `n` is a number or a column (P, 1).

    >>> best_rows(np.array([0.5, 0.7, -np.inf]), np.zeros(3), np.array([4, 5, 6]), np.arange(9), 3).tolist()
    [5, 4, -1]
    """
    most, names = int(np.max(n)), name_order[np.minimum(rows, len(name_order) - 1)]
    width = min(most, utilities.shape[-1])
    best: Rows = np.lexsort(np.broadcast_arrays(names, -similarity, -utilities))[..., :width]
    values: Array = at_rows(utilities, best)
    result = np.full((*utilities.shape[:-1], most), NONE, dtype=np.int64)
    result[..., :width] = np.where(np.isfinite(values) & (np.arange(width) < n), at_rows(rows, best), NONE)
    return result


def at_rows(values: NDArray[Any], rows: Rows) -> Any:
    """(..., K) the values (..., N) at `rows` (..., K). Leading axes broadcast."""
    if values.ndim == 1:
        return values[rows]
    axes = max(values.ndim, rows.ndim)
    value_shape, row_shape = ((1,) * (axes - array.ndim) + array.shape for array in (values, rows))
    return np.take_along_axis(values.reshape(value_shape), rows.reshape(row_shape), axis=-1)


# Headroom: how much dearer, slower or less reliable the winner may become and still win, EHRR (7) solved for each


@dataclass(frozen=True, slots=True)
class Headroom:
    """The highest price (USD), the longest latency (s) and the lowest success at which the tool keeps its lead.

    None means no limit. For a tool that trails, they are the figures it would have to reach. An unreachable figure (a negative price
    or time, a success above 1) is NaN.
    """

    price_usd: float | None
    latency_s: float | None
    success: float | None


def headroom(
    *,
    similarity: float,
    fixed_s: float,
    latency_s: float,
    success: float,
    post_accept_failure: float,
    price_usd: float,
    to_beat: float,
    posted_usd: float,
    alpha_t: float,
    kappa: float,
    eps: float,
    per_attempt: bool,
) -> Headroom:
    """Moves each figure alone until the tool's utility equals `to_beat`. The price is also bounded by the posted
    price. Units as in EHRR (6), (7).

    >>> h = headroom(similarity=0.75, fixed_s=0.3, latency_s=0.5, success=0.9, post_accept_failure=0.05, price_usd=0.002,
    ...              to_beat=0.483, posted_usd=0.0249, alpha_t=0.25, kappa=1.0, eps=1e-3, per_attempt=False)
    >>> round(h.price_usd, 4), round(h.latency_s, 3), round(h.success, 3)      # Table II: t12 against t13
    (0.0249, 0.611, 0.79)
    """
    if alpha_t == 0:  # similarity alone decides
        if similarity < to_beat:
            return Headroom(np.nan, np.nan, np.nan)
        return Headroom(_within(posted_usd, 0.0, np.inf), None, None)
    beta = max(eps, (1 - post_accept_failure) * success)
    allowed_cost_s = (similarity - to_beat) / alpha_t  # the cost C_ij at which the utilities are equal
    attempt_s = fixed_s + latency_s
    billed = 1 / beta if per_attempt else 1.0
    left_s = allowed_cost_s - attempt_s / beta  # for money
    price = left_s / (kappa * billed) if kappa > 0 else np.inf if left_s >= 0 else -np.inf
    money_s = kappa * price_usd
    if per_attempt:
        attempt_s, time_left_s = attempt_s + money_s, allowed_cost_s
    else:
        time_left_s = allowed_cost_s - money_s
    needed_success = attempt_s / time_left_s if time_left_s > 0 else np.inf  # the beta at which the utilities are equal
    success_needed = needed_success / (1 - post_accept_failure) if post_accept_failure < 1 else np.inf
    return Headroom(
        price_usd=_within(min(price, posted_usd), 0.0, np.inf),
        latency_s=_within((allowed_cost_s - money_s * billed) * beta - fixed_s, 0.0, np.inf),
        success=0.0 if needed_success <= eps else _within(success_needed, 0.0, 1.0),  # 0: it leads even at the floor
    )


def _within(value: float, low: float, high: float) -> float | None:
    if value == np.inf == high:
        return None
    return float(value) if low <= value <= high else float("nan")


# Exploration: the success that a decision uses while it is uncertain (ours)

LEAST_CALLS = 2.0  # a figure without recent calls is as vague as after two calls
SURE = 1e-3  # no probability counts as nearer to 0 or 1 than this


def effective_calls(calls: NDArray[np.int64], idle: NDArray[np.int64], *, rate: float, memory: float) -> Array:
    """The number of calls that a running probability of EHRR (8) is worth.

        n = 2 + min(calls, (2 - lambda) / lambda) * 2^(-idle / memory)

    A moving average with coefficient lambda is as precise as a mean of (2 - lambda) / lambda calls, Corollary 3, for any
    number of calls. `idle` counts the outcomes elsewhere since the last call. After `memory` of them half is forgotten.
    Shapes: (N,) each.

    >>> effective_calls(np.array([0, 1, 500, 500]), np.array([0, 0, 0, 50]), rate=0.15, memory=50).round(2).tolist()
    [2.0, 3.0, 14.33, 8.17]
    """
    return LEAST_CALLS + np.minimum(calls, (2.0 - rate) / rate) * np.exp2(-idle / memory)


def thompson(probability: Array, calls: Array, rng: np.random.Generator) -> Array:
    """One draw of each probability from Beta(p n, (1 - p) n). Shapes: (N,) each.

    >>> drawn = thompson(np.full(9999, 0.4), np.full(9999, 14.0), np.random.default_rng(1))
    >>> round(float(drawn.mean()), 2), round(float(drawn.std()), 2)      # sqrt(p (1 - p) / (n + 1))
    (0.4, 0.13)
    """
    p = np.clip(probability, SURE, 1.0 - SURE)
    return rng.beta(p * calls, (1.0 - p) * calls)


def optimistic(probability: Array, calls: Array, *, total: int, weight: float) -> Array:
    """Each probability with a bonus for few calls: min(1, p + c sqrt(ln(1 + N) / n)), N outcomes in all.

    Shapes: (N,) each.

    >>> optimistic(np.array([0.4, 0.4]), np.array([14.0, 2.0]), total=300, weight=0.3).round(2).tolist()
    [0.59, 0.91]
    """
    return np.minimum(1.0, probability + weight * np.sqrt(np.log1p(total) / calls))
