"""One sub-task under the router of expected value, decided for other prices of a solution, a wrong call and time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.domain.trace import Array
from core.economics.crossings import Lines, crossings, relevant, straight
from core.economics.order_lines import OrderLines, order_lines, upper_envelope
from core.economics.order_of_tries import POOL, POOL_OF_LONG_ORDERS
from core.routers.context import RoutingContext
from core.routers.expected_value import ExpectedValueParameters, Prospects, chosen_order, rivals_of

VALUES = ("worth_usd", "wrong_usd", "unsafe_usd", "kappa")
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ValueCase:
    """A sub-task over a catalog. `likeness` (K,) rows -> (K, K) cosines between tools; `refused` says why the sub-task is turned
    down, empty where it is not."""

    context: RoutingContext
    known: Prospects
    likeness: Callable[[Rows], Array]
    parameters: ExpectedValueParameters
    refused: str = ""
    orders: dict[tuple[int, ...], OrderLines] = field(default_factory=dict[tuple[int, ...], OrderLines])

    def candidates(self, name: str, value: float) -> tuple[int, ...]:
        """The router's candidates with one parameter at another value."""
        if self.refused:
            return ()
        asked = replace(self.parameters, **{name: value})
        return chosen_order(self.known, self.likeness, self.context, asked)[2]

    def events(self, name: str, low: float, high: float) -> Array:
        """The values in (low, high), sorted, at which the candidates may change; `name` is one of VALUES.

        Which tools are searched changes where tools pass each other at the edge of the pool; for one pool the value of each
        order is a straight line in the parameter (in 1 / kappa), and the best order is their upper envelope.
        """
        inverse = name == "kappa"
        ends = (1 / high, 1 / low) if inverse else (low, high)
        lines = self._alone(name)
        rows = relevant(lines, *ends, keep=POOL)
        few, sizes = lines.rows(rows), {POOL} if self._most <= 3 else {POOL, POOL_OF_LONG_ORDERS}
        edges = [crossings(few, *ends, keep=size, ordered=False) for size in sizes]
        cells = np.unique(np.concatenate([ends, *edges]))
        likeness = self.likeness(rows)
        found, last = list[float](), ()
        for start, end in pairwise(cells.tolist()):
            values = few.at(np.array([start, (start + end) / 2, end]))
            orders = self._searched(rows, likeness, values)
            for z, best in upper_envelope(*self._of(name, orders), start, end):
                order = tuple(orders.orders[best].tolist())
                found += [z] if order != last else []
                last = order
        y = np.unique(found[1:])
        if self._most < self.parameters.n:  # beyond the search, tools follow by their value alone
            y = np.unique(np.concatenate([y, self._followers(name, *ends)]))
        values = 1 / y[::-1] if inverse else y
        return values[(values > low) & (values < high)]

    def lead(self, name: str, value: float, winner: int) -> float:
        """How much more the best order is worth in USD, with one parameter at another value, than the best that begins with
        another tool than the winner, or with none."""
        orders, values = self._orders_at(name, value)
        begins = orders.orders[:, 0] == winner
        return float(values[begins].max(initial=0.0) - values[~begins].max())

    def value(self, name: str, value: float) -> float:
        """The expected value in USD of the best order of at most six tries, with one parameter at another value."""
        return float(self._orders_at(name, value)[1].max())

    def expected(self, worth_usd: float) -> tuple[float, float]:
        """Of the best order at V: the chance that it solves the sub-task, and what it is expected to cost in USD."""
        orders, values = self._orders_at("worth_usd", worth_usd)
        best = int(values.argmax())
        solved = float(orders.solved[best])
        return solved, worth_usd * solved - float(values[best])

    def _orders_at(self, name: str, value: float) -> tuple[OrderLines, Array]:
        z = 1 / value if name == "kappa" else value
        alone = self._alone(name).at(np.array([z]))
        rows = np.argsort(-alone[0], kind="stable")[:POOL]
        orders = self._searched(rows, self.likeness(rows), np.repeat(alone[:, rows], 3, axis=0))
        a, s = self._of(name, orders)
        return orders, a + s * z

    @property
    def _most(self) -> int:
        return min(self.parameters.n, 6)

    def _searched(self, rows: Rows, likeness: Array, values: Array) -> OrderLines:
        """All orders of the tools that are searched while the pool stays the same; `values` (3, R) are those of one try of each tool
        at the low end, in the middle and at the high end."""
        pool = np.argsort(-values[1], kind="stable")[:POOL]
        sets = rivals_of(pool, likeness[np.ix_(pool, pool)], len(rows))[pool]
        tried = pool[: POOL if self._most <= 3 else POOL_OF_LONG_ORDERS]
        tried = np.sort(tried[(values[[0, 2]][:, tried] > 0).any(axis=0)])
        rivals = len(set(sets.tolist())) < len(pool)
        key = (*rows[tried].tolist(), -1, *(rows[pool].tolist() if rivals else ()))
        if key not in self.orders:
            self.orders[key] = self._lines(rows, pool, sets, tried)
        return self.orders[key]

    def _lines(self, rows: Rows, pool: Rows, sets: Rows, tried: Rows) -> OrderLines:
        p_fit = self.known.p_fit[rows]
        group = np.full(len(rows), -1)
        group[pool] = sets
        fits = np.array([p_fit[pool[sets == group[row]]].max() for row in tried])
        chosen = rows[tried]
        found = order_lines(
            fits=fits,
            share=np.divide(p_fit[tried], fits, out=np.zeros(len(tried)), where=fits > 0) * self.known.delivery[chosen],
            price_usd=self.known.price_usd[chosen],
            time_s=self.known.time_s[chosen],
            writes=self.known.writes[chosen],
            rivals=group[tried],
            most=self._most,
        )
        return replace(found, orders=np.where(found.orders < 0, -1, np.append(chosen, -1)[found.orders]))

    def _of(self, name: str, orders: OrderLines) -> tuple[Array, Array]:
        """The value of each order as a + s z over the parameter, or over 1 / kappa."""
        p = self.parameters
        terms = {
            "worth_usd": (p.worth_usd, orders.solved),
            "wrong_usd": (p.wrong_usd, -orders.wrong),
            "unsafe_usd": (p.unsafe_usd, -orders.unsafe),
            "kappa": (1 / p.kappa, -orders.time_s),
        }
        a = -orders.price_usd + sum(at * slope for other, (at, slope) in terms.items() if other != name)
        return a, terms[name][1]

    def _alone(self, name: str) -> Lines:
        """The value of one try of each tool, (T,)."""
        alone = self.known.p_fit * self.known.delivery
        one = OrderLines(
            np.arange(len(alone))[:, None],
            alone,
            self.known.price_usd,
            self.known.time_s,
            1 - alone,
            (1 - alone) * self.known.writes,
        )
        a, s = self._of(name, one)
        return straight(a, -s)

    def _followers(self, name: str, low: float, high: float) -> Array:
        lines, keep = self._alone(name), self.parameters.n + 6
        lines = lines.rows(relevant(lines, low, high, keep=keep))
        with_zero = Lines(np.append(lines.a, 0.0), np.append(lines.s, 0.0), np.append(lines.cap, np.inf))
        return crossings(with_zero, low, high, keep=keep)
