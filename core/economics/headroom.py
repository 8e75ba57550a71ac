"""Headroom: how much dearer, slower or less reliable the winner may become and still win (EHRR (7), solved for each)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Headroom:
    """The highest price (USD), the longest latency (s) and the lowest success at which the tool keeps its lead.

    None means without limit. For a tool that trails, the figures say what it would have to reach; a figure that cannot
    be reached (a negative price or time, a success above 1) is NaN.
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
    """Each figure alone is moved until the tool's utility equals `to_beat`; the others stay. Price is also held to
    the posted price. Units as in EHRR (6), (7).

    >>> h = headroom(similarity=0.75, fixed_s=0.3, latency_s=0.5, success=0.9, post_accept_failure=0.05, price_usd=0.002,
    ...              to_beat=0.483, posted_usd=0.0249, alpha_t=0.25, kappa=1.0, eps=1e-3, per_attempt=False)
    >>> round(h.price_usd, 4), round(h.latency_s, 3), round(h.success, 3)      # Table II: t12 against t13
    (0.0249, 0.611, 0.79)
    """
    if alpha_t == 0:  # cost counts for nothing: similarity alone decides
        if similarity < to_beat:
            return Headroom(np.nan, np.nan, np.nan)
        return Headroom(_within(posted_usd, 0.0, np.inf), None, None)
    beta = max(eps, (1 - post_accept_failure) * success)
    allowed_s = (similarity - to_beat) / alpha_t  # the cost C_ij at which the utilities are equal
    attempt_s = fixed_s + latency_s
    billed = 1 / beta if per_attempt else 1.0
    left_s = allowed_s - attempt_s / beta  # for money
    price = left_s / (kappa * billed) if kappa > 0 else np.inf if left_s >= 0 else -np.inf
    money_s = kappa * price_usd
    if per_attempt:
        attempt_s, time_left_s = attempt_s + money_s, allowed_s
    else:
        time_left_s = allowed_s - money_s
    needed = attempt_s / time_left_s if time_left_s > 0 else np.inf  # the beta at which the utilities are equal
    reachable = needed / (1 - post_accept_failure) if post_accept_failure < 1 else np.inf
    return Headroom(
        price_usd=_within(min(price, posted_usd), 0.0, np.inf),
        latency_s=_within((allowed_s - money_s * billed) * beta - fixed_s, 0.0, np.inf),
        success=0.0 if needed <= eps else _within(reachable, 0.0, 1.0),  # 0: it leads even at the floor
    )


def _within(value: float, low: float, high: float) -> float | None:
    if value == np.inf == high:
        return None
    return float(value) if low <= value <= high else float("nan")
