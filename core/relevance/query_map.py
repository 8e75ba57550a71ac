"""A linear map of queries that is learnt from solved sub-tasks: a query is moved towards where its right tools are.

    W = argmin over W of  sum_i ||(I + W) q_i - t_i||^2 + ridge ||W||^2          t_i: mean direction of the right tools of i
      = (Q'Q + ridge I)^-1 Q'(T - Q)
    delta(q) = W q, cut to a length of LIMIT

The tools' dense signal of the moved query is rows @ (q + delta(q)): no second product at decision time. However many
sub-tasks teach it, no tool's cosine moves by more than LIMIT. NumPy only.

>>> q, t = np.eye(3, dtype=np.float32)[:2], np.eye(3, dtype=np.float32)[[2, 2]]
>>> QueryMap.fit(q, t, ridge=1.0).delta(q[0]).round(2).tolist()
[-0.5, 0.0, 0.5]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
LIMIT = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class QueryMap:
    """`first` (R, D) and `second` (R, D): delta(q) = (first q) second. R is the smaller of D and the sub-tasks."""

    first: Vectors
    second: Vectors

    @classmethod
    def fit(cls, queries: Vectors, targets: Vectors, *, ridge: float) -> QueryMap:
        """The map of N solved sub-tasks: unit rows (N, D) of queries and of their right tools; `ridge` > 0 shrinks it to
        none. Raises ValueError for another ridge or shapes that differ."""
        if not ridge > 0 or queries.shape != targets.shape:
            raise ValueError(f"a map needs rows of one shape and a ridge above 0, not {ridge}")
        q, residual = queries.astype(np.float64), (targets - queries).astype(np.float64)
        count, width = q.shape
        if count <= width:
            second = np.linalg.solve(q @ q.T + ridge * np.eye(count), residual)
            return cls(queries.astype(np.float32), second.astype(np.float32))
        matrix = np.linalg.solve(q.T @ q + ridge * np.eye(width), q.T @ residual)
        return cls(np.eye(width, dtype=np.float32), matrix.astype(np.float32))

    def delta(self, query: Vectors) -> Vectors:
        """(D,) for one query (D,), or (N, D) for rows of them."""
        moved = (query @ self.first.T) @ self.second
        length = np.linalg.norm(moved, axis=-1, keepdims=True)
        return (moved * np.minimum(1.0, LIMIT / np.maximum(length, LIMIT))).astype(np.float32)


def targets_of(rows: Vectors, right: Sequence[Sequence[int]]) -> Vectors:
    """(N, D) unit rows: for each sub-task the mean direction of its right tools' `rows` (T, D); zeros where it has none."""
    means = np.zeros((len(right), rows.shape[1]), dtype=np.float64)
    for number, tools in enumerate(right):
        if tools:
            means[number] = rows[list(tools)].mean(axis=0)
    return (means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)).astype(np.float32)
