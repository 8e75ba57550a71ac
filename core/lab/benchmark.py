"""Retrieval and routing measures over labelled tasks, for each task and as means."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Decision
from core.domain.params import Value
from core.domain.significance import interval
from core.domain.tasks import Task
from core.lab.execution import Routed
from core.routers.parameters import FIT

# Measures of rankings, by ir_measures under its names
# A new measure is one line in `MEASURES`: its key in `wayfare bench`, and its name in ir_measures. Grades are passed as gains,
# 2^grade - 1 in thousandths, because ir_measures takes whole numbers and its nDCG takes them as gains. With grades of 1 alone this
# is the nDCG of trec_eval, with others that of Burges et al. (2005).

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
LARGEST_GRADE = 8.0  # the gain stops growing here

Floats = NDArray[np.float64]
Labelled = tuple[Sequence[str], Mapping[str, float]]
"""The ranking of a router, best first, and the grade of every judged tool."""


def measured(tasks: Sequence[Labelled]) -> dict[str, Floats]:
    """Each measure of each task, (T,) under its ir_measures name. A task without a ranking has 0 in all.

    `Judged@k` is the judged share of the first k, NaN without a ranking.

    >>> scores = measured([(("a::x", "b::y"), {"b::y": 1.0}), ((), {"b::y": 1.0})])
    >>> scores["RR"].tolist(), scores["Success@3"].tolist(), scores["nDCG@10"].round(3).tolist()
    ([0.5, 0.0], [1.0, 0.0], [0.631, 0.0])
    """
    names = {str(number): number for number in range(len(tasks))}
    qrels = {name: {tool: _gain(grade) for tool, grade in tasks[number][1].items()} for name, number in names.items()}
    ranked = {
        name: {tool: float(-place) for place, tool in enumerate(tasks[number][0])}
        for name, number in names.items()
        if tasks[number][0]
    }
    scores = {name: np.zeros(len(tasks)) for name in MEASURES.values()} | {
        name: np.full(len(tasks), np.nan) for name in JUDGED.values()
    }
    if ranked:
        import ir_measures

        calculate: Any = ir_measures.iter_calc  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType] its types name pandas
        for metric in calculate([ir_measures.parse_measure(name) for name in scores], qrels, ranked):
            if metric.query_id in ranked:
                scores[str(metric.measure)][names[metric.query_id]] = metric.value
    return scores


def first_right(ranked: Sequence[str], grades: Mapping[str, float]) -> int | None:
    """The rank, from 1, of the first tool with a positive grade, None without one.

    >>> first_right(["a::x", "b::y"], {"a::x": 0.0, "b::y": 1.0})
    2
    """
    return next((rank for rank, tool in enumerate(ranked, 1) if grades.get(tool, 0.0) > 0), None)


def _gain(grade: float) -> int:
    """2^grade - 1 in thousandths, at least 1 for a positive grade."""
    return max(1, round(1000 * (2.0 ** min(grade, LARGEST_GRADE) - 1))) if grade > 0 else 0


# Runs of a router over tasks

RouteTask = Callable[[Task], Decision]
REJECTION = "rejection"
CLOCKED = ("latency_ms_p50", "latency_ms_p95")  # the keys of a result that a second run does not repeat


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One task: its right tools, its candidates, and the rank from 1 of the first right tool, None without one.

    Without a right candidate, `dropped_by` is the stage that dropped the most similar right tool, or `execution.ABSENT` if the catalog has no
    right tool. It is "" for impossible tasks.
    """

    id: str
    right: tuple[str, ...]
    candidates: tuple[str, ...]
    rank: int | None
    dropped_by: str = ""

    @property
    def solved(self) -> bool:
        """Whether a right tool is a candidate. An impossible task is solved without candidates."""
        return self.rank is not None if self.right else not self.candidates

    def to_json(self) -> dict[str, object]:
        """The entry of a task in `wayfare bench --json`."""
        entry: dict[str, object] = {"rank": self.rank, "right": list(self.right), "candidates": list(self.candidates)}
        return entry | ({"dropped_by": self.dropped_by} if self.dropped_by else {})


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """One router with one parameter set over all tasks.

    Measures are means over the possible tasks; a task without candidates counts as 0. `rejection` is the share of impossible
    tasks without candidates, None if there are no impossible tasks. Latencies are the decision's own times in ms. `scores` has
    each measure by its ir_measures name, (possible tasks,); `tasks` has every task in order.
    """

    router: str
    parameters: dict[str, Value]
    n: int
    measures: dict[str, float]
    rejection: float | None
    latency_ms_p50: float
    latency_ms_p95: float
    scores: Mapping[str, NDArray[np.float64]]
    tasks: tuple[TaskResult, ...]

    @property
    def judged(self) -> dict[str, float | None]:
        """By depth, as `judged@10`, the share of ranked tools that have a label. None without a ranking."""
        finite = {key: self.scores[name][np.isfinite(self.scores[name])] for key, name in JUDGED.items()}
        return {key: float(shares.mean()) if len(shares) else None for key, shares in finite.items()}

    def to_json(self, seed: int = 0) -> dict[str, Any]:
        """One entry of `wayfare bench --json`. `intervals` are 95 %, by bootstrap over tasks with the seed."""
        refusals = np.array([float(task.solved) for task in self.tasks if not task.right])
        values = {key: self.scores[name] for key, name in MEASURES.items()} | {REJECTION: refusals}
        bounds = {key: interval(scores, seed=seed) for key, scores in values.items() if len(scores)}
        return {
            "router": self.router,
            "parameters": self.parameters,
            "similarity": self.parameters.get("similarity", FIT),
            "n": self.n,
            **self.measures,
            REJECTION: self.rejection,
            **self.judged,
            "latency_ms_p50": self.latency_ms_p50,
            "latency_ms_p95": self.latency_ms_p95,
            "intervals": {key: list(bound) for key, bound in bounds.items()},
            "tasks": {task.id: task.to_json() for task in self.tasks},
        }


