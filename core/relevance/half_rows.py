"""The vectors of a large catalog in FAISS, as sixteen-bit floats, and the moments of all their products with a query.

    mean   = q . m          m = sum_i n_i x_i / N                             N = sum of n_i: how often row i counts
    square = q' C q         C = sum_i n_i (x_i - m) (x_i - m)'               around the mean, so that single precision is enough

So the mean and the deviation that a z-score needs are those of all rows, though FAISS returns the nearest rows alone.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.relevance.encoder import Vectors

AT_ONCE = 8192  # rows whose moments are added up in one product
HalfFloats = NDArray[np.float16]


class HalfRows:
    """N rows of width D, immutable. `halves` (N, D) is a view of FAISS' own memory, which takes a copy of the rows.

    >>> rows = HalfRows(np.array([[0.6, -0.8], [1.0, 0.0]], dtype=np.float16))
    >>> query = np.array([0.0, 1.0], dtype=np.float32)
    >>> rows.nearest(query, 1)[1].tolist(), (rows @ query).round(3).tolist(), rows[[1]].tolist()
    ([1], [-0.800000011920929, 0.0], [[1.0, 0.0]])
    """

    def __init__(self, rows: HalfFloats) -> None:
        import faiss  # 25 MB of memory

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

    def __getitem__(self, at: Any) -> Vectors:
        return self.halves[at].astype(np.float32)

    def __matmul__(self, query: Vectors) -> Vectors:
        """(N,) all products with a query (D,)."""
        products, rows = self.nearest(query, len(self))
        found = np.empty_like(products)
        found[rows] = products
        return found

    def nearest(self, query: Vectors, count: int) -> tuple[Vectors, NDArray[np.int64]]:
        """The greatest products with a query (D,), best first, and their rows."""
        with one_thread():
            products, rows = self._faiss.search(query[None].astype(np.float32), min(count, len(self)))
        return products[0], rows[0]


@contextmanager
def one_thread() -> Generator[None]:
    """FAISS runs on the calling thread alone: a search takes a few milliseconds, and waiting for a busy second core takes twenty."""
    import faiss

    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


@dataclass(frozen=True, slots=True)
class Moments:
    """`mean` (D,) of rows, and `squares` (D, D), the second moments around it."""

    mean: NDArray[np.float64]
    squares: Vectors

    @classmethod
    def of(cls, rows: Vectors, times: NDArray[np.int64] | None = None) -> Self:
        """From rows (N, D). `times` (N,) says how often each counts, once if it is not given."""
        count, width = rows.shape
        counts = np.ones(count, dtype=np.int64) if times is None else times
        total, squares = np.zeros(width), np.zeros((width, width))
        for at in range(0, count, AT_ONCE):
            block = rows[at : at + AT_ONCE].astype(np.float64)
            weighted = block * counts[at : at + AT_ONCE, None]
            total += weighted.sum(axis=0)
            squares += weighted.T @ block
        mean = total / max(int(counts.sum()), 1)
        return cls(mean, (squares - np.outer(total, mean)).astype(np.float32))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(*(np.asarray(arrays[name]) for name in ("mean", "squares")))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it is made of, by name."""
        return {"mean": self.mean, "squares": self.squares}

    def of_products(self, query: Vectors) -> tuple[float, float]:
        """The mean of all products with a query (D,), and the sum of their squares around it."""
        return float(query.astype(np.float64) @ self.mean), float(query @ (self.squares @ query))
