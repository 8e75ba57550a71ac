"""Runs of the lab: stored once by what they follow from, listed, repeated, and compared with what is so now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.app import App
from core.domain.catalog import Catalog
from core.domain.task import Step, Task
from core.importers import read_document, read_tasks, tasks_text
from core.shared.errors import UnknownNameError
from core.store import Store
from tests.services.world import call, document

TASKS = (
    Task("echo", "Echo words.", relevant=("raw::echo",)),
    Task("read", "Read a file.", "files", ("files::read",), {"files::read": 2.0, "files::write": 0.0}, "L3", "files",
         (Step("files::read", (), ("files::write",), "read it"),), "What does it say?"),
    Task("fly", "Fly to the moon.", gap="near miss"),
)  # fmt: skip


def measured(app: App, **changes: object) -> str:
    """One run over the small world, stored; its id."""
    parameters = app.routing.parameters("ehrr", {"n": 10, **changes})
    run = app.lab.benchmark(TASKS, catalog="world", router="ehrr", parameters=parameters)
    conditions = app.lab_runs.conditions(
        TASKS, source="t.jsonl", catalog="world", router="ehrr", preset="balanced", parameters=parameters
    )
    return app.lab_runs.keep(conditions, TASKS, run.to_json())


def test_tasks_are_written_as_they_were_read() -> None:
    assert read_tasks(tasks_text(TASKS), source="t") == TASKS


def test_the_same_run_is_stored_once_and_another_beside_it(app: App) -> None:
    assert measured(app) == measured(app)
    other = measured(app, alpha_t=0.5)
    assert app.lab_runs.runs()[0].id == other
    assert len(app.lab_runs.runs()) == 2
    assert app.lab_runs.find(other[:8]).parameters["alpha_t"] == 0.5
    with pytest.raises(UnknownNameError, match="More than one run begins"):
        app.lab_runs.find("")
    with pytest.raises(UnknownNameError, match="No run begins with 'zz'"):
        app.lab_runs.find("zz")


def test_a_run_is_repeated_from_the_store_alone(app: App) -> None:
    run = app.lab_runs.find(measured(app))
    again = app.lab_runs.repeat(run)
    assert (again.differing, again.changes, again.moved) == ((), (), ())
    assert again.run.measures == {name: run.result[name] for name in again.run.measures}
    assert app.lab_runs.tasks(run) == TASKS


def test_what_has_changed_since_is_named(app: App) -> None:
    run = app.lab_runs.find(measured(app))
    app.calls.run(call("echo"))
    changed = json.loads(document())
    changed["servers"][1]["tools"][0] |= {"description": "Nothing at all.", "latency_s": 9.0}
    servers = read_document(json.dumps(changed), source="world").servers
    app.catalogs.save(Catalog("world", servers), "test")
    again = app.lab_runs.repeat(run)
    assert again.differing == ("catalog_fingerprint", "outcomes")
    assert [(one.name, one.fields) for one in again.changes] == [("files::read", ("description", "latency_s"))]


def test_runs_survive_the_process(tmp_path: Path, app: App) -> None:
    (run,) = [app.lab_runs.find(measured(app))]
    with Store(tmp_path / "db") as store:
        store.lab_runs.save([run], app.lab_runs.inputs(run, TASKS))
    with Store(tmp_path / "db") as store:
        assert store.lab_runs.newest(10) == (run,)
        assert read_tasks(store.lab_runs.input(run.tasks_fingerprint), source="t") == TASKS
