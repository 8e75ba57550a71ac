"""Sweeps and searches over parameters. Each point is stored once it is known, so an interrupted sweep goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np

from core.catalogs.catalogs import CatalogService
from core.decisions.case import ManyTasks, families
from core.decisions.routing import RoutingService
from core.domain.lab_runs import OPTUNA, Sweep, SweepPoint, lab_id
from core.domain.params import Parameters
from core.domain.people import actions
from core.domain.tasks import Task
from core.lab.cluster import RaySpread, Work
from core.lab.lab_runs import LabRunService
from core.lab.sweep import (
    AGAINST,
    Axis,
    Change,
    Floats,
    Point,
    PointScorer,
    Result,
    Rows,
    against,
    changes,
    drawn,
    grid,
    pareto_front,
)
from core.planning.rules import RulesPlanner
from core.routers.base import checked_subtask
from core.routers.context import Query
from core.routers.ehrr import EhrrParameters
from core.store import Store

BLOCK = 64  # points of EHRR computed and committed together; other routers have one
GRID, RANDOM = "grid", "random"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The points of a sweep: all of a grid, or `count` that are drawn or searched for with a seed."""

    axes: tuple[Axis, ...]
    method: str = GRID
    count: int = 0

    def to_json(self, points: int) -> dict[str, Any]:
        """The stored form."""
        first = {"first": "present"} if self.method == OPTUNA else {}  # searches of before began elsewhere
        return {"axes": [axis.text for axis in self.axes], "method": self.method, "points": points, **first}


@actions("tune", run="sweep")
@dataclass(eq=False)
class SweepService:
    """Runs sweeps over labelled tasks. Their decisions are not recorded."""

    store: Store
    catalogs: CatalogService
    routing: RoutingService
    runs: LabRunService
    now: Callable[[], datetime]

    def run(
        self,
        tasks: Sequence[Task],
        plan: SweepPlan,
        *,
        source: str,
        catalog: str,
        router: str,
        preset: str,
        parameters: Parameters,
        hints: bool = True,
        seed: int = 0,
        progress: Progress = lambda _done, _of: None,
        spread: RaySpread | None = None,
    ) -> dict[str, Any]:
        """The sweep's document. Stored points are not computed again. `progress` gets the known points and their total. The machines of a
        `spread` compute the points of a grid and drawn ones. Raises WayfareError.
        """
        points = None if plan.method == OPTUNA else _points(plan, seed)
        total = plan.count if points is None else len(points)
        conditions = self.runs.conditions(
            tasks, source=source, catalog=catalog, router=router, preset=preset, parameters=parameters, hints=hints,
            seed=seed,
        )  # fmt: skip
        described = plan.to_json(total)
        sweep = Sweep(
            **asdict(conditions), id=lab_id(conditions, described), at=self.now(), plan_json=json.dumps(described)
        )
        asked = TasksAsked(self.catalogs, self.routing, tasks, catalog, router, hints)
        known = self.store.lab_runs.begin(sweep, self.runs.inputs(conditions, tasks))
        progress(len(known), total)
        if points is None:
            self._search(sweep, plan, asked, parameters, known, progress)
        else:
            left = [(number, point) for number, point in enumerate(points) if number not in known]
            size = BLOCK if isinstance(parameters, EhrrParameters) else 1
            blocks = [left[at : at + size] for at in range(0, len(left), size)]
            asking = [[parameters.replaced(point) for _, point in block] for block in blocks]
            if spread is None:
                found = enumerate(map(asked.results, asking))
            else:
                found = spread.points(Work(self.catalogs.catalog(catalog), router, tasks, hints), asking)
            done = len(known)
            for at, results in found:
                self._keep(sweep, blocks[at], results)
                done += len(blocks[at])
                progress(done, total)
        return self.document(sweep.id)

    def measured(
        self, tasks: Sequence[Task], points: Sequence[Parameters], *, catalog: str, router: str, hints: bool
    ) -> list[Result]:
        """The measures of each point over these tasks. Nothing is stored."""
        return TasksAsked(self.catalogs, self.routing, tasks, catalog, router, hints).results(points)

    def changes(
        self,
        tasks: Sequence[Task],
        before: Parameters,
        after: Parameters,
        names: Sequence[str],
        *,
        catalog: str,
        router: str,
        tests: int = 1,
    ) -> list[Change]:
        """The named measures before and after a change of parameters, task by task; `tests` as in `core.lab.sweep.changes`."""
        asked = TasksAsked(self.catalogs, self.routing, tasks, catalog, router, hints=True)
        return changes(asked.per_task(before), asked.per_task(after), names, tests=tests)

    def document(self, sweep: str) -> dict[str, Any]:
        """The stored sweep: every point in order, and the Pareto front in success, money and time."""
        points = [
            {"number": point.number, "values": json.loads(point.values_json), **json.loads(point.result_json)}
            for point in self.store.lab_runs.points(sweep)
        ]
        return {"sweep": sweep, "points": points, "front": [points[at]["number"] for at in pareto_front(points)]}

    def importances(
        self, axes: Sequence[Axis], points: Sequence[Mapping[str, Any]], objective: str
    ) -> dict[str, float]:
        """How much each parameter mattered for an objective among the points of a document; see `core.lab.search`."""
        from core.lab.search import importances  # loads Optuna

        return importances(axes, points, objective)

    def _search(
        self,
        sweep: Sweep,
        plan: SweepPlan,
        asked: TasksAsked,
        parameters: Parameters,
        known: Mapping[int, SweepPoint],
        progress: Progress,
    ) -> None:
        from core.lab.search import Search  # loads Optuna

        search, present = Search(plan.axes, parameters.values(), seed=sweep.seed), asked.per_task(parameters)
        for number, point in enumerate(search.points(plan.count)):
            if number in known:
                result = json.loads(known[number].result_json)
            else:
                tried = parameters.replaced(point)
                noise = against(asked.per_task(tried), present, tests=max(1, plan.count - 1))
                result = {**asked.results([tried])[0], AGAINST: noise}
                self._keep(sweep, [(number, point)], [result])
            search.tell(result)
            progress(number + 1, plan.count)

    def _keep(self, sweep: Sweep, block: Sequence[tuple[int, Point]], results: Sequence[Result]) -> None:
        self.store.lab_runs.add_points(
            [
                SweepPoint(sweep.id, number, json.dumps(point), json.dumps(result))
                for (number, point), result in zip(block, results, strict=True)
            ]
        )


