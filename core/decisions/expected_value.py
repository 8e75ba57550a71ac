"""A sub-task under the router of expected value, for other prices of a solution, a wrong call and time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.decisions.counterfactuals import NUDGE, Change, Counterfactual, Room, of_knobs
from core.decisions.ehrr_strips import apart
from core.decisions.layer import COLUMNS, FIGURES, FIT, LATENCY, PRICE, SUCCESS, Supposed, layered
from core.decisions.strips import REFUSAL, Strip, against, asked, assembled
from core.domain import units
from core.domain.params import Knob
from core.routers.expected_value import ValueEngine, prospects, rivals_of
from core.routers.order_of_tries import LARGEST_SEARCH, POOL, POOL_OF_LONG_ORDERS, OrderLines, upper_envelope
from core.routers.utility import Array, Rows

# The exact values at which the ranking of straight lines changes
#
# U_i(y) = a_i - s_i * y          i = 1 .. N

NEAR = 1e-9  # utilities this near count as equal; the caller drops a crossing too many
MANY = 200


@dataclass(frozen=True, slots=True)
class Lines:
    """N lines, shapes (N,)."""

    a: Array
    s: Array

    def at(self, y: Array) -> Array:
        """(E,) -> (E, N)."""
        return self.a - self.s * y[:, None]

    def rows(self, rows: NDArray[np.int64]) -> Lines:
        return Lines(self.a[rows], self.s[rows])


def crossings(lines: Lines, low: float, high: float, *, keep: int, ordered: bool = True) -> Array:
    """Every y in (low, high) at which any of the `keep` highest lines meets another line, and perhaps a few more.

    Without `ordered`, only values at which the set of the highest lines changes.

    >>> crossings(Lines(np.array([1.0, 0.75, 0.0]), np.array([1.0, 0.5, 0.0])), 0.0, 2.0, keep=1).tolist()
    [0.5, 1.5]
    """
    first, second = np.triu_indices(len(lines.a), 1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        y = (lines.a[first] - lines.a[second]) / (lines.s[first] - lines.s[second])
    inside = (y > low) & (y < high)
    y, first, second = y[inside], first[inside], second[inside]
    if not len(y):
        return y
    values, rows = lines.at(y), np.arange(len(y))
    value, other = values[rows, first], values[rows, second]
    top = (values > np.maximum(value, other)[:, None] + NEAR).sum(axis=1) < keep
    if not ordered:
        top &= (values >= np.minimum(value, other)[:, None] - NEAR).sum(axis=1) > keep
    return np.unique(y[top])


def relevant(lines: Lines, low: float, high: float, *, keep: int) -> NDArray[np.int64]:
    """Rows that may be among the `keep` highest somewhere in [low, high]: fewer than `keep` lines are higher throughout."""
    ends = lines.at(np.array([low, high]))
    rows = np.arange(len(lines.a))
    if len(rows) > MANY:  # lines that a few high lines exceed go first
        heights = lines.at(np.array([low, (low + high) / 2, high]))
        high_ones = np.unique(np.argpartition(-heights, 2 * keep, axis=1)[:, : 2 * keep])
        rows = rows[_higher(ends[:, high_ones], ends).sum(axis=0) < keep]
    return rows[_higher(ends[:, rows], ends[:, rows]).sum(axis=0) < keep]


def _higher(some: Array, all_lines: Array) -> NDArray[np.bool_]:
    """(K, N) whether each of some lines is higher than each line at both ends, (2, K) and (2, N)."""
    return (some[0][:, None] > all_lines[0]) & (some[1][:, None] > all_lines[1])


# A sub-task at many values

VALUES = ("worth_usd", "wrong_usd", "unsafe_usd", "kappa")


@dataclass(frozen=True, slots=True)
class ValueCase(ValueEngine):
    """A sub-task over a catalog, at many points of parameters. `refused` is the reason of a refusal, or empty."""

    refused: str = ""

    def candidates(self, name: str, value: float) -> tuple[int, ...]:
        return () if self.refused else self.at(**{name: value}).decided()[2]

    def events(self, name: str, low: float, high: float) -> Array:
        """The values in (low, high), sorted, at which the candidates may change; `name` is one of VALUES.

        The pool of searched tools changes if tools pass each other at its edge. For a fixed pool the value of each order is a
        straight line in the parameter (in 1 / kappa), and the best order is the upper envelope.
        """
        inverse = name == "kappa"
        ends = (1 / high, 1 / low) if inverse else (low, high)
        lines = self._alone(name)
        rows = relevant(lines, *ends, keep=POOL)
        few, sizes = lines.rows(rows), {POOL} if self.most <= 3 else {POOL, POOL_OF_LONG_ORDERS}
        edges = [crossings(few, *ends, keep=size, ordered=False) for size in sizes]
        cells = np.unique(np.concatenate([ends, *edges]))
        likeness = self.likeness(rows)
        bends, last = list[float](), ()
        for start, end in pairwise(cells.tolist()):
            values = few.at(np.array([start, (start + end) / 2, end]))
            orders = self._searched(rows, likeness, values)
            for z, best in upper_envelope(*self._of(name, orders), start, end):
                order = tuple(orders.orders[best].tolist())
                bends += [z] if order != last else []
                last = order
        y = np.unique(bends[1:])
        if self.most < self.parameters.n:  # beyond the search, tools follow by their value alone
            y = np.unique(np.concatenate([y, self._followers(name, *ends)]))
        values = 1 / y[::-1] if inverse else y
        return values[(values > low) & (values < high)]

    def lead(self, name: str, value: float, winner: int) -> float:
        """The lead in USD, with one parameter at another value, of the best order over the best order that does not begin with the
        winner."""
        orders, values = self._orders_at(name, value)
        begins = orders.orders[:, 0] == winner
        return float(values[begins].max(initial=0.0) - values[~begins].max())

    def value(self, name: str, value: float) -> float:
        """The expected value in USD of the best order of at most six tries, with one parameter at another value."""
        return float(self._orders_at(name, value)[1].max())

    def expected(self, worth_usd: float) -> tuple[float, float]:
        """The best order at V: the chance that it solves the sub-task, and its expected cost in USD."""
        orders, values = self._orders_at("worth_usd", worth_usd)
        best = int(values.argmax())
        solved = float(orders.solved[best])
        return solved, worth_usd * solved - float(values[best])

    def _orders_at(self, name: str, value: float) -> tuple[OrderLines, Array]:
        case = self.at(**{name: value})
        lines = case.searched()[-1]
        return lines, case.values(lines)

    def _searched(self, rows: Rows, likeness: Array, values: Array) -> OrderLines:
        """All orders of the searched tools while the pool does not change. `values` (3, R) are the values of a try of each tool at the
        low end, in the middle and at the high end."""
        pool = np.argsort(-values[1], kind="stable")[:POOL]
        rivals = np.arange(len(self.known.p_fit))
        rivals[rows] = rows[rivals_of(pool, likeness[np.ix_(pool, pool)], len(rows))]
        tried = pool[: POOL if self.most <= 3 else POOL_OF_LONG_ORDERS]
        return self.lines(np.sort(rows[tried[(values[[0, 2]][:, tried] > 0).any(axis=0)]]), rivals)

    def _of(self, name: str, orders: OrderLines) -> tuple[Array, Array]:
        """The value of each order as a + s z over the parameter, or over 1 / kappa."""
        p = self.parameters
        terms = {
            "worth_usd": (p.worth_usd, orders.solved),
            "wrong_usd": (p.wrong_usd, -orders.wrong),
            "unsafe_usd": (p.unsafe_usd, -orders.unsafe),
            "kappa": (1 / p.kappa, -orders.time_s),
        }
        a = -orders.price_usd + sum(factor * slope for other, (factor, slope) in terms.items() if other != name)
        return a, terms[name][1]

    def _alone(self, name: str) -> Lines:
        """The value of a try of each tool, (T,)."""
        alone = self.known.p_fit * self.known.delivery
        orders = OrderLines(
            np.arange(len(alone))[:, None],
            alone,
            self.known.price_usd,
            self.known.time_s,
            1 - alone,
            (1 - alone) * self.known.writes,
        )
        a, s = self._of(name, orders)
        return Lines(a, -s)

    def _followers(self, name: str, low: float, high: float) -> Array:
        lines, keep = self._alone(name), self.parameters.n + LONGEST_ORDER
        lines = lines.rows(relevant(lines, low, high, keep=keep))
        with_zero = Lines(np.append(lines.a, 0.0), np.append(lines.s, 0.0))
        return crossings(with_zero, low, high, keep=keep)


# Strips: the values at which the order of tries changes

WORTH, ORDER = "worth a try", "order of tries"
LONGEST_ORDER = LARGEST_SEARCH  # further tools follow by their single value
Order = tuple[int, ...]


def strips(case: ValueCase) -> dict[str, Strip]:
    """The strips of V, w, w of writes, kappa and n. Margins are in USD."""
    knobs = {knob.name: knob for knob in case.parameters.knobs()}
    return {**{name: _of_value(case, knobs[name]) for name in VALUES}, "n": _of_tries(case, knobs["n"])}


def _of_value(case: ValueCase, knob: Knob) -> Strip:
    low, high = float(knob.low or 0.0), float(knob.high or 1.0)
    edges = apart(np.zeros(0) if case.refused else case.events(knob.name, low, high), low, high)
    candidates = [case.candidates(knob.name, float(middle)) for middle in (edges[:-1] + edges[1:]) / 2]
    bounds, orders = _merged(edges.tolist(), candidates)
    values = asked(knob, bounds, getattr(case.parameters, knob.name))
    margins = [
        case.lead(knob.name, value, order[0]) if order else 0.0 for value, order in zip(values, orders, strict=True)
    ]
    return _assembled(case, knob, bounds, orders, margins)


def _of_tries(case: ValueCase, knob: Knob) -> Strip:
    """The strip of n: an order for each number up to six, then beginnings of the order for the highest number."""
    low, high = int(knob.low or 1), int(knob.high or 1)
    few = [case.candidates("n", value) for value in range(low, LONGEST_ORDER + 1)]
    longest = case.candidates("n", high)
    orders = few + [longest[:value] for value in range(LONGEST_ORDER + 1, high + 1)]
    edges = [float(low), *(value + 0.5 for value in range(low, high)), float(high)]
    bounds, distinct = _merged(edges, orders)
    margins = [
        case.at(n=int(value)).lead("worth_usd", case.parameters.worth_usd, order[0]) if order else 0.0
        for value, order in zip(asked(knob, bounds, case.parameters.n), distinct, strict=True)
    ]
    return _assembled(case, knob, bounds, distinct, margins)


def _merged(edges: list[float], orders: list[Order]) -> tuple[list[float], list[Order]]:
    places = [place for place in range(len(orders)) if place == 0 or orders[place] != orders[place - 1]]
    return [*(edges[place] for place in places), edges[-1]], [orders[place] for place in places]


def _assembled(case: ValueCase, knob: Knob, bounds: list[float], orders: list[Order], margins: list[float]) -> Strip:
    return assembled(
        knob, bounds, getattr(case.parameters, knob.name),
        [case.context.tool_ids[order[0]] if order else None for order in orders], margins,
        lambda place: _now(case, orders[place], margins[place]),
        lambda neighbour, place: _change(case, orders[neighbour], orders[place]),
    )  # fmt: skip


def _now(case: ValueCase, order: Order, margin: float) -> tuple[str, str]:
    if case.refused:
        return REFUSAL, case.refused
    if not order:
        return WORTH, "no try is worth its cost"
    return (
        ORDER,
        f"to begin with {case.context.tool_ids[order[0]]} is worth {units.price(margin)} more than any other beginning",
    )


def _change(case: ValueCase, old: Order, new: Order) -> tuple[str, str]:
    names = case.context.tool_ids
    if old and new and old[0] != new[0]:
        loser = against(case.context, case.known.p_fit, old[0], new[0])
        return ORDER, f"{loser} loses the first try to {names[new[0]]}"
    came, left = [row for row in new if row not in old], [row for row in old if row not in new]
    if came and left:
        return ORDER, f"{names[came[0]]} is tried in place of {names[left[0]]}"
    if came or left:
        words = f"a try of {names[came[0]]} becomes" if came else f"a try of {names[left[0]]} is not"
        return WORTH, f"{words} worth its cost{'' if came else ' any more'}"
    swapped = next(place for place in range(len(new)) if old[place] != new[place])
    return ORDER, f"{names[new[swapped]]} is tried before {names[old[swapped]]}"


# The figures with which a tool becomes or remains the first try
#
# Found by bisection between the present figure and the best or worst possible figure. A lower price or latency and a higher success or
# fit never lower the worth of a try, and the orders that begin with it gain most, so that a single limit separates won from lost.

HALVINGS = 40
BEST = {PRICE: 0.0, LATENCY: 0.0, SUCCESS: 1.0, FIT: 1.0}
AT_BEST = {
    PRICE: "for nothing",
    LATENCY: "without any wait",
    SUCCESS: "with a success of 100 %",
    FIT: "with a fit of 100 %",
}


def counterfactual(case: ValueCase, strips: Mapping[str, Strip], row: int) -> Counterfactual:
    tool = case.context.tool_ids[row]
    changes, blocked = of_knobs(case.parameters, strips, tool), dict[str, str]()
    for figure in FIGURES:
        current = figure_now(case, row, figure)
        ahead = first_with(case, row, figure, BEST[figure])
        if case.refused or ahead != row:
            rival = "no try is worth its cost" if ahead is None else f"{case.context.tool_ids[ahead]} is tried first"
            blocked[figure] = "the sub-task is refused" if case.refused else f"even {AT_BEST[figure]} {rival}"
            continue
        then = _limit(case, row, figure, lost=current, won=BEST[figure])
        changes.append(Change(figure, current, then, abs(then - current) / max(current, 1e-9), of_knob=False))
    return Counterfactual(tool, tuple(sorted(changes, key=lambda change: change.size)), blocked)


def room(case: ValueCase) -> Room | None:
    order = case.candidates("worth_usd", case.parameters.worth_usd)
    if not order:
        return None
    row, p = order[0], case.parameters
    worst = {PRICE: p.worth_usd, LATENCY: p.worth_usd * p.kappa, SUCCESS: 0.0, FIT: 0.0}  # worth no try
    limit = {
        figure: _limit(case, row, figure, lost=max(worst[figure], current) if figure in {PRICE, LATENCY} else worst[figure], won=current)
        for figure in FIGURES
        for current in (figure_now(case, row, figure),)
    }  # fmt: skip
    return Room(case.context.tool_ids[row], limit[PRICE], limit[LATENCY], limit[SUCCESS], limit[FIT])


def figure_now(case: ValueCase, row: int, figure: str) -> float:
    """The present figure of a tool; for an unpriced tool the assumed price."""
    if figure == PRICE:
        return float(case.known.price_usd[row])
    figures = case.known.p_fit if figure == FIT else getattr(case.context.statistics.tools, COLUMNS[figure])
    return float(figures[row])


def first_with(case: ValueCase, row: int, figure: str, value: float) -> int | None:
    """The router's first try with a tool's figure at another value. Returns None without a try."""
    if case.refused:
        return None
    context, p_fit = case.context, case.known.p_fit
    if figure == FIT:
        p_fit = p_fit.copy()
        p_fit[row] = value
    else:
        context = layered(context, (Supposed(context.tool_ids[row], figure, value),))
    order = ValueEngine(context, prospects(p_fit, context), case.likeness, case.parameters).decided()[2]
    return order[0] if order else None


def _limit(case: ValueCase, row: int, figure: str, *, lost: float, won: float) -> float:
    """The value nearest to the limit at which the tool is still the first try."""
    for _ in range(HALVINGS):
        if abs(won - lost) <= NUDGE * max(abs(won), abs(lost)):
            break
        middle = (lost + won) / 2
        if first_with(case, row, figure, middle) == row:
            won = middle
        else:
            lost = middle
    return won
