"""Sweeps and searches over parameters. Each point is stored once it is known, so an interrupted sweep goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from core.decisions.case import ManyTasks, families
from core.domain.lab_runs import OPTUNA, Sweep, SweepPoint, lab_id
from core.domain.params import NetworkMoment, Parameters
from core.domain.people import actions
from core.domain.tasks import Task
from core.lab.cluster import RaySpread, Work
from core.lab.lab import LabService, parts_of_name
from core.lab.lab_runs import Experiment, LabRunService
from core.lab.sweep import (
    AGAINST,
    OBJECTIVES,
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
from core.relevance.fit_matcher import FitMatcher
from core.relevance.relevance_index import asked_text
from core.routers.base import checked_query
from core.routers.context import Query, RoutingContext
from core.routers.ehrr import EhrrParameters
from core.routers.parameters import LearningParameters
from core.store import Store

BLOCK = 64  # points of EHRR computed and committed together; 1 for other routers
GRID, RANDOM = "grid", "random"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The points of a sweep: a whole grid, or `count` drawn or searched points with a seed."""

    axes: tuple[Axis, ...]
    method: str = GRID
    count: int = 0

    def points(self, seed: int) -> list[Point]:
        """The points of a grid, or points drawn with a seed. Raises ParameterError."""
        return grid(self.axes) if self.method == GRID else drawn(self.axes, self.count, seed=seed)

    def to_json(self, points: int) -> dict[str, Any]:
        first = {"first": "present"} if self.method == OPTUNA else {}  # earlier searches began elsewhere
        return {"axes": [axis.text for axis in self.axes], "method": self.method, "points": points, **first}


@actions("tune", run="sweep")
@dataclass(eq=False)
class SweepService:
    """Runs sweeps over labelled tasks. Their decisions are not recorded."""

    store: Store
    runs: LabRunService
    now: Callable[[], datetime]

    def run(
        self,
        asked: Experiment,
        plan: SweepPlan,
        *,
        progress: Progress = lambda _done, _of: None,
        spread: RaySpread | None = None,
    ) -> dict[str, Any]:
        """The sweep's document. Stored points are not computed again. `progress` gets the number of known points and of all. The machines
        of a `spread` compute grids and drawn points. Raises WayfareError.
        """
        points = None if plan.method == OPTUNA else plan.points(asked.seed)
        total = plan.count if points is None else len(points)
        conditions = self.runs.conditions(asked)
        spec = plan.to_json(total)
        sweep = Sweep(**asdict(conditions), id=lab_id(conditions, spec), at=self.now(), plan_json=json.dumps(spec))
        router = TasksAsked(self.runs.lab, asked.tasks, asked.catalog, asked.router, asked.hints)
        stored = self.store.lab_runs.begin(sweep, self.runs.inputs(conditions, asked.tasks))
        progress(len(stored), total)
        if points is None:
            self._search(sweep, plan, router, asked.parameters, stored, progress)
        else:
            rest = [(number, point) for number, point in enumerate(points) if number not in stored]
            size = BLOCK if isinstance(asked.parameters, EhrrParameters) else 1
            blocks = [rest[start : start + size] for start in range(0, len(rest), size)]
            parameter_blocks = [[asked.parameters.replaced(point) for _, point in block] for block in blocks]
            if spread is None:
                numbered = enumerate(map(router.results, parameter_blocks))
            else:
                catalog = self.runs.catalogs.catalog(parts_of_name(asked.catalog)[0])
                work = Work(replace(catalog, name=asked.catalog), asked.router, asked.tasks, asked.hints)
                numbered = spread.points(work, parameter_blocks)
            done = len(stored)
            for number, results in numbered:
                self._keep(sweep, blocks[number], results)
                done += len(blocks[number])
                progress(done, total)
        return self.document(sweep.id)

    def measured(
        self, tasks: Sequence[Task], points: Sequence[Parameters], *, catalog: str, router: str, hints: bool
    ) -> list[Result]:
        """The measures of each point over these tasks. Nothing is stored."""
        return TasksAsked(self.runs.lab, tasks, catalog, router, hints).results(points)

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
        scorer = TasksAsked(self.runs.lab, tasks, catalog, router, hints=True)
        return changes(scorer.per_task(before), scorer.per_task(after), names, tests=tests)

    def document(self, sweep: str) -> dict[str, Any]:
        """The stored sweep: every point in order, and the Pareto front in success, money and time."""
        points = [
            {"number": point.number, "values": json.loads(point.values_json), **json.loads(point.result_json)}
            for point in self.store.lab_runs.points(sweep)
        ]
        return {"sweep": sweep, "points": points, "front": [points[place]["number"] for place in pareto_front(points)]}

    def _search(
        self,
        sweep: Sweep,
        plan: SweepPlan,
        scorer: TasksAsked,
        parameters: Parameters,
        stored: Mapping[int, SweepPoint],
        progress: Progress,
    ) -> None:
        search, present = Search(plan.axes, parameters.values(), seed=sweep.seed), scorer.per_task(parameters)
        for number, point in enumerate(search.points(plan.count)):
            if number in stored:
                result = json.loads(stored[number].result_json)
            else:
                candidate = parameters.replaced(point)
                noise = against(scorer.per_task(candidate), present, tests=max(1, plan.count - 1))
                result = {**scorer.results([candidate])[0], AGAINST: noise}
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
    """A router over labelled tasks under many sets of parameters, under `network` or else the catalog's. Raises WayfareError if no task names a right tool."""

    lab: LabService
    tasks: Sequence[Task]
    catalog: str
    router: str
    hints: bool
    network: NetworkMoment | None = None

    def __post_init__(self) -> None:
        context = self._context()
        self._scorer, matcher, planner = PointScorer(self.tasks, context), context.matcher, RulesPlanner()
        queries = [
            Query(checked_query(task.subtask), self._hint(task), matcher, planner) for task in self._scorer.queries
        ]
        if isinstance(matcher.fitting, FitMatcher):
            matcher.fitting.encoder.encode_queries([asked_text(query.text, query.hint) for query in queries])
        self._ehrr = ManyTasks(queries, self._context)

    def _context(self, learning: LearningParameters | None = None) -> RoutingContext:
        return self.lab.context(self.catalog, self.network, learning)

    def results(self, points: Sequence[Parameters]) -> list[Result]:
        pairs = self._candidates(points)
        return self._scorer.results([rows for rows, _ in pairs], [payments for _, payments in pairs])

    @property
    def possible(self) -> list[Task]:
        return [self.tasks[place] for place in self._scorer.possible]

    def per_task(self, point: Parameters) -> dict[str, Floats]:
        return self.first_and_measures(point)[1]

    def first_and_measures(self, point: Parameters) -> tuple[Rows, dict[str, Floats]]:
        """The row of the first tool, -1 for none, (T,), and the measures of one point for each of the T possible tasks."""
        candidates, payments = self._candidates([point])[0]
        return candidates[self._scorer.possible, 0], self._scorer.per_task(candidates, payments)

    def _candidates(self, points: Sequence[Parameters]) -> list[tuple[Rows, Floats | None]]:
        """(Q, n) candidates of each point, in order, and the payment of a call of each, None for the listed prices."""
        ehrr = [point for point in points if isinstance(point, EhrrParameters)]
        if len(ehrr) < len(points):
            return [(self._routed(point), None) for point in points]
        by_place: dict[int, tuple[Rows, Floats | None]] = {}
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
        rows = np.full((len(self._scorer.queries), int(point.values().get("n") or 0)), -1, dtype=np.int64)
        for row, task in zip(rows, self._scorer.queries, strict=True):
            decision = self.lab.routing.decide(task.subtask, context, self.router, point, server_hint=self._hint(task))
            candidates = decision.candidates[: len(row)]
            row[: len(candidates)] = candidates
        return rows

    def _hint(self, task: Task) -> str:
        return task.server_hint.strip() if self.hints else ""


