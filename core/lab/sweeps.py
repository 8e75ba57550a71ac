"""Sweeps and searches over parameters. Each point is stored once it is known, so an interrupted sweep goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from core.domain.lab_runs import OPTUNA, Sweep, SweepPoint, lab_id
from core.domain.params import Parameters
from core.domain.people import actions
from core.domain.tasks import Task
from core.lab.cluster import RaySpread, Work
from core.lab.lab import parts_of_name
from core.lab.lab_runs import Experiment, LabRunService
from core.lab.points import TasksAsked
from core.lab.sweep import (
    AGAINST,
    OBJECTIVES,
    Axis,
    Change,
    Point,
    Result,
    against,
    changes,
    drawn,
    grid,
    pareto_front,
)
from core.routers.ehrr import EhrrParameters
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
        self._axes, self._space = axes, _space(axes)
        self._trial: Any = None  # None at the first point
        self._first = {axis.name: first[axis.name] for axis in axes}

    def points(self, count: int) -> Iterator[Point]:
        """`count` points. Call `tell` with the result of each before taking the next."""
        yield self._first
        for _ in range(1, count):
            self._trial = self._study.ask(self._space)
            yield {axis.name: _value(axis, self._trial.params[axis.name]) for axis in self._axes}

    def tell(self, result: Mapping[str, Any]) -> None:
        """Give the result of the last point. The sampler does not learn from a setting outside its axes."""
        from optuna.trial import create_trial

        values = [float(result[name]) for name in OBJECTIVES]
        places = {axis.name: _place(axis, self._first[axis.name]) for axis in self._axes}
        if self._trial is not None:
            self._study.tell(self._trial, values)
        elif None not in places.values():
            self._study.add_trial(create_trial(params=places, distributions=self._space, values=values))


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
