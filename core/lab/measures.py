"""Retrieval measures over ranked candidates, computed by ir_measures under its names. Nothing else imports it.

A new measure is one line in `MEASURES`: the key under which `wayfare bench` prints it, and its name in ir_measures.

Relevance is handed over as the gain 2^grade - 1 in thousandths, because ir_measures takes whole numbers and its nDCG takes
them as gains: with grades of 1 alone this is trec_eval's nDCG, with others that of Burges et al. (2005).

>>> scores = measured([(("a::x", "b::y"), {"b::y": 1.0}), ((), {"b::y": 1.0})])
>>> scores["RR"].tolist(), scores["Success@3"].tolist(), scores["nDCG@10"].round(3).tolist()
([0.5, 0.0], [1.0, 0.0], [0.631, 0.0])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ir_measures
import numpy as np
from numpy.typing import NDArray

MEASURES = {
    "mrr": "RR",
    "hit@1": "Success@1",
    "hit@3": "Success@3",
    "hit@5": "Success@5",
    "hit@10": "Success@10",
    "recall@3": "R@3",
    "recall@10": "R@10",
    "ndcg@10": "nDCG@10",
    "P@3": "P@3",
    "P@10": "P@10",
}
JUDGED = {f"judged@{depth}": f"Judged@{depth}" for depth in (1, 3, 5, 10)}
LARGEST_GRADE = 8.0  # of more the gain is no larger

# its types name those of pandas, which it does not import
ITER_CALC: Any = ir_measures.iter_calc  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]

Floats = NDArray[np.float64]
Labelled = tuple[Sequence[str], Mapping[str, float]]
"""What a router ranked, best first, and the grade of every tool that was judged."""


def measured(tasks: Sequence[Labelled]) -> dict[str, Floats]:
    """Each measure's value for each task, (T,) under its ir_measures name. A task with nothing ranked has 0 in all.

    `Judged@k` is the share of the first k that somebody judged, NaN where nothing was ranked.
    """
    names = {str(number): number for number in range(len(tasks))}
    relevance = {name: {tool: _gain(grade) for tool, grade in tasks[at][1].items()} for name, at in names.items()}
    ranked = {
        name: {tool: float(-place) for place, tool in enumerate(tasks[at][0])}
        for name, at in names.items()
        if tasks[at][0]
    }
    found = {name: np.zeros(len(tasks)) for name in MEASURES.values()} | {
        name: np.full(len(tasks), np.nan) for name in JUDGED.values()
    }
    if ranked:
        for metric in ITER_CALC([ir_measures.parse_measure(name) for name in found], relevance, ranked):
            if metric.query_id in ranked:
                found[str(metric.measure)][names[metric.query_id]] = metric.value
    return found


def first_right(ranked: Sequence[str], grades: Mapping[str, float]) -> int | None:
    """The rank, from 1, of the first tool of a positive grade; None where there is none.

    >>> first_right(["a::x", "b::y"], {"a::x": 0.0, "b::y": 1.0})
    2
    """
    return next((rank for rank, tool in enumerate(ranked, 1) if grades.get(tool, 0.0) > 0), None)


def _gain(grade: float) -> int:
    """2^grade - 1 in thousandths; at least one of them where the grade is above 0."""
    return max(1, round(1000 * (2.0 ** min(grade, LARGEST_GRADE) - 1))) if grade > 0 else 0
