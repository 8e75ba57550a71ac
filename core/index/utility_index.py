"""Exact top-k by utility as one inner-product search: the costs are extra dimensions, their prices are in the query.

    U_i = max(0, <e_q, e_i>) - <w, c_i>
          EHRR (3): c_i = [C_i], w = [alpha_s];   EHRR (7): c_i = [time_i, price_i], w = [alpha_t, alpha_t * kappa]
        = the larger of <[e_q, -w], [e_i, c_i]> and <[0, -w], [e_i, c_i]>

The second product is the clip of (1); the top-k by U lies in the union of the two top-k. FAISS finds candidates in
float32, they are scored again in float64, and the search widens until no other row can reach the k-th utility u: with
s = |e_q| * max |e_i|, a row that reaches u has <w, c_i> <= s - u, so its float32 error is at most gamma * (2 s - u).
Moving a slider changes only the query; an update of a row's statistics changes only that row's last numbers.

>>> index = UtilityIndex(np.eye(2), np.array([[2.0], [0.0]]))
>>> index.top_k(np.array([1.0, 0.0]), [0.1], 2)
Ranking(rows=array([0, 1]), utilities=array([0.8, 0. ]))
>>> index.update(0, [20.0])
>>> index.top_k(np.array([1.0, 0.0]), [0.1], 1).rows
array([1])
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.index.flat import FlatIndex, Mask

Floats = NDArray[np.float64]
LARGEST_COST = 1e30
SPARE = 16  # candidates beyond k in the first search


class Ranking(NamedTuple):
    """Rows, best first, and their utilities: (K,) each, or (M, K) for M weight vectors."""

    rows: NDArray[np.int64]
    utilities: Floats


class UtilityIndex:
    """N rows of D embedding numbers and E costs. Ties: higher similarity first, then the lower row."""

    def __init__(self, embeddings: ArrayLike, costs: ArrayLike) -> None:
        vectors = np.asarray(embeddings, dtype=np.float32)
        self._costs = _checked(costs, 2, "costs")
        if vectors.ndim != 2 or len(vectors) != len(self._costs) or not np.isfinite(vectors).all():
            raise ValueError("embeddings must be finite numbers of shape (N, D), with as many rows as the costs")
        self._dimension = vectors.shape[1]
        self._longest = float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
        self._flat = FlatIndex(np.hstack([vectors, self._costs]))
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._costs)

    def update(self, row: int, costs: ArrayLike) -> None:
        """Change the E costs of one row. Raises ValueError for a wrong shape or a cost below 0 or not finite."""
        numbers = _checked(costs, 1, "costs")
        if numbers.shape != self._costs.shape[1:] or not 0 <= row < len(self):
            raise ValueError(f"row {row} of {len(self)} takes {self._costs.shape[1]} costs, not {numbers.size}")
        with self._lock:
            self._costs[row] = numbers
            self._flat.rows[row, self._dimension :] = numbers

    def top_k(self, query: ArrayLike, weights: ArrayLike, k: int, *, allowed: Mask | None = None) -> Ranking:
        """The k best rows for one weight vector (E,), fewer where there are fewer; `allowed` (N,) excludes rows."""
        rows, utilities = self.sweep(query, np.asarray(weights, dtype=np.float64)[None, :], k, allowed=allowed)
        return Ranking(rows[0], utilities[0])

    def sweep(self, query: ArrayLike, weights: ArrayLike, k: int, *, allowed: Mask | None = None) -> Ranking:
        """`top_k` for M weight vectors (M, E) in one search. Raises ValueError for weights below 0 or not finite."""
        prices = _checked(weights, 2, "weights")
        vector = np.asarray(query, dtype=np.float64)
        self._check(vector, prices, k, allowed)
        total = len(self) if allowed is None else int(np.count_nonzero(allowed))
        k = min(k, total)
        if k == 0:
            return Ranking(np.zeros((len(prices), 0), dtype=np.int64), np.zeros((len(prices), 0)))
        with self._lock:
            rows, similarity, utilities = self._candidates(vector, prices, k, total, allowed)
        best = np.array([np.lexsort((rows, -similarity, -line))[:k] for line in utilities], dtype=np.int64)
        return Ranking(rows[best], np.take_along_axis(utilities, best, axis=1))

    def _check(self, query: Floats, prices: Floats, k: int, allowed: Mask | None) -> None:
        size, width = self._costs.shape
        if query.shape != (self._dimension,) or not np.isfinite(query).all() or k < 1:
            raise ValueError(f"the query must be {self._dimension} finite numbers and k at least 1")
        if prices.shape[1] != width or (allowed is not None and allowed.shape != (size,)):
            raise ValueError(f"weights must be of shape (M, {width}) and allowed of shape ({size},)")

    def _candidates(
        self, query: Floats, prices: Floats, k: int, total: int, allowed: Mask | None
    ) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Rows among which the k best of every weight vector are, with similarity (R,) and utilities (M, R)."""
        signed = np.vstack([np.tile(query, (len(prices), 1)), np.zeros((len(prices), self._dimension))])
        queries = np.hstack([signed, np.tile(-prices, (2, 1))])
        longest = self._longest * float(np.linalg.norm(query))
        gamma = (queries.shape[1] + 8) * 2.0**-24
        fetch = min(total, k + SPARE)
        while True:
            scores, found = self._flat.search(queries, fetch, allowed)
            rows = np.unique(found)
            similarity = np.maximum(0.0, np.vecdot(self._flat.rows[rows, : self._dimension].astype(np.float64), query))
            utilities = similarity - _products(prices, self._costs[rows])
            kth = np.tile(np.partition(utilities, -k, axis=1)[:, -k], 2)
            if fetch == total or bool((scores[:, -1] < kth - gamma * (2 * longest - kth)).all()):
                return rows, similarity, utilities
            fetch = min(total, 4 * fetch)


def _products(prices: Floats, costs: Floats) -> Floats:
    """<w, c> of each pair, (M, E) and (R, E) to (M, R), summed term by term: equal rows get equal sums."""
    return sum((np.outer(p, c) for p, c in zip(prices.T, costs.T, strict=True)), np.zeros((len(prices), len(costs))))


def _checked(numbers: ArrayLike, axes: int, what: str) -> Floats:
    array = np.array(numbers, dtype=np.float64)
    if array.ndim != axes or not ((array >= 0) & (array < LARGEST_COST)).all():
        raise ValueError(f"{what} must be finite numbers of at least 0 in {axes} dimension(s)")
    return array
