"""Runs and sweeps on a fake cluster: results equal this machine's, also if a worker is lost. `make bench` has a real cluster."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from core.app import App, Settings, build_app
from core.domain.catalog import Catalog
from core.domain.errors import WayfareError
from core.importers.tasks import tasks_text
from core.lab.benchmark import CLOCKED
from core.lab.cluster import RaySpread, Worker
from core.lab.lab_runs import Experiment
from core.lab.sweep import read_axis
from core.lab.sweeps import SweepPlan
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from tests.lab.test_lab_runs import MANY, TASKS
from tests.relevance.toy_encoders import WordEncoder


class Lost(Exception):
    """Ray's error of a worker that is gone."""


class Worked:
    """An actor of a played Ray. From its `last` call on it is lost."""

    def __init__(self, worker: Worker, limit: float) -> None:
        self._worker, self._left = worker, limit

    def __getattr__(self, method: str) -> Any:
        return SimpleNamespace(remote=lambda *arguments: partial(self._answer, method, arguments))

    def _answer(self, method: str, arguments: tuple[Any, ...]) -> Any:
        self._left -= method != "ready"
        if self._left < 0:
            raise Lost("it was killed")
        return getattr(self._worker, method)(*arguments)


class PlayedRay:
    """Wayfare's part of Ray's interface, in this process. The last call is answered first. `calls` has how many each worker answers
    before it is lost."""

    exceptions = SimpleNamespace(RayError=Lost, RayTaskError=WayfareError)
    wait = staticmethod(lambda answers, **_: (answers[-1:], answers[:-1]))
    get = staticmethod(lambda answer: answer())
    put = staticmethod(lambda value: pickle.loads(pickle.dumps(value)))
    kill = is_initialized = staticmethod(lambda *_: True)

    def __init__(self, *calls: float) -> None:
        self._calls = list(calls)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **_: object) -> Any:
        return lambda kind: SimpleNamespace(remote=lambda *arguments: Worked(kind(*arguments), self._calls.pop(0)))


def opened(store: Store) -> App:
    """A worker's app, with the encoder of the tests."""
    return build_app(store, Settings(seed=1), encoder=CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors))


def test_a_worker_indexes_a_catalog_that_is_sent_with_every_part_once(app: App) -> None:
    apps: list[App] = []

    def kept(store: Store) -> App:
        apps.append(opened(store))
        return apps[-1]

    worker, tasks = Worker(app.store.tables(), kept), tasks_text(TASKS)
    file = Catalog("mine.json", app.catalogs.catalog("world").servers)
    points = [app.routing.parameters("ehrr", {"n": n}) for n in (1, 2)]
    with apps[0] as worker_app:
        results = worker.points(file, "ehrr", tasks, True, points)
        index = worker_app.catalogs.index("mine.json")
        copy = Catalog("mine.json", worker_app.catalogs.catalog("world").servers)
        assert copy.servers is not file.servers
        assert worker.points(copy, "ehrr", tasks, True, points) == results
        assert len(worker.routed(file, "ehrr", tasks, True, points[0])) == len(TASKS)
        assert worker_app.catalogs.index("mine.json") is index
        worker.points(replace(file, servers=file.servers[:2]), "ehrr", tasks, True, points)
        assert len(worker_app.catalogs.catalog("mine.json").servers) == 2
        worker.points(app.catalogs.catalog("world"), "ehrr", tasks, True, points)
        assert worker_app.catalogs.index("mine.json") is not index


def test_a_run_and_a_sweep_of_which_a_worker_is_lost_end_as_on_one_machine(app: App) -> None:
    parameters = app.routing.parameters("rag_mcp", {"n": 10})
    plan = SweepPlan(tuple(read_axis(text, type(parameters)) for text in ("n=1:10", "hint_weight=0:1:0.5")))
    setting: dict[str, Any] = {"catalog": "world", "router": "rag_mcp", "preset": "balanced", "parameters": parameters}
    setting["catalog"] = app.lab.priced_by_tiers("world")
    local = app.sweeps.run(Experiment(TASKS, source="here", **setting), plan)
    assert app.lab_runs.digest(setting["catalog"]).name == "world (prices by tiers)"
    by_tiers = setting | {
        "router": "ehrr",
        "parameters": app.routing.parameters("ehrr"),
    }
    measured = app.measuring.measure(Experiment(MANY, source="here", **by_tiers), resumable=False).entry
    with RaySpread("auto", app.store.tables(), opened=opened, ray=PlayedRay(math.inf, 7)) as spread:
        run = app.measuring.measure(Experiment(MANY, source="there", **by_tiers), resumable=False, spread=spread).entry
        spread_out = app.sweeps.run(Experiment(TASKS, source="there", **setting), plan, spread=spread)
    assert (spread.hired, spread.lost) == (2, 1)
    assert json.dumps({**spread_out, "sweep": ""}) == json.dumps({**local, "sweep": ""})
    assert {name: run[name] for name in run if name not in CLOCKED} == {
        name: measured[name] for name in measured if name not in CLOCKED
    }


def test_without_any_worker_left_it_ends_and_goes_on_from_what_is_stored(app: App) -> None:
    parameters = app.routing.parameters("rag_mcp", {"n": 10})
    setting: dict[str, Any] = {"catalog": "world", "router": "rag_mcp", "preset": "balanced", "parameters": parameters}
    plan = SweepPlan((read_axis("n=1:10", type(parameters)),))
    with (
        RaySpread("auto", app.store.tables(), opened=opened, ray=PlayedRay(2, 3)) as spread,
        pytest.raises(WayfareError, match=r"The last worker of the cluster is lost \(it was killed\)"),
    ):
        app.sweeps.run(Experiment(TASKS, source="there", **setting), plan, spread=spread)
    (sweep,) = app.lab_runs.sweeps()
    assert len(app.sweeps.document(sweep.id)["points"]) == 5
