"""Sweeps: equal to single routing, and resumed after an interruption with equal bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.app import App
from core.domain.errors import WayfareError
from core.domain.lab_runs import OPTUNA, Sweep
from core.lab.benchmark import MEASURES
from core.lab.lab_runs import Experiment
from core.lab.points import TasksAsked
from core.lab.sweep import read_axis
from core.lab.sweeps import GRID, RANDOM, SweepPlan
from tests.cases import each
from tests.lab.test_lab_runs import TASKS
from tests.world import open_world

KINDS = {  # router, method, count, axes
    "grid": ("ehrr", GRID, 0, ("alpha_t=0:1:0.02", "auction=on,off")),
    "one by one": ("rag_mcp", GRID, 0, ("n=1:10",)),
    "random": ("ehrr", RANDOM, 90, ("alpha_t=0:1", "kappa=0:1000", "w_names=0,0.5", "similarity=fit,views")),
    "optuna": ("ehrr", OPTUNA, 12, ("alpha_t=0:1", "kappa=0:1000:10", "auction=on,off")),
}


def swept(app: App, kind: str, progress: Callable[[int, int], None] = lambda _done, _of: None) -> dict[str, Any]:
    """The document of a sweep of this kind."""
    router, method, count, axes = KINDS[kind]
    parameters = app.routing.parameters(router, {"n": 10})
    return app.sweeps.run(
        Experiment(TASKS, source="t.jsonl", catalog="world", router=router, parameters=parameters, seed=7),
        SweepPlan(tuple(read_axis(text, type(parameters)) for text in axes), method, count),
        progress=progress,
    )


class HalfWayError(Exception):
    """Ends a sweep half-way."""


@each(("kind", "stop_after"), [("grid", 64), ("optuna", 5)])
def test_an_interrupted_sweep_is_taken_up_and_ends_with_the_same_bytes(
    app: App, tmp_path: Path, kind: str, stop_after: int
) -> None:
    def stop(done: int, _of: int) -> None:
        if done >= stop_after:
            raise HalfWayError

    with pytest.raises(HalfWayError):
        swept(app, kind, stop)
    (sweep,) = (stored for stored in app.lab_runs.sweeps() if json.loads(stored.plan_json)["method"] == KINDS[kind][1])
    stored_points = app.store.lab_runs.points(sweep.id)
    assert len(stored_points) == stop_after
    marked = type(stored_points[3])(
        sweep.id, 3, stored_points[3].values_json, json.dumps({**json.loads(stored_points[3].result_json), "mrr": 9.0})
    )
    app.store.lab_runs.add_points([marked])
    steps: list[int] = []
    document = swept(app, kind, lambda done, _of: steps.append(done))
    points = document["points"]
    assert [point["number"] for point in points if point["mrr"] == 9.0] == [3], "what is known is not computed again"
    assert (steps[0], steps[-1]) == (stop_after, len(points))
    with open_world(tmp_path / "other.duckdb", in_memory=True) as other_app:
        uninterrupted = swept(other_app, kind)
    points[3]["mrr"] = uninterrupted["points"][3]["mrr"]
    assert json.dumps(document) == json.dumps(uninterrupted)


@each("kind", KINDS)
def test_each_point_is_what_bench_says_of_it(app: App, kind: str) -> None:
    router = KINDS[kind][0]
    document = swept(app, kind)
    points = document["points"]
    assert [point["number"] for point in points] == list(range(len(points)))
    for point in points[:: max(1, len(points) // 5)]:
        parameters = app.routing.parameters(router, {"n": 10, **point["values"]})
        run = app.lab.benchmark(TASKS, catalog="world", router=router, parameters=parameters)
        assert {name: point[name] for name in MEASURES} == pytest.approx(run.measures)
        assert (point["rejection"], point["judged@10"]) == (run.rejection, run.judged["judged@10"])
    stored = app.lab_runs.find(document["sweep"][:6])
    assert isinstance(stored, Sweep)
    assert json.loads(stored.plan_json)["axes"] == list(KINDS[kind][3])
    assert app.lab_runs.tasks(stored) == TASKS


def test_tasks_of_which_none_names_a_right_tool_are_refused(app: App) -> None:
    with pytest.raises(WayfareError, match="No task names a tool"):
        TasksAsked(app.lab, TASKS[2:], "world", "ehrr", hints=True)
    parameters = app.routing.parameters("ehrr", {"n": 10})
    alone, behind = (TasksAsked(app.lab, tasks, "world", "ehrr", hints=True) for tasks in (TASKS[1:2], TASKS[:0:-1]))
    assert alone.first_and_measures(parameters)[0].tolist() == behind.first_and_measures(parameters)[0].tolist()


def test_a_sweep_of_refusals_refuses(app: App) -> None:
    """The knob that refuses sub-tasks acts before the ranking, in a sweep too."""
    parameters = app.routing.parameters("ehrr", {"n": 10})
    plan = SweepPlan((read_axis("wrong_refusals=0,50", type(parameters)),))
    allowed, refused = app.sweeps.run(
        Experiment(TASKS, source="t", catalog="world", router="ehrr", parameters=parameters), plan
    )["points"]
    for point, percent in ((allowed, 0), (refused, 50)):
        chosen = parameters.replaced({"wrong_refusals": percent})
        run = app.lab.benchmark(TASKS, catalog="world", router="ehrr", parameters=chosen)
        assert (point["mrr"], point["rejection"]) == (pytest.approx(run.measures["mrr"]), run.rejection)
