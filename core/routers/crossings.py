"""Where the ranking of straight lines changes: exact, without sampling.

U_i(y) = a_i - s_i * y          i = 1 .. N
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.routers.utility import Array

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
    """Every y in (low, high) at which one of the `keep` highest lines meets another line, and perhaps a few more.

    Not `ordered`: only if the set of the highest lines changes.

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
    values, here = lines.at(y), np.arange(len(y))
    one, other = values[here, first], values[here, second]
    among = (values > np.maximum(one, other)[:, None] + NEAR).sum(axis=1) < keep
    if not ordered:
        among &= (values >= np.minimum(one, other)[:, None] - NEAR).sum(axis=1) > keep
    return np.unique(y[among])


def relevant(lines: Lines, low: float, high: float, *, keep: int) -> NDArray[np.int64]:
    """Rows that may be among the `keep` highest somewhere in [low, high]: fewer than `keep` lines are higher throughout."""
    ends = lines.at(np.array([low, high]))
    rows = np.arange(len(lines.a))
    if len(rows) > MANY:  # lines that a few high lines exceed go first
        at = lines.at(np.array([low, (low + high) / 2, high]))
        high_ones = np.unique(np.argpartition(-at, 2 * keep, axis=1)[:, : 2 * keep])
        rows = rows[_higher(ends[:, high_ones], ends).sum(axis=0) < keep]
    return rows[_higher(ends[:, rows], ends[:, rows]).sum(axis=0) < keep]


def _higher(some: Array, all_lines: Array) -> NDArray[np.bool_]:
    """(K, N) whether each of some lines is higher than each line at both ends, (2, K) and (2, N)."""
    return (some[0][:, None] > all_lines[0]) & (some[1][:, None] > all_lines[1])
