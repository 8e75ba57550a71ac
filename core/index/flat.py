"""FAISS' flat inner-product index, with its rows in reach and its threads in check."""

from __future__ import annotations

import faiss
import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


class FlatIndex:
    """N rows of D float32 numbers, searched completely: no approximation.

    `rows` (N, D) is a view of FAISS' own memory: what is written there is what is searched.

    >>> index = FlatIndex(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]))
    >>> index.rows[0] = [0.0, 2.0]
    >>> index.search(np.array([[0.0, 1.0]]), 2)[1].tolist()
    [[0, 1]]
    """

    def __init__(self, rows: NDArray[np.floating]) -> None:
        self._faiss = faiss.IndexFlatIP(rows.shape[1])
        self._faiss.add(np.ascontiguousarray(rows, dtype=np.float32))
        size = self._faiss.ntotal * self._faiss.d
        memory = faiss.rev_swig_ptr(self._faiss.get_xb(), size) if size else np.zeros(0, dtype=np.float32)
        self.rows: NDArray[np.float32] = memory.reshape(rows.shape)

    def search(
        self, queries: NDArray[np.floating], k: int, allowed: Mask | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Products and rows, best first: (Q, k) each, for queries (Q, D); `allowed` (N,) excludes rows.

        Where fewer than k rows are allowed the rest is row -1. Runs on the calling thread alone: a search takes less
        than a millisecond, and waiting for a second core that is busy takes twenty.
        """
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)
        try:
            found = self._faiss.search(np.ascontiguousarray(queries, dtype=np.float32), k, params=_only(allowed))
        finally:
            faiss.omp_set_num_threads(threads)
        return found


def _only(allowed: Mask | None) -> faiss.SearchParameters | None:
    if allowed is None:
        return None
    selector = faiss.IDSelectorBatch(np.flatnonzero(allowed))
    return faiss.SearchParameters(sel=selector)  # pyright: ignore[reportCallIssue]
