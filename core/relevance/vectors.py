"""Rows of vectors: FAISS' exact and sixteen-bit indexes, the moments of all products with a query, and all near pairs of rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.relevance.encoder import Vectors

AT_ONCE = 8192  # rows whose moments are added up in a single product
HalfFloats = NDArray[np.float16]


def nearest_rows(
    rows: NDArray[np.floating], queries: NDArray[np.floating], k: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Products and rows, best first: (Q, k) each, for rows (N, D) and queries (Q, D). Missing rows are -1.

    >>> nearest_rows(np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[0.0, 1.0]]), 2)[1].tolist()
    [[1, 0]]
    """
    import faiss  # 25 MB of memory

    base, points = (np.ascontiguousarray(array, dtype=np.float32) for array in (rows, queries))
    with one_thread():
        return faiss.knn(points, base, k, metric=faiss.METRIC_INNER_PRODUCT)


class HalfRows:
    """N rows of width D, immutable. `halves` (N, D) is a view of FAISS' own memory, which takes a copy of the rows.

    >>> rows = HalfRows(np.array([[0.6, -0.8], [1.0, 0.0]], dtype=np.float16))
    >>> query = np.array([0.0, 1.0], dtype=np.float32)
    >>> rows.nearest(query, 1)[1].tolist(), (rows @ query).round(3).tolist(), rows[[1]].tolist()
    ([1], [-0.800000011920929, 0.0], [[1.0, 0.0]])
    """

    def __init__(self, rows: HalfFloats) -> None:
        import faiss

        count, width = rows.shape
        kind, measure = faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT
        self._faiss = faiss.IndexScalarQuantizer(width, kind, measure)
        self._faiss.is_trained = True  # these codes are the floats themselves
        faiss.copy_array_to_vector(np.ascontiguousarray(rows).view(np.uint8).ravel(), self._faiss.codes)
        self._faiss.ntotal = count
        codes: NDArray[np.uint8] = faiss.rev_swig_ptr(self._faiss.codes.data(), count * self._faiss.code_size)
        self.halves: HalfFloats = codes.view(np.float16).reshape(rows.shape)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.halves), self.halves.shape[1]

    def __len__(self) -> int:
        return len(self.halves)

    def __getitem__(self, places: Any) -> Vectors:
        return self.halves[places].astype(np.float32)

    def __matmul__(self, query: Vectors) -> Vectors:
        products, rows = self.nearest(query, len(self))
        in_order = np.empty_like(products)
        in_order[rows] = products
        return in_order

    def nearest(self, query: Vectors, count: int) -> tuple[Vectors, NDArray[np.int64]]:
        with one_thread():
            products, rows = self._faiss.search(query[None].astype(np.float32), min(count, len(self)))
        return products[0], rows[0]


@contextmanager
def one_thread() -> Generator[None]:
    """FAISS runs on the calling thread alone, because a search takes a few milliseconds, and waiting for a busy second core twenty."""
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


@dataclass(frozen=True, slots=True)
class Moments:
    """`mean` (D,) of rows, and `squares` (D, D), the second moments around it.

        mean   = q . m          m = sum_i n_i x_i / N                             N = sum of the counts n_i of rows i
        square = q' C q         C = sum_i n_i (x_i - m) (x_i - m)'               around the mean, so that single precision is enough

    So a z-score has the mean and the deviation of all rows, though FAISS returns the nearest rows alone.
    """

    mean: NDArray[np.float64]
    squares: Vectors

    @classmethod
    def of(cls, rows: Vectors, times: NDArray[np.int64] | None = None) -> Self:
        """From rows (N, D). `times` (N,) is the count of each row, 1 by default."""
        count, width = rows.shape
        counts = np.ones(count, dtype=np.int64) if times is None else times
        total, squares = np.zeros(width), np.zeros((width, width))
        for start in range(0, count, AT_ONCE):
            block = rows[start : start + AT_ONCE].astype(np.float64)
            weighted = block * counts[start : start + AT_ONCE, None]
            total += weighted.sum(axis=0)
            squares += weighted.T @ block
        mean = total / max(int(counts.sum()), 1)
        return cls(mean, (squares - np.outer(total, mean)).astype(np.float32))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(*(np.asarray(arrays[name]) for name in ("mean", "squares")))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"mean": self.mean, "squares": self.squares}

    def of_products(self, query: Vectors) -> tuple[float, float]:
        """The mean of all products with a query (D,), and the sum of their squares around it."""
        return float(query.astype(np.float64) @ self.mean), float(query @ (self.squares @ query))


