"""Who wins over a plane of two parameters, and by how much."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.params import Knob
from core.domain.trace import Array
from core.whatif.case import Case, decide

ROWS_AT_ONCE = 8
REACH = 5


@dataclass(frozen=True, slots=True)
class Plane:
    """`winner` (Y, X) are rows of tools, -1 where nobody wins; `margin` (Y, X) the lead in utility, infinite without a rival."""

    x: Array
    y: Array
    winner: NDArray[np.int64]
    margin: Array
    tools: tuple[str, ...]


def values_of(knob: Knob, count: int, near: float | None = None) -> Array:
    """At most `count` values over a knob's range, or up to five times a value `near` which they are to be; whole numbers where
    needed.

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
    """The decision at every pair of values."""
    winners, margins = list[NDArray[np.int64]](), list[Array]()
    for at in range(0, len(y_values), ROWS_AT_ONCE):
        rows = y_values[at : at + ROWS_AT_ONCE]
        found = decide(case, {x: np.tile(x_values, len(rows)), y: np.repeat(rows, len(x_values))})
        winners.append(found.winner.reshape(len(rows), -1))
        margins.append(found.runners_up()[1].reshape(len(rows), -1))
    return Plane(x_values, y_values, np.concatenate(winners), np.concatenate(margins), case.context.tool_ids)