def measured_run(
    router: str, parameters: dict[str, Value], tasks: Sequence[Task], routed: Sequence[Routed]
) -> BenchmarkRun:
    """The measures of routed tasks, one `routed` for each."""
    scores, measures = score_tasks(tasks, [decision.candidates for decision in routed])
    results = tuple(
        TaskResult(
            task.id,
            task.relevant,
            decision.candidates,
            first_right(decision.candidates, grades(task)),
            decision.dropped_by,
        )
        for task, decision in zip(tasks, routed, strict=True)
    )
    refused = [float(result.solved) for result in results if not result.right]
    latencies = [decision.latency_ms for decision in routed]
    return BenchmarkRun(
        router=router,
        parameters=parameters,
        n=len(tasks),
        measures=measures,
        rejection=statistics.fmean(refused) if refused else None,
        latency_ms_p50=percentile(latencies, 50),
        latency_ms_p95=percentile(latencies, 95),
        scores=scores,
        tasks=results,
    )


def score_tasks(
    tasks: Sequence[Task], ranked: Sequence[Sequence[str]]
) -> tuple[dict[str, NDArray[np.float64]], dict[str, float]]:
    """The measures of the possible tasks: for each task by ir_measures' names, and their means by our keys."""
    possible = [(tools, grades(task)) for task, tools in zip(tasks, ranked, strict=True) if task.relevant]
    scores = measured(possible)
    return scores, {key: float(scores[name].mean()) if possible else 0.0 for key, name in MEASURES.items()}


def grades(task: Task) -> dict[str, float]:
    """The grade of every tool that the task's labels judge. A graded tool that is not right counts 0."""
    return dict.fromkeys(task.grades, 0.0) | {tool: task.gain(tool) for tool in task.relevant}


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile, 0 for no values.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50)
    2.0
    """
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(percent) // 100) - 1)]


def missing_labels(tasks: Sequence[Task], known: Collection[str]) -> dict[str, Any]:
    """The labels of tools that a catalog lacks: their number and share among all labels, and the tools. No router can find these.

    >>> missing_labels([Task("1", "q", relevant=("a::x", "b::y")), Task("2", "q", relevant=("b::y",))], {"a::x"})
    {'labels': 3, 'missing': 2, 'share': 0.6666666666666666, 'tools': ['b::y']}
    """
    labels = [tool for task in tasks for tool in dict.fromkeys((*task.relevant, *task.grades))]
    lacking = [tool for tool in labels if tool not in known]
    share = len(lacking) / len(labels) if labels else 0.0
    return {"labels": len(labels), "missing": len(lacking), "share": share, "tools": sorted(set(lacking))}
