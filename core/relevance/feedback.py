"""The memory of solved sub-tasks: the evidence of similar sub-tasks' labels on a query's tools, in logits of p_fit.

    k(c)    = clip((c - floor) / (1 - floor), 0, 1)                     closeness of a solved sub-task at cosine c
    S_j     = sum over visitors v of clip(sum over labels i of v of w_i s_ij k(c_i), -m_v, m_v)
    shift_j = bound * S_j / (half + |S_j|)                              in logits, within +-bound

w_i is 1 for right and -1 for wrong if a person labels, a quarter of it if an agent does. s_ij is 1 for the tool that label i names
and for tools that share the label (`Sharing`), else 0. m_v is 1, so that all labels of a visitor count for at most 1 label. All
agents together count for at most half a label. NumPy only.

>>> query = np.array([1.0, 0.0], dtype=np.float32)
>>> memory = Memory([Evidence("a", 0, 2, 1.0, "ann"), Evidence("b", 0, 0, -1.0, "ann")], query[None], tools=3)
>>> memory.shift(query).values.round(1).tolist()
[-3.0, 0.0, 3.0]
>>> memory.shift(np.array([0.0, 1.0], dtype=np.float32)) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.relevance.vectors import HalfRows

Vectors = NDArray[np.float32]
LIMIT = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class QueryMap:
    """A linear map that moves a query towards its right tools, learnt from solved sub-tasks. No tool's cosine moves by more than LIMIT.

        W = argmin over W of  sum_i ||(I + W) q_i - t_i||^2 + ridge ||W||^2          t_i: mean direction of the right tools of i
          = (Q'Q + ridge I)^-1 Q'(T - Q)
        delta(q) = W q, cut to a length of LIMIT

    `first` (R, D) and `second` (R, D): delta(q) = (first q) second. R is the smaller of D and the sub-tasks.

    >>> q, t = np.eye(3, dtype=np.float32)[:2], np.eye(3, dtype=np.float32)[[2, 2]]
    >>> QueryMap.fit(q, t, ridge=1.0).delta(q[0]).round(2).tolist()
    [-0.5, 0.0, 0.5]
    """

    first: Vectors
    second: Vectors

    @classmethod
    def fit(cls, queries: Vectors, targets: Vectors, *, ridge: float) -> QueryMap:
        """The map of N solved sub-tasks: unit rows (N, D) of queries and of their right tools. `ridge` > 0 shrinks the map to
        zero. Raises ValueError for another ridge or shapes that differ."""
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
        """(D,) for a query (D,), or (N, D) for rows of queries."""
        moved = (query @ self.first.T) @ self.second
        length = np.linalg.norm(moved, axis=-1, keepdims=True)
        return (moved * np.minimum(1.0, LIMIT / np.maximum(length, LIMIT))).astype(np.float32)


def targets_of(rows: Vectors | HalfRows, right: Sequence[Sequence[int]]) -> Vectors:
    """(N, D) unit rows: for each sub-task the mean direction of its right tools' `rows` (T, D); zeros without right tools."""
    means = np.zeros((len(right), rows.shape[1]), dtype=np.float64)
    for number, tools in enumerate(right):
        if tools:
            means[number] = rows[list(tools)].mean(axis=0)
    return (means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)).astype(np.float32)


BOUND, HALF, FLOOR = 6.0, 1.0, 0.6
AGENT_WEIGHT, AGENTS_LIMIT = 0.25, 0.5
AGENTS = "agents"
"""The common visitor of all agents' labels."""
NOBODY: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A label as evidence: `text` is the row of the sub-task's vector, `tool` the tool's row. `weight` is positive if the tool was
    right. `id` is the label's."""

    id: str
    text: int
    tool: int
    weight: float
    visitor: str


@dataclass(frozen=True, slots=True)
class Sharing:
    """The further tools (rows) that a label counts for: if it says right, and if it says wrong."""

    right: NDArray[np.int64]
    wrong: NDArray[np.int64]


