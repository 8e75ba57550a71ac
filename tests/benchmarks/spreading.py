"""A run and a sweep on a Ray cluster of two workers, of which one is killed half-way: the same as on one machine?"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Any

from core.app import App, Settings, build_app
from core.lab.benchmark import CLOCKED
from core.lab.cluster import RaySpread
from core.lab.lab_runs import Experiment
from core.lab.sweep import read_axis
from core.lab.sweeps import SweepPlan
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from tests.lab.test_lab_runs import MANY, TASKS
from tests.relevance.toy_encoders import WordEncoder
from tests.world import ROOT, open_world


def opened(folder: Path, store: Store) -> App:
    """A worker's app; it leaves a file that says so."""
    (folder / str(os.getpid())).touch()
    return build_app(store, Settings(seed=1), encoder=CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors))


def spreading() -> None:
    """Needs `pip install wayfare[ray]`."""
    import ray

    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with tempfile.TemporaryDirectory() as folder, open_world(Path(folder, "w.duckdb"), in_memory=True) as app:
            _compare(app, Path(folder))
    finally:
        ray.shutdown()


def _compare(app: App, folder: Path) -> None:
    (started := folder / "started").mkdir()
    parameters = app.routing.parameters("rag_mcp", {"n": 10})
    plan = SweepPlan(tuple(read_axis(text, type(parameters)) for text in ("n=1:10", "hint_weight=0:1:0.1")))
    asked: dict[str, Any] = {"catalog": "world", "router": "rag_mcp", "preset": "balanced", "parameters": parameters}
    alone = app.sweeps.run(Experiment(TASKS, source="here", **asked), plan)
    measured = app.measuring.measure(Experiment(MANY, source="here", **asked), resumable=False).entry
    killed: list[int] = []

    def progress(done: int, _of: int) -> None:
        """Once both workers have begun, one of them is killed."""
        while done and len(list(started.iterdir())) < 2:
            threading.Event().wait(0.05)
        if done and spread.hired == 2 and not killed:
            os.kill(int(next(started.iterdir()).name), signal.SIGKILL)
            killed.append(done)

    with RaySpread("auto", app.store.tables(), opened=partial(opened, started)) as spread:
        run = app.measuring.measure(Experiment(MANY, source="there", **asked), resumable=False, spread=spread).entry
        spread_out = app.sweeps.run(Experiment(TASKS, source="there", **asked), plan, progress=progress, spread=spread)
    same_sweep = json.dumps({**spread_out, "sweep": ""}) == json.dumps({**alone, "sweep": ""})
    same_run = all(run[name] == measured[name] for name in run if name not in CLOCKED)
    print(
        f"{spread.hired} workers, {spread.lost} lost: sweep the same {same_sweep}, run the same {same_run} (to reach: both)"
    )