AXES = 128
PLAIN = 2_000  # up to so many rows, finding the axes takes longer than it saves
TILE, ACROSS = 1_024, 4_096  # rows and columns of a tile, 16 MB
HELD = 1_000_000  # pairs before the k nearest of each row are kept, 40 MB
GATHERED = 65_536  # pairs computed at a time, 100 MB each side
ROUNDING = 1e-4  # error of the bound in float32
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
    """The k nearest rows of each row with a cosine of at least `least`: row, other row, and cosine, (P,) each.

        cos(a, b) = a . b <= a' . b' + |a - a'| |b - b'|        a', b': the parts along the first principal axes (Cauchy-Schwarz)

    The right side is a thin product. Only pairs whose bound reaches the least cosine are computed in full, so the result is exact.

    Sorted by row, then the nearest first; among equal cosines the lower row first. `rows` (N, D) are unit rows or zeros. `of` are the
    ascending rows to find the nearest of, by default all rows. `allowed` marks the allowed pairs of (M,), (M,), symmetrically.
    `progress` gets the numbers of finished rows and of all rows.

    >>> rows = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8]], dtype=np.float32)
    >>> [column.tolist() for column in nearest_above(rows, 1, 0.7)[:2]]
    [[0, 1, 2], [1, 2, 1]]
    """
    bounds = _bounds(rows)
    sources = np.arange(len(rows)) if of is None else of
    best, fresh, count = _NONE, list[Pairs](), 0
    for start in range(0, len(sources), TILE):
        block = sources[start : start + TILE]
        for across in range(start if of is None else 0, len(rows), ACROSS):
            upper = bounds[block] @ bounds[across : across + ACROSS].T
            near, other = np.divmod(np.flatnonzero(upper >= least - ROUNDING), upper.shape[1])
            row, other = block[near], other + across
            may = row < other if of is None else row != other
            pairs = _kept(rows, row[may], other[may], least, allowed)
            fresh += [pairs] if of is not None else [pairs, (pairs[1], pairs[0], pairs[2])]
            count += len(pairs[0])
            if count > HELD:
                best, fresh, count = _best(joined([best, *fresh]), k), [], 0
        if progress is not None:
            left = 1 - min(start + TILE, len(sources)) / len(sources)
            progress(round(len(sources) * (1 - left**2 if of is None else 1 - left)), len(sources))
    return _best(joined([best, *fresh]), k)


def joined(parts: Sequence[Pairs]) -> Pairs:
    rows, others, cosines = zip(_NONE, *parts, strict=True)
    return np.concatenate(rows), np.concatenate(others), np.concatenate(cosines)


def _bounds(rows: Vectors) -> Vectors:
    """(N, A + 1): the rows along the first axes, and the length of the rest. Few rows stay whole, with a rest of 0."""
    if len(rows) <= PLAIN or rows.shape[1] <= AXES:
        return np.pad(rows, ((0, 0), (0, 1)))
    axes = np.linalg.eigh(rows.T @ rows)[1][:, -AXES:].astype(np.float32)
    along = rows @ axes
    left = np.maximum(np.vecdot(rows, rows) - np.vecdot(along, along), 0.0)
    return np.column_stack([along, np.sqrt(left)])


def _kept(rows: Vectors, row: Rows, other: Rows, least: float, allowed: Allowed | None) -> Pairs:
    """The allowed pairs that reach the least cosine. A product of two rows does not depend on their places."""
    if allowed is not None:
        may = allowed(row, other)
        row, other = row[may], other[may]
    parts = [
        np.vecdot(rows[row[start : start + GATHERED]], rows[other[start : start + GATHERED]])
        for start in range(0, len(row), GATHERED)
    ]
    cosine = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
    enough = cosine >= least
    return row[enough], other[enough], cosine[enough]


def _best(pairs: Pairs, k: int) -> Pairs:
    row, other, cosine = pairs
    order = np.lexsort((other, -cosine, row))
    row, other, cosine = row[order], other[order], cosine[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    return row[rank < k], other[rank < k], cosine[rank < k]