def sharing(same: NDArray[np.bool_], equal: Collection[int] = (), different: Collection[int] = ()) -> Sharing:
    """The tools that share a label, from the tools that equal the labelled tool by their vectors, `same` (T,), and from judgments of people.

    Tools that people judged `equal` share both. Other tools of `same` share "right", unless people judged them `different`; they do not
    share "wrong", because the small difference may be the fault.

    >>> shared = sharing(np.array([False, False, False, True, True]), equal=[1], different=[4])
    >>> shared.right.tolist(), shared.wrong.tolist()
    ([1, 3], [1])
    """
    right = same.copy()
    right[list(different)] = False
    right[list(equal)] = True
    return Sharing(np.flatnonzero(right), np.array(sorted(equal), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Move:
    """The effect of a label on a tool: the cosine of its sub-task with the query, and logits of p_fit."""

    id: str
    tool: int
    cosine: float
    logits: float


@dataclass(frozen=True, slots=True)
class Shift:
    """The effect of the memory on a query: `values` (T,) in logits of p_fit. The other columns have an entry for each near label: its id,
    its tool, its cosine and its part of the tool's shift. The parts of a tool add up to its shift."""

    values: NDArray[np.float64]
    labels: tuple[str, ...]
    tools: NDArray[np.int64]
    cosines: NDArray[np.float64]
    logits: NDArray[np.float64]

    def moves(self, tool: int | None = None) -> tuple[Move, ...]:
        order: list[int] = np.argsort(-np.abs(self.logits), kind="stable").tolist()
        return tuple(
            Move(self.labels[i], int(self.tools[i]), float(self.cosines[i]), float(self.logits[i]))
            for i in order
            if tool is None or self.tools[i] == tool
        )


def closeness(cosines: NDArray[np.floating], floor: float = FLOOR) -> NDArray[np.float64]:
    """k(c), any shape, in [0, 1].

    >>> closeness(np.array([0.2, 0.6, 0.8, 1.0])).round(2).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    return np.clip((np.asarray(cosines, dtype=np.float64) - floor) / (1.0 - floor), 0.0, 1.0)


def shifts(support: NDArray[np.floating], bound: float = BOUND, half: float = HALF) -> NDArray[np.float64]:
    strength = np.asarray(support, dtype=np.float64)
    return bound * strength / (half + np.abs(strength))


class Memory:
    """The evidence on a catalog's sub-tasks. Immutable; safe for several threads.

    `vectors` (U, D) are unit rows of the distinct sub-tasks, `tools` is the size of the catalog. `limits` is m_v of visitors that count
    for less than a label. `shared` are the tools that share the labels of a tool (row). A visitor's label of the tool itself replaces the
    visitor's labels of tools that share.
    """

    def __init__(
        self,
        evidence: Sequence[Evidence],
        vectors: Vectors,
        *,
        tools: int,
        bound: float = BOUND,
        half: float = HALF,
        floor: float = FLOOR,
        limits: Mapping[str, float] | None = None,
        shared: Mapping[int, Sharing] | None = None,
    ) -> None:
        visitors = {name: number for number, name in enumerate(dict.fromkeys(item.visitor for item in evidence))}
        capped = {AGENTS: AGENTS_LIMIT} if limits is None else limits
        self.bound, self.half, self.floor = bound, half, floor
        self.tools = tools
        self._vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        self._ids: tuple[str, ...] = tuple(item.id for item in evidence)
        self._text = np.array([item.text for item in evidence], dtype=np.int64)
        self._tool = np.array([item.tool for item in evidence], dtype=np.int64)
        self._weight = np.array([item.weight for item in evidence], dtype=np.float64)
        self._visitor = np.array([visitors[item.visitor] for item in evidence], dtype=np.int64)
        self._limit = np.array([capped.get(name, 1.0) for name in visitors], dtype=np.float64)
        self._shared = shared or {}

    def __len__(self) -> int:
        return len(self._ids)

    def shift(self, query: Vectors) -> Shift | None:
        """The effect of labels of similar sub-tasks. Returns None if no label is near. `query` (D,) is a unit vector."""
        if not self._ids:
            return None
        cosines = np.vecdot(self._vectors, query).astype(np.float64)
        near = closeness(cosines, self.floor)[self._text] * self._weight
        used = np.flatnonzero(near)
        if not used.size:
            return None
        used, tool, strength = self._shared_out(used, near)
        parts = strength * self._shares(used, tool, strength)
        support = np.bincount(tool, weights=parts, minlength=self.tools).astype(np.float64)
        values = shifts(support, self.bound, self.half)
        return Shift(
            values,
            tuple(self._ids[int(i)] for i in used),
            tool,
            cosines[self._text[used]],
            parts * (self.bound / (self.half + np.abs(support[tool]))),
        )

    def _shared_out(
        self, used: NDArray[np.int64], near: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The labels `used` (N,), each for its tool and for each tool that shares it: labels, tools and strengths (M,)."""
        tools = self._tool[used]
        if not self._shared:
            return used, tools, near[used]
        others = [self._others(int(tool), right=right) for tool, right in zip(tools, near[used] > 0, strict=True)]
        again, sharers = np.repeat(used, [len(rows) for rows in others]), np.concatenate(others)
        itself = np.isin(self._visitor[again] * self.tools + sharers, self._visitor[used] * self.tools + tools)
        labels = np.concatenate([used, again[~itself]])
        return labels, np.concatenate([tools, sharers[~itself]]), near[labels]

    def _others(self, tool: int, *, right: bool) -> NDArray[np.int64]:
        shared = self._shared.get(tool)
        if shared is None:
            return NOBODY
        return shared.right if right else shared.wrong

    def _shares(
        self, used: NDArray[np.int64], tool: NDArray[np.int64], strength: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The counting share of each label, so that its visitor's sum on a tool stays within the limit."""
        pair = self._visitor[used] * self.tools + tool
        _, group = np.unique(pair, return_inverse=True)
        total = np.abs(np.bincount(group, weights=strength))[group]
        limit = self._limit[self._visitor[used]]
        return np.where(total > limit, limit / np.maximum(total, limit), 1.0)