class Search:
    """Optuna's search for points that are good in success, money and time: a tree-structured Parzen estimator.

    The present setting is the `first` point. Each point needs its result before the next is proposed. Equal seeds and results give equal
    points, so an interrupted search goes on after it gets the known results.
    """

    def __init__(self, axes: Sequence[Axis], first: Point, *, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(directions=list(OBJECTIVES.values()), sampler=sampler)
        self._axes = axes
        self._trial: Any = None
        self._asked: dict[str, Any] = {}
        self._space = _space(axes)
        self._first = {axis.name: first[axis.name] for axis in axes}

    def points(self, count: int) -> Iterator[Point]:
        """`count` points. Call `tell` with the result of each before taking the next."""
        for number in range(count):
            if number == 0:
                self._asked = {axis.name: _place(axis, self._first[axis.name]) for axis in self._axes}
                yield self._first
            else:
                self._trial = self._study.ask(self._space)
                self._asked = dict(self._trial.params)
                yield {axis.name: _value(axis, self._asked[axis.name]) for axis in self._axes}

    def tell(self, result: Mapping[str, Any]) -> None:
        """Give the result of the last point. The sampler does not learn from a setting outside its axes."""
        from optuna.trial import create_trial

        values = [float(result[name]) for name in OBJECTIVES]
        if self._trial is not None:
            self._study.tell(self._trial, values)
        elif None not in self._asked.values():
            self._study.add_trial(create_trial(params=dict(self._asked), distributions=self._space, values=values))


def _space(axes: Sequence[Axis]) -> dict[str, Any]:
    """For each axis any place on the track of a range, or positions among its values. Positions of numbers are ordered."""
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

    def distribution(axis: Axis) -> BaseDistribution:
        if axis.ranged:
            return FloatDistribution(0.0, 1.0)
        if axis.numeric:
            return IntDistribution(0, len(axis.values) - 1)
        return CategoricalDistribution(range(len(axis.values)))

    return {axis.name: distribution(axis) for axis in axes}


def _place(axis: Axis, value: Any) -> float | None:
    """A value's place on the track of its axis, or its position among the axis's values. None if it is outside."""
    if axis.ranged:
        return axis.share(value) if value is not None and axis.low <= value <= axis.high else None
    return axis.values.index(value) if value in axis.values else None


def _value(axis: Axis, place: float) -> Any:
    return axis.at(place) if axis.ranged else axis.values[int(place)]


FEWEST = 10  # points; fewer give no result


def importances(axes: Sequence[Axis], points: Sequence[Mapping[str, Any]], objective: str) -> dict[str, float]:
    """The share of each parameter in the difference of the best tenth of the points from all. Sums to 1, the greatest first.

    PED-ANOVA (Watanabe, Bansal and Hutter, IJCAI 2023): the divergence of the two densities of each parameter. Empty for fewer than
    `FEWEST` points and for a constant objective.
    """
    import optuna

    values = [float(point[objective]) for point in points]
    if len(points) < FEWEST or max(values) == min(values):
        return {}
    space, study = _space(axes), optuna.create_study(direction=OBJECTIVES[objective])
    for point, value in zip(points, values, strict=True):
        params = {axis.name: _place(axis, point["values"][axis.name]) for axis in axes}
        if None not in params.values():
            study.add_trial(optuna.create_trial(params=params, distributions=space, value=value))
    return optuna.importance.get_param_importances(study, evaluator=optuna.importance.PedAnovaImportanceEvaluator())
