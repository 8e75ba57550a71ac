"""The winner over a plane of two parameters, and its lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.decisions.case import NONE, Case, decide
from core.decisions.ehrr_strips import of_listed
from core.decisions.expected_value import ValueCase
from core.domain.params import Knob
from core.domain.trace import Array

ROWS_AT_ONCE = 8
REACH = 5


@dataclass(frozen=True, slots=True)
class Plane:
    """`winner` (Y, X) are rows of tools, -1 without a winner. `margin` (Y, X) is the lead: utility, infinite without a rival, or USD
    under expected value."""

    x: Array
    y: Array
    winner: NDArray[np.int64]
    margin: Array
    tools: Sequence[str]

    @property
    def contested(self) -> float:
        """The share of the plane that the second most frequent winner has; 0 if at most one tool wins.

        >>> won = np.array([[3, 3, 3, 3], [3, 5, 3, NONE]])
        >>> Plane(np.arange(4.0), np.arange(2.0), won, won, ()).contested
        0.125
        """
        counts = np.unique(self.winner[self.winner != NONE], return_counts=True)[1]
        return float(np.sort(counts)[-2] / self.winner.size) if len(counts) > 1 else 0.0


def values_of(knob: Knob, count: int, near: float | None = None) -> Array:
    """At most `count` values over a knob's range, or up to five times the value `near`; whole numbers where needed.

    >>> knob = Knob("k", int, 5, "k", "", 1, 100, 1, "", "")
    >>> len(values_of(knob, 200)), values_of(knob, 200, 1).tolist()
    (100, [1.0, 2.0, 3.0, 4.0, 5.0])
    """
    low, high = float(knob.low or 0.0), float(knob.high or 1.0)
    if near:
        high = min(high, REACH * near)
    values = np.linspace(low, high, count)
    return np.unique(values.round()) if knob.kind is int else values


def plane(case: Case, x: str, y: str, x_values: Array, y_values: Array) -> Plane:
    parts = [y_values[at : at + ROWS_AT_ONCE] for at in range(0, len(y_values), ROWS_AT_ONCE)]
    points = [{x: np.tile(x_values, len(rows)), y: np.repeat(rows, len(x_values))} for rows in parts]
    case = of_listed(case, points)
    winners, margins = list[NDArray[np.int64]](), list[Array]()
    for some in points:
        found = decide(case, some)
        winners.append(found.winner.reshape(-1, len(x_values)))
        margins.append(found.runners_up()[1].reshape(-1, len(x_values)))
    return Plane(x_values, y_values, np.concatenate(winners), np.concatenate(margins), case.context.tool_ids)


def value_plane(case: ValueCase, x: str, y: str, x_values: Array, y_values: Array) -> Plane:
    """The first try at every pair of values, and how much more the best order that begins with it is worth than any other."""
    shape = len(y_values), len(x_values)
    winner, margin = np.full(shape, NONE, dtype=np.int64), np.zeros(shape)
    for up, value in enumerate(y_values.tolist()):
        row = replace(case, parameters=case.parameters.replaced({y: value}))
        for across, at in enumerate(x_values.tolist()):
            order = row.candidates(x, at)
            if order:
                winner[up, across], margin[up, across] = order[0], row.lead(x, at, order[0])
    return Plane(x_values, y_values, winner, margin, case.context.tool_ids)
