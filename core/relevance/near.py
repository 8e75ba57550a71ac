"""The nearest rows of every row, exactly, without computing every cosine in full.

    cos(a, b) = a . b <= a' . b' + |a - a'| |b - b'|        a', b': the parts along the first principal axes (Cauchy-Schwarz)

The right side is one product of rows with the length of the rest as a last number: 128 axes are a third of the work of 384. Only pairs whose
bound reaches the least cosine are computed in full, so the result is exact. Pairs are looked at once for both rows, in tiles: memory
grows with the rows, not with their square. Time grows with the square of the rows, and with the number of pairs above the least cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from core.relevance.encoder import Vectors

AXES = 128
PLAIN = 2_000  # up to so many rows, finding the axes takes longer than it saves
TILE, ACROSS = 1_024, 4_096  # rows and columns of a tile, 16 MB
HELD = 1_000_000  # pairs before the k nearest of each row are kept, 40 MB
GATHERED = 65_536  # pairs computed at a time, 100 MB each side
ROUNDING = 1e-4  # what the bound may lose in float32
Rows = NDArray[np.int64]
Allowed = Callable[[Rows, Rows], NDArray[np.bool_]]
Progress = Callable[[int, int], object]
Pairs = tuple[Rows, Rows, Vectors]
_NONE: Pairs = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


def nearest_above(
    rows: Vectors,
    k: int,
    least: float,
    *,
    of: Rows | None = None,
    allowed: Allowed | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """The k nearest of each row among those with a cosine of at least `least`: row, other row, and cosine, (P,) each.

    Sorted by row, then the nearest first; among equal cosines the lower row first. `rows` (N, D) are unit rows or zeros. `of` are the
    rows to find the nearest of, ascending; all without it. `allowed` tells for pairs (M,), (M,) which may be taken, the same
    both ways. `progress` gets the number of rows that are done, and of how many.

    >>> rows = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8]], dtype=np.float32)
    >>> [one.tolist() for one in nearest_above(rows, 1, 0.7)[:2]]
    [[0, 1, 2], [1, 2, 1]]
    """
    bounds = _bounds(rows)
    asked = np.arange(len(rows)) if of is None else of
    best, fresh, count = _NONE, list[Pairs](), 0
    for start in range(0, len(asked), TILE):
        those = asked[start : start + TILE]
        for across in range(start if of is None else 0, len(rows), ACROSS):
            upper = bounds[those] @ bounds[across : across + ACROSS].T
            near, other = np.divmod(np.flatnonzero(upper >= least - ROUNDING), upper.shape[1])
            one, other = those[near], other + across
            may = one < other if of is None else one != other
            found = _kept(rows, one[may], other[may], least, allowed)
            fresh += [found] if of is not None else [found, (found[1], found[0], found[2])]
            count += len(found[0])
            if count > HELD:
                best, fresh, count = _best(joined([best, *fresh]), k), [], 0
        if progress is not None:
            left = 1 - min(start + TILE, len(asked)) / len(asked)
            progress(round(len(asked) * (1 - left**2 if of is None else 1 - left)), len(asked))
    return _best(joined([best, *fresh]), k)


def joined(parts: Sequence[Pairs]) -> Pairs:
    """Several results as one, in their order."""
    ones, others, cosines = zip(_NONE, *parts, strict=True)
    return np.concatenate(ones), np.concatenate(others), np.concatenate(cosines)


def _bounds(rows: Vectors) -> Vectors:
    """(N, A + 1): the rows along the first axes, and the length of what is left. Few rows stay whole, with nothing left."""
    if len(rows) <= PLAIN or rows.shape[1] <= AXES:
        return np.pad(rows, ((0, 0), (0, 1)))
    axes = np.linalg.eigh(rows.T @ rows)[1][:, -AXES:].astype(np.float32)
    along = rows @ axes
    left = np.maximum(np.vecdot(rows, rows) - np.vecdot(along, along), 0.0)
    return np.column_stack([along, np.sqrt(left)])


def _kept(rows: Vectors, one: Rows, other: Rows, least: float, allowed: Allowed | None) -> Pairs:
    """The pairs that are allowed and reach the least cosine. A product of two rows does not depend on where they stand."""
    if allowed is not None:
        may = allowed(one, other)
        one, other = one[may], other[may]
    parts = [
        np.vecdot(rows[one[at : at + GATHERED]], rows[other[at : at + GATHERED]]) for at in range(0, len(one), GATHERED)
    ]
    cosine = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
    enough = cosine >= least
    return one[enough], other[enough], cosine[enough]


def _best(pairs: Pairs, k: int) -> Pairs:
    """The k first of each row."""
    one, other, cosine = pairs
    order = np.lexsort((other, -cosine, one))
    one, other, cosine = one[order], other[order], cosine[order]
    rank = np.arange(len(one)) - np.searchsorted(one, one)
    return one[rank < k], other[rank < k], cosine[rank < k]
