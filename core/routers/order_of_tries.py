"""Finds the order of tries with the largest expected value (ours; spec, section 7.7).

An agent tries candidates until a try works. A try of tool j succeeds if the tool fits (chance p_fit) and delivers
(chance s_j = r~_j (1 - pfail_j)):

    P_j   = p_fit_j * s_j                                 chance that the try solves the sub-task
    c_j   = money_j + (1 - P_j) * w_j                     cost of the try, USD: price and time, and w if it was wrong
    value = sum over tries of [chance that it comes to this try] * (P_j V - c_j)

For independent tries the best order is by P_j / c_j, as long as P_j V > c_j (optimal search; Weitzman 1979 is the general
case). Tries are not independent: rival tools (one equal function set) fit together or not at all. After a rival failed, the
others are less likely to fit. A failure of its server does not affect the rivals. With f_g, the chance that
set g fits, and q_j = p_fit_j / f_g, the chance that all tries of a set T_g fail is

    1 - f_g + f_g * prod over T_g of (1 - q_j s_j)

and sets are independent of each other. All orders of the best tools are compared, so the result is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.routers.utility import Array, Rows

LARGEST_SEARCH = 6
POOL, POOL_OF_LONG_ORDERS = 12, 8  # number of tools to search over, by value alone; fewer beyond three tries
EQUAL = 1e-12  # values that differ by less differ by rounding: then the cost decides


@dataclass(frozen=True, slots=True)
class Tries:
    """Figures of N tools that may be tried, (N,) each. `money_usd` is price and time of one try in USD. `wrong_usd` (w) is the extra
    cost of a try that does not solve the sub-task. `rivals` numbers each tool's equal set."""

    p_fit: Array
    delivery: Array
    money_usd: Array
    wrong_usd: Array
    rivals: NDArray[np.int64]

    def value_usd(self, worth_usd: float) -> Array:
        """(N,) the expected value of one try of each tool alone, P_j V - c_j."""
        chances = self.p_fit * self.delivery
        return chances * worth_usd - self.money_usd - (1 - chances) * self.wrong_usd


@dataclass(frozen=True, slots=True)
class Order:
    """Tools in the order of their tries. Per try: the `chance` that it solves the sub-task once reached, its `cost_usd`, and the
    chance that it is `reached`. `value_usd` is the expected value of the whole order."""

    rows: tuple[int, ...]
    chance: tuple[float, ...]
    cost_usd: tuple[float, ...]
    reached: tuple[float, ...]
    value_usd: float


def searched(gain: Array, money_usd: Array, names: Rows, most: int) -> Rows:
    """The tools worth a try, best first. The search covers them. Ties go to the cheaper tool, then by name."""
    best = np.lexsort((names, money_usd, -gain))[: POOL if most <= 3 else POOL_OF_LONG_ORDERS]
    return best[gain[best] > 0]


def shares(p_fit: Array, delivery: Array, rivals: Rows, rows: Rows) -> dict[str, Array]:
    """`fits` and `share` of `order_lines` for some tools."""
    fits = np.array([p_fit[rivals == rivals[row]].max() for row in rows], dtype=np.float64)
    share = np.divide(p_fit[rows], fits, out=np.zeros(len(rows)), where=fits > 0) * delivery[rows]
    return {"fits": fits, "share": share}


def evaluated(tries: Tries, rows: Sequence[int], *, worth_usd: float) -> Order:
    fits = _set_fit(tries, rows)
    chance, cost, reach = list[float](), list[float](), list[float]()
    survival, failed, value = 1.0, dict[int, float](), 0.0
    for row in rows:
        p, failed_after = _try(tries, fits, failed, row)
        price = float(tries.money_usd[row]) + (1 - p) * float(tries.wrong_usd[row])
        chance.append(p)
        cost.append(price)
        reach.append(survival)
        value += survival * (p * worth_usd - price)
        survival *= 1 - p
        failed = failed_after
    return Order(tuple(int(row) for row in rows), tuple(chance), tuple(cost), tuple(reach), value)


def tries_after(tries: Tries, rows: Sequence[int]) -> Tries:
    """The tries after these have failed: rivals of a failed tool are less likely to fit."""
    fits, failed, p_fit = _set_fit(tries, rows), dict[int, float](), tries.p_fit.copy()
    for row in rows:
        _, failed = _try(tries, fits, failed, row)
    for group, product in failed.items():
        remaining = 1 - fits[group] + fits[group] * product
        p_fit[tries.rivals == group] *= product / remaining if remaining > 0 else 1.0
    return replace(tries, p_fit=p_fit)


def worth_of_next(tries: Tries, order: Order) -> tuple[int, float] | None:
    """The next tool that becomes worth a try as V grows, and that V in USD. Returns None if no other tool can succeed."""
    chances = tries_after(tries, order.rows).p_fit * tries.delivery
    chances[list(order.rows)] = 0.0
    costs = tries.money_usd + (1 - chances) * tries.wrong_usd
    worth = np.divide(costs, chances, out=np.full_like(chances, np.inf), where=chances > 0)
    if not np.isfinite(worth).any():
        return None
    best = int(worth.argmin())
    return best, float(worth[best])


