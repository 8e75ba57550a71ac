"""A router over labelled tasks at many points of its parameters.

A router is asked point by point. EHRR computes the similarities of each task once and the candidates of many points together
(`core.decisions.case`). Each list of candidates is measured once per task.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.decisions.case import ManyTasks, families
from core.domain.errors import WayfareError
from core.domain.params import NetworkMoment, Parameters
from core.domain.tasks import Task
from core.lab.benchmark import JUDGED, MEASURES, REJECTION, grades, measured
from core.lab.execution import expected_outcome, sub_tasks
from core.lab.lab import LabService
from core.lab.sweep import OUTCOMES, Floats, Result
from core.planning.rules import RulesPlanner
from core.relevance.fit_matcher import FitMatcher
from core.relevance.relevance_index import asked_text
from core.routers.base import checked_query
from core.routers.context import Query, RoutingContext
from core.routers.ehrr import EhrrParameters
from core.routers.parameters import LearningParameters

UNPRICED = "unpriced"  # expected calls without a known price, for each task
Rows = NDArray[np.int64]
Asked = tuple[Rows, Floats | None]
"""(Q, n) candidates of each query at one point, rows of tools padded with -1, and the USD of a call of each, None for the listed prices."""
Key = tuple[int, bytes, bytes]
"""A task, all candidates of its measures (its own, then of its sub-tasks), and their payments."""


@dataclass(eq=False)
class TasksAsked:
    """A router over labelled tasks under many sets of parameters, under `network` or else the catalog's. `possible` are the tasks that name a
    right tool. Raises WayfareError without any.
    """

    lab: LabService
    tasks: Sequence[Task]
    catalog: str
    router: str
    hints: bool
    network: NetworkMoment | None = None

    def __post_init__(self) -> None:
        self.possible = [task for task in self.tasks if task.relevant]
        if not self.possible:
            raise WayfareError("No task names a tool that can do it; give tasks that do.")
        self._places = [place for place, task in enumerate(self.tasks) if task.relevant]
        self._asked = list(self.tasks)  # then the sub-tasks of tasks with several steps
        self._parts: list[Sequence[int]] = []
        for row, task in enumerate(self.tasks):
            parts = sub_tasks(task)
            self._parts.append((row,) if len(parts) == 1 else range(len(self._asked), len(self._asked) + len(parts)))
            self._asked += parts if len(parts) > 1 else ()
        self._known: dict[Key, tuple[float, ...]] = {}
        self.context, planner = self._context(), RulesPlanner()
        matcher = self.context.matcher
        queries = [Query(checked_query(task.subtask), self._hint(task), matcher, planner) for task in self._asked]
        if isinstance(matcher.fitting, FitMatcher):
            matcher.fitting.encoder.encode_queries([asked_text(query.text, query.hint) for query in queries])
        self._ehrr = ManyTasks(queries, self._context)

    def _context(self, learning: LearningParameters | None = None) -> RoutingContext:
        return self.lab.context(self.catalog, self.network, learning)

    def results(self, points: Sequence[Parameters]) -> list[Result]:
        """The measures of each point: means over the possible tasks."""
        return [self._result(keys) for keys in self._measured(self._candidates(points))]

    def per_task(self, point: Parameters) -> dict[str, Floats]:
        return self.first_and_measures(point)[1]

    def first_and_measures(self, point: Parameters) -> tuple[Rows, dict[str, Floats]]:
        """The row of the first tool, -1 for none, (T,), and the measures of one point for each of the T possible tasks."""
        asked = self._candidates([point])
        (keys,) = self._measured(asked)
        rows = np.array([self._known[keys[place]] for place in self._places])
        measures = dict(zip((*MEASURES, *OUTCOMES, UNPRICED), rows[:, 1:].T, strict=True))
        return asked[0][0][self._places, 0], measures

    def _candidates(self, points: Sequence[Parameters]) -> list[Asked]:
        ehrr = [point for point in points if isinstance(point, EhrrParameters)]
        if len(ehrr) < len(points):
            return [(self._routed(point), None) for point in points]
        by_place: dict[int, Asked] = {}
        for places in families(ehrr):
            family = [ehrr[place] for place in places]
            rows = self._ehrr.candidates(family)
            by_price = family[0].settlement == "price"
            payments = [None] * len(family) if by_price else self._ehrr.payments(family, rows)
            by_place |= dict(zip(places, zip(rows, payments, strict=True), strict=True))
        return [by_place[place] for place in range(len(points))]

    def _routed(self, point: Parameters) -> Rows:
        """(Q, n) candidates of a router that decides task by task."""
        context = self._context(point if isinstance(point, LearningParameters) else None)
        rows = np.full((len(self._asked), int(point.values().get("n") or 0)), -1, dtype=np.int64)
        for row, task in zip(rows, self._asked, strict=True):
            decision = self.lab.routing.decide(task.subtask, context, self.router, point, server_hint=self._hint(task))
            candidates = decision.candidates[: len(row)]
            row[: len(candidates)] = candidates
        return rows

    def _hint(self, task: Task) -> str:
        return task.server_hint.strip() if self.hints else ""

    def _measured(self, points: Sequence[Asked]) -> list[list[Key]]:
        """The keys of all tasks at each point, which then are known."""
        keys = [[self._key(number, *point) for number in range(len(self.tasks))] for point in points]
        self._measure(list(dict.fromkeys(key for point in keys for key in point if key not in self._known)))
        return keys

    def _key(self, number: int, candidates: Rows, payments: Floats | None) -> Key:
        rows = [number, *self._parts[number]]
        return number, candidates[rows].tobytes(), b"" if payments is None else payments[rows].tobytes()

    def _measure(self, fresh: Sequence[Key]) -> None:
        ids = self.context.tool_ids
        lists: list[list[list[int]]] = []
        for number, rows, _ in fresh:
            table = np.frombuffer(rows, dtype=np.int64).reshape(1 + len(self._parts[number]), -1)
            lists.append([[int(row) for row in line if row >= 0] for line in table])
        tasks = [self.tasks[number] for number, *_ in fresh]
        ranked = [([ids[row] for row in whole], grades(task)) for task, (whole, *_) in zip(tasks, lists, strict=True)]
        scores = measured(ranked)
        for place, (key, task, (_, *parts)) in enumerate(zip(fresh, tasks, lists, strict=True)):
            payments = list(np.frombuffer(key[2]).reshape(1 + len(parts), -1)[1:]) if key[2] else None
            outcome = expected_outcome(task, parts, self.context, payments)
            retrieval = (float(scores[name][place]) for name in (JUDGED["judged@10"], *MEASURES.values()))
            self._known[key] = (
                *retrieval,
                outcome.solved,
                outcome.usd,
                outcome.s,
                outcome.invalid_tools,
                outcome.unpriced,
            )

    def _result(self, keys: Sequence[Key]) -> Result:
        judged, *columns = zip(*(self._known[keys[place]] for place in self._places), strict=True)
        shares = [share for share in judged if not math.isnan(share)]  # only rankings that are not empty
        refusals = [
            float(not rows.strip(b"\xff"))
            for (_, rows, _), task in zip(keys, self.tasks, strict=True)
            if not task.relevant
        ]
        return {
            **{name: statistics.fmean(column) for name, column in zip((*MEASURES, *OUTCOMES), columns, strict=False)},
            "judged@10": statistics.fmean(shares) if shares else None,
            REJECTION: statistics.fmean(refusals) if refusals else None,
        }