@dataclass(eq=False)
class TasksAsked:
    """A router over labelled tasks, under one set of parameters after another. Raises WayfareError if no task names a right tool."""

    catalogs: CatalogService
    routing: RoutingService
    tasks: Sequence[Task]
    catalog: str
    router: str
    hints: bool

    def __post_init__(self) -> None:
        self._scorer = PointScorer(self.tasks, self.catalogs.context(self.catalog))
        matcher, planner = self.catalogs.context(self.catalog).matcher, RulesPlanner()
        queries = [
            Query(checked_subtask(task.subtask), self._hint(task), matcher, planner) for task in self._scorer.queries
        ]
        self._ehrr = ManyTasks(queries, lambda parameters: self.catalogs.context(self.catalog, parameters))

    def results(self, points: Sequence[Parameters]) -> list[Result]:
        """The measures of each point, in order."""
        found = self._candidates(points)
        return self._scorer.results([rows for rows, _ in found], [paid for _, paid in found])

    @property
    def possible(self) -> list[Task]:
        """The tasks that name a right tool, in order."""
        return [self.tasks[at] for at in self._scorer.possible]

    def per_task(self, point: Parameters) -> dict[str, Floats]:
        """The measures of one point for each possible task."""
        return self.first_and_measures(point)[1]

    def first_and_measures(self, point: Parameters) -> tuple[Rows, dict[str, Floats]]:
        """The row of the first tool, -1 for none, (T,), and the measures of one point for each of the T possible tasks."""
        candidates, payments = self._candidates([point])[0]
        return candidates[self._scorer.possible, 0], self._scorer.per_task(candidates, payments)

    def _candidates(self, points: Sequence[Parameters]) -> list[tuple[Rows, Floats | None]]:
        """(Q, n) candidates of each point, in order, and what a call of each pays, None for the listed prices."""
        ehrr = [point for point in points if isinstance(point, EhrrParameters)]
        if len(ehrr) < len(points):
            return [(self._routed(point), None) for point in points]
        found: dict[int, tuple[Rows, Floats | None]] = {}
        for places in families(ehrr):
            family = [ehrr[at] for at in places]
            rows = self._ehrr.candidates(family)
            listed = family[0].settlement == "price"
            paid = [None] * len(family) if listed else self._ehrr.payments(family, rows)
            found |= dict(zip(places, zip(rows, paid, strict=True), strict=True))
        return [found[at] for at in range(len(points))]

    def _routed(self, point: Parameters) -> Rows:
        """(Q, n) candidates of a router that decides task by task."""
        found = np.full((len(self._scorer.queries), int(point.values().get("n") or 0)), -1, dtype=np.int64)
        for row, task in zip(found, self._scorer.queries, strict=True):
            candidates = self.routing.route(
                task.subtask, catalog=self.catalog, router=self.router, parameters=point, server_hint=self._hint(task),
                record=False,
            ).candidates[: len(row)]  # fmt: skip
            row[: len(candidates)] = candidates
        return found

    def _hint(self, task: Task) -> str:
        return task.server_hint.strip() if self.hints else ""


def _points(plan: SweepPlan, seed: int) -> list[Point]:
    return grid(plan.axes) if plan.method == GRID else drawn(plan.axes, plan.count, seed=seed)