def _try(tries: Tries, fits: dict[int, float], failed: dict[int, float], row: int) -> tuple[float, dict[int, float]]:
    """The chance that this try succeeds after the failed tries, and `failed` with this try added.

    `failed` holds the product of (1 - q_j s_j) over the failed tries of each set.
    """
    group = int(tries.rivals[row])
    fit = fits[group]
    if fit <= 0:
        return 0.0, failed
    product = failed.get(group, 1.0)
    still = fit * product / (1 - fit + fit * product) if fit < 1 or product > 0 else 1.0
    q = float(tries.p_fit[row]) / fit * float(tries.delivery[row])
    return still * q, {**failed, group: product * (1 - q)}


def _set_fit(tries: Tries, rows: Sequence[int]) -> dict[int, float]:
    """The chance that each set of these rows fits, which is the chance of its likeliest tool."""
    groups = {int(tries.rivals[row]) for row in rows}
    return {group: float(tries.p_fit[tries.rivals == group].max()) for group in groups}


# All orders of a few tries: the value of each is a straight line in each price of the sub-task
#
# value = V solved - price - time / kappa - w wrong - w_write unsafe


@dataclass(frozen=True, slots=True)
class OrderLines:
    """O orders, with the empty order: `orders` (O, most) are tools, -1 beyond the last. (O,) each: the chance that the sub-task
    is solved, and the expected payment (USD), wait (s), wrong tries, and wrong tries of tools that write."""

    orders: Rows
    solved: Array
    price_usd: Array
    time_s: Array
    wrong: Array
    unsafe: Array

    def best(self, value: Array) -> tuple[int, ...]:
        """The order of the largest value (O,). Of several equal orders the first by its tools wins."""
        tied = np.flatnonzero(value >= value.max() - EQUAL)
        return min(tuple(row for row in order if row >= 0) for order in self.orders[tied].tolist())


def order_lines(
    *, fits: Array, share: Array, price_usd: Array, time_s: Array, writes: Array, rivals: Rows, most: int
) -> OrderLines:
    """All orders of at most `most` of K tools. `fits` (K,) is the chance that a tool's set of rivals fits, `share` the chance that one
    call succeeds if the set fits: p_fit / fits times its delivery.

    >>> fits, share = np.array([0.8, 0.5]), np.array([0.9, 1.0])
    >>> lines = order_lines(fits=fits, share=share, price_usd=fits, time_s=fits, writes=fits, rivals=np.arange(2), most=2)
    >>> lines.orders[:, 0].tolist(), lines.solved.round(2).tolist()
    ([-1, 0, 1, 0, 1], [0.0, 0.72, 0.5, 0.86, 0.86])
    """
    nothing = np.zeros(1)
    parts: list[tuple[Rows | Array, ...]] = [(np.full((1, most), -1), nothing, nothing, nothing, nothing, nothing)]
    for size in range(1, min(most, len(fits)) + 1):
        orders = _orders(len(fits), size)
        reached = np.ones(len(orders))
        totals = [np.zeros(len(orders)) for _ in range(5)]
        for place in range(size):
            rows = orders[:, place]
            failure = np.ones(len(orders))
            for earlier in range(place):
                earlier_rows = orders[:, earlier]
                failure *= np.where(rivals[earlier_rows] == rivals[rows], 1 - share[earlier_rows], 1.0)
            remaining = 1 - fits[rows] + fits[rows] * failure
            still = np.divide(fits[rows] * failure, remaining, out=np.ones_like(remaining), where=remaining > 0)
            chance = still * share[rows]
            figures = (chance, price_usd[rows], time_s[rows], 1 - chance, (1 - chance) * writes[rows])
            totals = [total + reached * expected for total, expected in zip(totals, figures, strict=True)]
            reached = reached * (1 - chance)
        padded = np.pad(orders, ((0, 0), (0, most - size)), constant_values=-1)
        parts.append((padded, *totals))
    columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return OrderLines(*columns)


@lru_cache(maxsize=32)
def _orders(count: int, size: int) -> Rows:
    return np.array(list(itertools.permutations(range(count), size)), dtype=np.int64).reshape(-1, size)


def upper_envelope(a: Array, s: Array, low: float, high: float) -> list[tuple[float, int]]:
    """The highest of N lines a + s z in [low, high]: pairs of the z at which a line begins to be highest, and its row.

    >>> upper_envelope(np.array([0.0, -1.0, -0.2]), np.array([0.0, 1.0, 0.4]), 0.0, 9.0)
    [(0.0, 0), (0.5, 2), (1.3333333333333335, 1)]
    """
    values = a + s * low
    best = int(np.lexsort((-s, -values))[0])
    pieces = [(low, best)]
    while True:
        steeper = np.flatnonzero(s > s[best])
        meets = (a[best] - a[steeper]) / (s[steeper] - s[best])
        if not len(meets) or not meets.min() < high:
            return pieces
        z = max(low, float(meets.min()))
        best = int(steeper[np.lexsort((-s[steeper], meets))[0]])
        pieces.append((z, best))
