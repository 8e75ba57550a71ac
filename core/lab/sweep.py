"""Many points of a router's parameters over the same tasks: what each gives, and which of them nothing else beats.

A router is asked point by point, but EHRR, whose similarities are computed once for each task and whose candidates for many
points at once (`core.routers.ehrr_batch`). What a list of candidates is worth for a task is measured once for each list.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.domain.task import Task
from core.lab.benchmark import REJECTION, grades
from core.lab.expected_outcome import expected_outcome
from core.lab.measures import JUDGED, MEASURES, measured
from core.routers.context import RoutingContext
from core.shared.errors import WayfareError

SOLVED, USD, SECONDS = "success_rate", "usd_per_task", "s_per_task"
OBJECTIVES: dict[str, Literal["minimize", "maximize"]] = {SOLVED: "maximize", USD: "minimize", SECONDS: "minimize"}

Rows = NDArray[np.int64]
Result = Mapping[str, Any]


class PointScorer:
    """The measures of a point from its candidates. `context` holds the figures that outcomes follow: the same for all points.

    Raises WayfareError where no task has a right tool.
    """

    def __init__(self, tasks: Sequence[Task], context: RoutingContext) -> None:
        self._tasks = tasks
        self._context = context
        self._possible = [at for at, task in enumerate(tasks) if task.relevant]
        if not self._possible:
            raise WayfareError("No task names a tool that can do it; a sweep needs some that do.")
        self._known: dict[tuple[int, bytes], tuple[float, ...]] = {}

    def results(self, candidates: Rows) -> list[Result]:
        """For each of P points its measures; `candidates` (P, Q, n) are rows of tools, -1 where there are no more."""
        keys = [
            [(at, np.ascontiguousarray(point[at]).tobytes()) for at in range(len(self._tasks))] for point in candidates
        ]
        fresh = dict.fromkeys(key for point in keys for key in point if key not in self._known)
        self._measure(list(fresh))
        return [self._result(point) for point in keys]

    def _measure(self, fresh: Sequence[tuple[int, bytes]]) -> None:
        if not fresh:
            return
        ids = self._context.tool_ids
        lists = [[int(row) for row in np.frombuffer(rows, dtype=np.int64) if row >= 0] for _, rows in fresh]
        tasks = [self._tasks[at] for at, _ in fresh]
        scores = measured([([ids[row] for row in rows], grades(task)) for task, rows in zip(tasks, lists, strict=True)])
        for place, (key, task, rows) in enumerate(zip(fresh, tasks, lists, strict=True)):
            outcome = expected_outcome(task, rows, self._context)
            retrieval = (float(scores[name][place]) for name in (JUDGED["judged@10"], *MEASURES.values()))
            self._known[key] = (*retrieval, outcome.solved, outcome.usd, outcome.s)

    def _result(self, keys: Sequence[tuple[int, bytes]]) -> Result:
        names = (*MEASURES, *OBJECTIVES)
        judged, *columns = zip(*(self._known[keys[at]] for at in self._possible), strict=True)
        ranked = [share for share in judged if not math.isnan(share)]  # where anything was ranked
        refused = [
            float(not rows.strip(b"\xff"))
            for (_, rows), task in zip(keys, self._tasks, strict=True)
            if not task.relevant
        ]
        return {
            **{name: statistics.fmean(column) for name, column in zip(names, columns, strict=True)},
            "judged@10": statistics.fmean(ranked) if ranked else None,
            REJECTION: statistics.fmean(refused) if refused else None,
        }


def pareto_front(results: Sequence[Result]) -> list[int]:
    """Places of the results that no other beats: none is as good in success, money and time and better in one of them.

    >>> pareto_front([{SOLVED: 0.9, USD: 2.0, SECONDS: 1.0}, {SOLVED: 0.9, USD: 1.0, SECONDS: 1.0}, {SOLVED: 0.5, USD: 0.5, SECONDS: 1.0}])
    [1, 2]
    """
    costs = np.array([[-one[SOLVED], one[USD], one[SECONDS]] for one in results]).reshape(len(results), 3)
    return [at for at, cost in enumerate(costs) if not ((costs <= cost).all(axis=1) & (costs < cost).any(axis=1)).any()]


Route = Callable[[Task], Sequence[int]]


def routed(tasks: Sequence[Task], route: Route, n: int) -> Rows:
    """(1, Q, n) candidates of a router that is asked task by task."""
    found = np.full((1, len(tasks), n), -1, dtype=np.int64)
    for at, task in enumerate(tasks):
        rows = list(route(task))[:n]
        found[0, at, : len(rows)] = rows
    return found
