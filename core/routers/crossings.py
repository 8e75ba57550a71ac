"""Where the ranking of straight lines changes: exact, without sampling.

    U_i(y) = a_i - s_i * min(y, cap_i)          i = 1 .. N

With y = alpha_s, alpha_t, kappa or L_route every cap is infinite; with y = 1 / eps a line ends its descent at cap = 1 / beta, where
the floor eps of (2) and (6) is no longer what counts.
"""

from __future__ import annotations

from collections.abc import Callable
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
    cap: Array

    def at(self, y: Array) -> Array:
        """(E,) -> (E, N)."""
        return self.a - self.s * np.minimum(y[:, None], self.cap)

    def each(self, y: Array) -> Array:
        """(N,) -> (N,): each line at a place of its own."""
        return self.a - self.s * np.minimum(y, self.cap)

    def rows(self, rows: NDArray[np.int64]) -> Lines:
        """Some of the lines."""
        return Lines(self.a[rows], self.s[rows], self.cap[rows])


def straight(a: Array, s: Array) -> Lines:
    """Lines without a cap."""
    return Lines(a, s, np.full(len(a), np.inf))


def crossings(
    lines: Lines,
    low: float,
    high: float,
    *,
    keep: int,
    ordered: bool = True,
    values: Callable[[Array], Array] | None = None,
) -> Array:
    """Every y in (low, high) at which one of the `keep` highest lines meets another line, and perhaps a few more.

    Not `ordered`: only where the set of the highest lines changes. `values` (E,) -> (E, N) replaces the lines' own values, with
    minus infinity for a line that is out of the race.

    >>> crossings(straight(np.array([1.0, 0.75, 0.0]), np.array([1.0, 0.5, 0.0])), 0.0, 2.0, keep=1).tolist()
    [0.5, 1.5]
    """
    first, second = np.triu_indices(len(lines.a), 1)
    found = [_meeting(lines, first, second, *capped) for capped in ((0, 0), (1, 0), (0, 1))]
    y = np.concatenate(found)
    first, second = np.tile(first, 3), np.tile(second, 3)
    inside = (y > low) & (y < high)
    y, first, second = y[inside], first[inside], second[inside]
    if not len(y):
        return y
    counted = lines.at(y) if values is None else values(y)
    here = np.arange(len(y))
    one, other = counted[here, first], counted[here, second]
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= NEAR
    among = (counted > np.maximum(one, other)[:, None] + NEAR).sum(axis=1) < keep
    if not ordered:
        among &= (counted >= np.minimum(one, other)[:, None] - NEAR).sum(axis=1) > keep
    return np.unique(y[near & among])


def _meeting(
    lines: Lines, first: NDArray[np.int64], second: NDArray[np.int64], first_capped: int, second_capped: int
) -> Array:
    """Where pairs of lines meet, with each line on its slope or, `capped`, on its level end."""

    def part(rows: NDArray[np.int64], capped: int) -> tuple[Array, Array]:
        if not capped:
            return lines.a[rows], lines.s[rows]
        level = np.full(len(rows), np.nan)
        ends = np.isfinite(lines.cap[rows])
        level[ends] = lines.a[rows][ends] - lines.s[rows][ends] * lines.cap[rows][ends]
        return level, np.zeros(len(rows))

    (a, s), (b, t) = part(first, first_capped), part(second, second_capped)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return (a - b) / (s - t)


def relevant(
    lines: Lines,
    low: float,
    high: float,
    *,
    keep: int,
    price: Array | None = None,
    group: NDArray[np.int64] | None = None,
    inside: bool = False,
) -> NDArray[np.int64]:
    """Rows that may be among the `keep` highest somewhere in [low, high]: fewer than `keep` lines are higher throughout. Where only
    (low, high) counts, `inside`, a line that meets a higher one at an end is lower: many are equal at 0.

    Where prices decide which tools are in the race, only lines of the same group (server) that are not dearer count as higher.
    """
    rows = np.arange(len(lines.a))
    if len(rows) > MANY:  # those that a few high lines exceed go first
        at = lines.at(np.array([low, (low + high) / 2, high]))
        high_ones = np.unique(np.argpartition(-at, 2 * keep, axis=1)[:, : 2 * keep])
        rows = rows[_higher(lines, high_ones, low, high, price, group, inside=inside).sum(axis=0) < keep]
    few = lines.rows(rows)
    prices, groups = None if price is None else price[rows], None if group is None else group[rows]
    return rows[_higher(few, np.arange(len(rows)), low, high, prices, groups, inside=inside).sum(axis=0) < keep]


def _higher(
    lines: Lines,
    of: NDArray[np.int64],
    low: float,
    high: float,
    price: Array | None,
    group: NDArray[np.int64] | None,
    *,
    inside: bool,
) -> NDArray[np.bool_]:
    """(K, N) whether each of some lines is higher than each line throughout."""
    some = lines.rows(of)
    at, at_some = lines.at(np.array([low, high])), some.at(np.array([low, high]))
    left, right = at_some[0][:, None], at_some[1][:, None]
    higher = (left > at[0]) & (right > at[1])
    if inside:
        higher |= (left == at[0]) & (right > at[1]) | (left > at[0]) & (right == at[1])
    if np.isfinite(lines.cap).any():
        caps, caps_some = np.clip(lines.cap, low, high), np.clip(some.cap, low, high)
        higher &= (lines.each(caps) < some.at(caps).T) & (some.each(caps_some)[:, None] > lines.at(caps_some))
    if price is not None and group is not None:
        paid = np.nan_to_num(price)
        higher &= (group[of][:, None] == group) & (paid[of][:, None] <= paid)
    return higher
