"""Every order of a few tries with what it is expected to take: its value is a straight line in each price of the sub-task.

value = V solved - price - time / kappa - w wrong - w_write unsafe          `core.economics.order_of_tries`
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.economics.time_to_success import Array

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OrderLines:
    """O orders, the one without a try among them: `orders` (O, most) are tools, -1 where there are no more. (O,) each: the chance
    that the sub-task is solved, and what is expected to be paid and waited (USD, s) and to go wrong (tries; of tools that write).
    """

    orders: Rows
    solved: Array
    price_usd: Array
    time_s: Array
    wrong: Array
    unsafe: Array


def order_lines(
    *, fits: Array, share: Array, price_usd: Array, time_s: Array, writes: Array, rivals: Rows, most: int
) -> OrderLines:
    """Of all orders of at most `most` of K tools: `fits` (K,) is the chance that a tool's set of rivals fits, `share` the chance that
    one call of it succeeds where the set fits, p_fit / fits times its delivery.

    >>> one, two = np.array([0.8, 0.5]), np.array([0.9, 1.0])
    >>> found = order_lines(fits=one, share=two, price_usd=one, time_s=one, writes=one, rivals=np.array([0, 1]), most=2)
    >>> found.orders[:, 0].tolist(), found.solved.round(2).tolist()
    ([-1, 0, 1, 0, 1], [0.0, 0.72, 0.5, 0.86, 0.86])
    """
    nothing = np.zeros(1)
    parts: list[tuple[Rows | Array, ...]] = [(np.full((1, most), -1), nothing, nothing, nothing, nothing, nothing)]
    for size in range(1, min(most, len(fits)) + 1):
        orders = _orders(len(fits), size)
        reached = np.ones(len(orders))
        totals = [np.zeros(len(orders)) for _ in range(5)]
        for place in range(size):
            here = orders[:, place]
            failed = np.ones(len(orders))
            for earlier in range(place):
                before = orders[:, earlier]
                failed *= np.where(rivals[before] == rivals[here], 1 - share[before], 1.0)
            left = 1 - fits[here] + fits[here] * failed
            still = np.divide(fits[here] * failed, left, out=np.ones_like(left), where=left > 0)
            chance = still * share[here]
            known = (chance, price_usd[here], time_s[here], 1 - chance, (1 - chance) * writes[here])
            totals = [total + reached * expected for total, expected in zip(totals, known, strict=True)]
            reached = reached * (1 - chance)
        padded = np.pad(orders, ((0, 0), (0, most - size)), constant_values=-1)
        parts.append((padded, *totals))
    columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return OrderLines(*columns)


@lru_cache(maxsize=32)
def _orders(count: int, size: int) -> Rows:
    return np.array(list(itertools.permutations(range(count), size)), dtype=np.int64).reshape(-1, size)


def upper_envelope(a: Array, s: Array, low: float, high: float) -> list[tuple[float, int]]:
    """Which of N lines a + s z is the highest in [low, high], from which z on.

    >>> upper_envelope(np.array([0.0, -1.0, -0.2]), np.array([0.0, 1.0, 0.4]), 0.0, 9.0)
    [(0.0, 0), (0.5, 2), (1.3333333333333335, 1)]
    """
    values = a + s * low
    best = int(np.lexsort((-s, -values))[0])
    found = [(low, best)]
    while True:
        steeper = np.flatnonzero(s > s[best])
        meets = (a[best] - a[steeper]) / (s[steeper] - s[best])
        if not len(meets) or not meets.min() < high:
            return found
        z = max(low, float(meets.min()))
        best = int(steeper[np.lexsort((-s[steeper], meets))[0]])
        found.append((z, best))
