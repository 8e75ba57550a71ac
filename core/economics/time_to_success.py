"""Expected time to success: latency and reliability as one figure in seconds (EHRR (2) and the time term of (6))."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def conservative_success(success: Array, variance: Array, *, eps: float | Array) -> Array:
    """The success estimate less one standard deviation, EHRR section III.

        r~_i = max(eps, r_i - sqrt(var_i))

    Shapes: (S,) each. Units: probabilities. Raises ValueError where a variance is negative.

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

    The same expression with the tool's latency and success is the time term of (6).
    Shapes: (N,) each. Units: s, s, probability, probability; result in s.
    Raises ValueError where a time is negative.

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
