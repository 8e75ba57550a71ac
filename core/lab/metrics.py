"""Retrieval measures over one ranked list. A new measure is a function here and one line in `METRICS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial


def reciprocal_rank(ranked: Sequence[str], grades: Mapping[str, float]) -> float:
    """1 / rank of the first relevant tool, 0 where none is in the list. Its mean over tasks is MRR.

    >>> reciprocal_rank(["a::x", "b::y"], {"b::y": 1})
    0.5
    """
    return next((1.0 / rank for rank, tool in enumerate(ranked, 1) if grades.get(tool, 0) > 0), 0.0)


def hit(ranked: Sequence[str], grades: Mapping[str, float], *, k: int) -> float:
    """1 where a relevant tool is among the first k."""
    return float(any(grades.get(tool, 0) > 0 for tool in ranked[:k]))


def recall(ranked: Sequence[str], grades: Mapping[str, float], *, k: int) -> float:
    """Share of the relevant tools that are among the first k.

    >>> recall(["a::x", "b::y", "c::z"], {"b::y": 1, "d::q": 1}, k=3)
    0.5
    """
    relevant = {tool for tool, grade in grades.items() if grade > 0}
    return len(relevant.intersection(ranked[:k])) / len(relevant) if relevant else 0.0


def ndcg(ranked: Sequence[str], grades: Mapping[str, float], *, k: int) -> float:
    """Discounted cumulative gain of the first k over the best possible; gain 2^grade - 1, discount log2(rank + 1).

    >>> ndcg(["a::x", "b::y"], {"a::x": 1}, k=10)
    1.0
    """
    ideal = sorted(grades.values(), reverse=True)[:k]
    best = sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))
    got = sum((2 ** grades.get(tool, 0) - 1) / math.log2(rank + 1) for rank, tool in enumerate(ranked[:k], 1))
    return got / best if best > 0 else 0.0


Metric = Callable[[Sequence[str], Mapping[str, float]], float]

METRICS: dict[str, Metric] = {
    "mrr": reciprocal_rank,
    "hit@1": partial(hit, k=1),
    "hit@3": partial(hit, k=3),
    "hit@5": partial(hit, k=5),
    "hit@10": partial(hit, k=10),
    "recall@3": partial(recall, k=3),
    "recall@10": partial(recall, k=10),
    "ndcg@10": partial(ndcg, k=10),
}
