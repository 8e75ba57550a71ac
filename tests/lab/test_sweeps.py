"""Sweeps: the same as the router asked one by one, taken up again after a kill, and the same bytes then."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from core.app import App
from core.domain.lab_runs import Sweep
from core.lab.benchmark import MEASURES
from tests.forking import FORKS
from tests.lab.sweep_victim import KINDS, swept
from tests.lab.test_lab_runs import TASKS
from tests.world import ROOT, open_test_app


@pytest.mark.parametrize(("kind", "stop_after"), [("grid", 64), ("optuna", 5)])
def test_a_killed_sweep_is_taken_up_and_ends_with_the_same_bytes(
    app: App, tmp_path: Path, kind: str, stop_after: int
) -> None:
    whole = json.dumps(swept(app, kind))
    path = tmp_path / "killed.duckdb"
    line = [FORKS.python, "-m", "tests.lab.sweep_victim", str(path), kind, str(stop_after)]
    assert subprocess.run(line, cwd=ROOT, capture_output=True, check=False).returncode == -signal.SIGKILL
    with open_test_app(path) as again:
        (sweep,) = again.lab_runs.sweeps()
        known = len(again.sweeps.document(sweep.id)["points"])
        assert stop_after <= known < len(json.loads(whole)["points"])
        assert json.dumps(swept(again, kind)) == whole


def test_points_that_are_known_are_not_computed_again(app: App) -> None:
    swept(app, "grid")
    (sweep,) = app.lab_runs.sweeps()
    point = app.store.lab_runs.points(sweep.id)[17]
    marked = type(point)(
        point.sweep, point.number, point.values_json, json.dumps({**json.loads(point.result_json), "mrr": 9.0})
    )
    app.store.lab_runs.add_points([marked])
    assert [one["number"] for one in swept(app, "grid")["points"] if one["mrr"] == 9.0] == [17]


@pytest.mark.parametrize("kind", KINDS)
def test_each_point_is_what_bench_says_of_it(app: App, kind: str) -> None:
    router = KINDS[kind][0]
    points = swept(app, kind)["points"]
    assert [point["number"] for point in points] == list(range(len(points)))
    for point in points[:: max(1, len(points) // 7)]:
        parameters = app.routing.parameters(router, {"n": 10, **point["values"]})
        run = app.lab.benchmark(TASKS, catalog="world", router=router, parameters=parameters)
        assert {name: point[name] for name in MEASURES} == pytest.approx(run.measures)
        assert (point["rejection"], point["judged@10"]) == (run.rejection, run.judged["judged@10"])


def test_a_sweep_of_refusals_refuses(app: App) -> None:
    """The knob that turns sub-tasks down acts before anything is ranked, in a sweep too."""
    from core.lab.sweep import read_axis
    from core.lab.sweeps import SweepPlan

    parameters = app.routing.parameters("ehrr", {"n": 10})
    plan = SweepPlan((read_axis("wrong_refusals=0,50", type(parameters)),))
    first, last = app.sweeps.run(
        TASKS, plan, source="t", catalog="world", router="ehrr", preset="balanced", parameters=parameters
    )["points"]
    for point, percent in ((first, 0), (last, 50)):
        chosen = parameters.replaced({"wrong_refusals": percent})
        run = app.lab.benchmark(TASKS, catalog="world", router="ehrr", parameters=chosen)
        assert (point["mrr"], point["rejection"]) == (pytest.approx(run.measures["mrr"]), run.rejection)


def test_a_sweep_is_found_among_the_runs(app: App) -> None:
    document = swept(app, "one by one")
    found = app.lab_runs.find(document["sweep"][:6])
    assert isinstance(found, Sweep)
    assert json.loads(found.plan_json) == {"axes": ["n=1:10"], "method": "grid", "points": 10}
    assert app.lab_runs.tasks(found) == TASKS
