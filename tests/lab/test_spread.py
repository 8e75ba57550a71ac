"""Runs and sweeps on a Ray cluster: the same as on this machine, also where a worker is killed half-way."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.app import App, Settings, build_app
from core.domain.catalog import Catalog
from core.importers.tasks import tasks_text
from core.lab.benchmark import CLOCKED
from core.lab.cluster import RaySpread, Worker
from core.lab.sweep import read_axis
from core.lab.sweeps import GRID, SweepPlan
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from tests.lab.test_lab_runs import MANY, TASKS
from tests.relevance.toy_encoders import WordEncoder
from tests.world import ROOT

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


def opened(folder: Path, store: Store) -> App:
    """A worker's app, with the encoder of the tests; it leaves a file that says so."""
    (folder / str(os.getpid())).touch()
    return build_app(store, Settings(seed=1), encoder=CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors))


def test_a_worker_indexes_a_catalog_that_is_sent_with_every_part_once(app: App) -> None:
    apps: list[App] = []

    def kept(store: Store) -> App:
        apps.append(
            build_app(store, Settings(seed=1), encoder=CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors))
        )
        return apps[-1]

    worker, tasks = Worker(app.store.tables(), kept), tasks_text(TASKS)
    file = Catalog("mine.json", app.catalogs.catalog("world").servers)
    points = [app.routing.parameters("ehrr", {"n": n}) for n in (1, 2)]
    with apps[0] as there:
        first = worker.points(file, "ehrr", tasks, True, points)
        index = there.catalogs.index("mine.json")
        again = Catalog("mine.json", there.catalogs.catalog("world").servers)
        assert again.servers is not file.servers
        assert worker.points(again, "ehrr", tasks, True, points) == first
        assert len(worker.routed(file, "ehrr", tasks, True, points[0])) == len(TASKS)
        assert there.catalogs.index("mine.json") is index
        worker.points(replace(file, servers=file.servers[:2]), "ehrr", tasks, True, points)
        assert len(there.catalogs.catalog("mine.json").servers) == 2
        worker.points(app.catalogs.catalog("world"), "ehrr", tasks, True, points)
        assert there.catalogs.index("mine.json") is not index


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster with room for two workers, which this process has joined."""
    import ray

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_a_run_and_a_sweep_of_which_a_worker_is_killed_end_as_on_one_machine(app: App, tmp_path: Path) -> None:
    started = tmp_path / "started"
    started.mkdir()
    parameters = app.routing.parameters("rag_mcp", {"n": 10})
    plan = SweepPlan(tuple(read_axis(text, type(parameters)) for text in ("n=1:10", "hint_weight=0:1:0.1")), GRID)
    asked: dict[str, Any] = {"catalog": "world", "router": "rag_mcp", "preset": "balanced", "parameters": parameters}
    alone = app.sweeps.run(TASKS, plan, source="here", **asked)
    measured = app.measuring.measure(MANY, source="here", resumable=False, **asked).entry
    killed: list[int] = []

    def progress(done: int, _of: int) -> None:
        """Once both workers have begun, one of them is killed."""
        while done and len(list(started.iterdir())) < 2:
            threading.Event().wait(0.05)
        if done and spread.hired == 2 and not killed:
            os.kill(int(next(started.iterdir()).name), signal.SIGKILL)
            killed.append(done)

    with RaySpread("auto", app.store.tables(), opened=partial(opened, started)) as spread:
        run = app.measuring.measure(MANY, source="there", resumable=False, spread=spread, **asked).entry
        spread_out = app.sweeps.run(TASKS, plan, source="there", progress=progress, spread=spread, **asked)
    assert (spread.hired, spread.lost) == (2, 1)
    assert 0 < killed[0] < len(alone["points"])
    assert json.dumps({**spread_out, "sweep": ""}) == json.dumps({**alone, "sweep": ""})
    assert {name: run[name] for name in run if name not in CLOCKED} == {
        name: measured[name] for name in measured if name not in CLOCKED
    }
