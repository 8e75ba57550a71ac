"""The lab's store: runs, stored once, repeated and compared with the present state; snapshots, restored and moved to another console."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.app import App
from core.decisions.routing import Asked
from core.domain.catalog import Catalog, ToolHints
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.events import Override
from core.domain.feedback import By, Calibration, CalibrationSwitch
from core.domain.lab_runs import LabRun, differences, differing, lab_id
from core.domain.params import NetworkMoment
from core.domain.significance import interval
from core.domain.tasks import Step, Task
from core.importers import read_document, read_tasks, tasks_text
from core.lab.benchmark import CLOCKED, MEASURES
from core.lab.execution import Playing
from core.lab.gate import changes
from core.lab.lab import drawn_price_usd
from core.lab.lab_runs import BLOCK, Experiment
from core.lab.points import TasksAsked
from core.network.profiles import Profile
from core.network.states import HighLatency
from core.relevance.learnt import LearntValues
from core.store import Store
from tests.cases import each
from tests.importing import import_text
from tests.world import NOON, call, document

TASKS = (
    Task("echo", "Echo words.", relevant=("raw::echo",)),
    Task("read", "Read a file.", "files", ("files::read",), {"files::read": 2.0, "files::write": 0.0}, "L3", "files",
         (Step("files::read", (), ("files::write",), "read it"),), "What does it say?"),
    Task("fly", "Fly to the moon.", gap="near miss"),
)  # fmt: skip
MANY = tuple(replace(TASKS[number % 3], id=str(number)) for number in range(48))  # 32 of them can be done


def asked(app: App, tasks: Sequence[Task] = TASKS, playing: Playing | None = None, **changes: object) -> Experiment:
    parameters = app.routing.parameters("ehrr", {"n": 10, **changes})
    return Experiment(tasks, source="t.jsonl", catalog="world", router="ehrr", parameters=parameters, playing=playing)


def measured(app: App, tasks: Sequence[Task] = TASKS, playing: Playing | None = None, **changes: object) -> str:
    """Stores one run over the small world. Returns its id."""
    measurement = app.measuring.measure(asked(app, tasks, playing, **changes))
    return app.lab_runs.keep(measurement.conditions, tasks, measurement.entry)


def test_tasks_are_written_as_they_were_read() -> None:
    assert read_tasks(tasks_text(TASKS), source="t") == TASKS


def test_the_same_run_is_stored_once_and_another_beside_it(app: App) -> None:
    assert measured(app) == measured(app)
    other_id = measured(app, alpha_t=0.5)
    assert app.lab_runs.runs()[0].id == other_id
    assert len(app.lab_runs.runs()) == 2
    assert app.lab_runs.find(other_id[:8]).parameters["alpha_t"] == 0.5
    with pytest.raises(UnknownNameError, match="More than one run begins"):
        app.lab_runs.find("")
    with pytest.raises(UnknownNameError, match="No run begins with 'zz'"):
        app.lab_runs.find("zz")


def test_a_run_is_repeated_from_the_store_alone(app: App) -> None:
    run = app.lab_runs.find(measured(app))
    repetition = app.measuring.repeat(run)
    assert (repetition.differing, repetition.changes, repetition.moved, repetition.other) == ((), (), (), ())
    assert app.lab_runs.tasks(run) == TASKS


def test_how_tasks_were_played_out_is_stored_and_repeated_to_the_last_byte(app: App) -> None:
    played = Playing(n=2, seeds=7, value_usd=0.5, s_per_usd=60.0)
    run = app.lab_runs.find(measured(app, playing=played))
    assert run.id != measured(app, playing=replace(played, seeds=8)), "another way to play is another run"
    assert run.played == asdict(played)
    repetition = app.measuring.repeat(run)
    assert (repetition.differing, repetition.other) == ((), ())
    stored, repeated = ({**result, **dict.fromkeys(CLOCKED)} for result in (run.result, repetition.made.entry))
    assert json.dumps(stored) == json.dumps(repeated)
    usual = app.measuring.repeat(replace(run, played_json=json.dumps(asdict(replace(played, s_per_usd=1.0)))))
    assert (usual.differing, "value" in usual.other) == ((), True)


def test_a_figure_that_an_earlier_version_did_not_store_does_not_differ(app: App) -> None:
    run = app.lab_runs.find(measured(app))
    fewer = {name: figure for name, figure in run.result.items() if name != "similarity"}
    assert app.measuring.repeat(replace(run, result_json=json.dumps(fewer))).other == ()


def unclocked(run: LabRun) -> str:
    """All of a result but the times of decisions."""
    return json.dumps({**run.result, **dict.fromkeys(CLOCKED)})


def test_a_run_commits_its_blocks_on_the_way_and_is_taken_up_with_the_same_bytes(app: App) -> None:
    """A killed process loses at most the block that was not committed yet."""
    full_run, experiment = app.lab_runs.find(measured(app, MANY, Playing(2))), asked(app, MANY, Playing(2))
    committed: list[int] = []

    def watch(done: int) -> None:
        committed.append(app.measuring.known(experiment))
        assert done - committed[-1] <= BLOCK
        if done == 70:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        app.measuring.measure(experiment, progress=watch)
    assert (len(committed), app.measuring.known(experiment)) == (70, 70)
    routed: list[int] = []
    measurement = app.measuring.measure(experiment, progress=routed.append)
    assert len(routed) == len(MANY) + 32 - 70, "what is known is not routed again"
    id_ = app.lab_runs.keep(measurement.conditions, MANY, measurement.entry)
    assert (id_, unclocked(app.lab_runs.find(id_))) == (full_run.id, unclocked(full_run))
    assert app.measuring.known(experiment) == 0


def test_what_has_changed_since_is_named(app: App) -> None:
    run = app.lab_runs.find(measured(app))
    app.calls.run(call("echo"))
    changed = json.loads(document())
    changed["servers"][1]["tools"][0] |= {"description": "Nothing at all.", "latency_s": 9.0}
    servers = read_document(json.dumps(changed), source="world").servers
    app.catalogs.save(Catalog("world", servers), "test")
    repetition = app.measuring.repeat(run)
    assert repetition.differing == ("catalog_fingerprint", "outcomes")
    assert [(tool.name, tool.fields) for tool in repetition.changes] == [("files::read", ("description", "latency_s"))]


def test_what_else_decides_is_a_condition_and_is_named(app: App) -> None:
    """Example requests, equal tools, hints, preconditions and models: a bench or sweep after their change is another one."""
    conditions, digest = app.lab_runs.conditions(asked(app)), app.lab_runs.digest("world")
    app.requests.add("world", [(1, "raw::echo", ["Shout back at me."])], source="operator", by=By())
    app.equal_sets.judge("world", "files::read", "files::write", "equal")
    guarded = {"preconditions": ("is_authenticated(scope='mail')",), "hints": ToolHints(destructive=True)}
    (send,) = app.catalogs.catalog("world").server("mail").tools
    server = replace(app.catalogs.catalog("world").server("mail"), tools=(replace(send, **guarded),))
    app.catalogs.edit("world", lambda catalog: catalog.with_server(server))
    present = app.lab_runs.digest("world")
    assert {tool.name: tool.fields for tool in changes(digest, present)} == {
        "files::read": ("equal",), "files::write": ("equal",), "mail::send": ("preconditions", "hints"), "raw::echo": ("requests",),
    }  # fmt: skip
    app.catalogs.cross_encoder = "another"
    assert differing(conditions, app.lab_runs.conditions(asked(app))) == ("catalog_fingerprint", "versions")
    new_fields = {"preconditions", "hints", "requests", "equal"}
    tools = {name: {key: tool[key] for key in tool.keys() - new_fields} for name, tool in digest.tools.items()}
    assert changes(replace(digest, tools=tools), present) == (), "an earlier version stored less"


def test_a_catalog_under_a_network_or_by_tiers_is_decided_on_as_route_decides(app: App) -> None:
    """With its labels, example requests and learnt statistics."""
    app.networks.save(Profile("slow", default=(HighLatency(base_ms=400, spread_ms=0),)))
    app.requests.add(
        "world", [(1, "mail::send", ["Read my aunt the news.", "Read him the news."])], source="operator", by=By()
    )
    app.feedback.label("Shout at the moon.", "raw::echo", right=False, catalog="world")
    for _ in range(9):
        app.calls.run(call("echo"))
    network, parameters = NetworkMoment("slow", 600.0), app.routing.parameters("rag_mcp", {"n": 10})
    texts = ("Read my aunt the news.", "Shout at the moon.")
    tasks = [Task(text, text, relevant=("mail::send",), level="L2") for text in texts]
    routes = [app.routing.preview(Asked(text, parameters, "world", "rag_mcp", network=network)) for text in texts]
    winners = [route.winner.tool for route in routes if route.winner]
    assert winners == ["mail::send", "raw::nap"], "by words these are files::read and raw::echo"
    setting: dict[str, Any] = {"router": "rag_mcp", "parameters": parameters}
    for name in (app.lab.under_network("world", network), app.lab.priced_by_tiers("world")):
        assert app.lab_runs.open(name) == name
        experiment = Experiment(tasks, source="t", catalog=name, playing=Playing(3), **setting)
        measurement = app.measuring.measure(experiment, resumable=False)
        assert [task.candidates[0] for task in measurement.run.tasks] == winners
        (level,) = app.lab.levels(tasks, catalog=name, **setting)
        assert level.scores == {"em": 0.5}
        assert (measurement.conditions.labels, measurement.conditions.outcomes) == (1, 9)
        assert measurement.conditions.catalog == name
    assert measurement.played is not None
    assert measurement.played.unpriced_tries == 0, "every tool has a price by tiers"
    send = app.catalogs.catalog("world").server("mail").tools[0]
    assert app.lab_runs.digest(name).tools["mail::send"]["price_usd"] == drawn_price_usd(send, 0)


def test_a_run_under_another_content_of_its_network_is_another_run(app: App) -> None:
    experiment = replace(asked(app), catalog=app.lab.under_network("world", NetworkMoment("mine", 600.0)))
    networks = Profile("mine"), Profile("mine", default=(HighLatency(),)), Profile("mine")
    runs = []
    for network in networks:
        app.networks.save(network)
        runs.append(app.lab_runs.conditions(experiment))
    assert lab_id(runs[0]) == lab_id(runs[2]) != lab_id(runs[1])
    assert differing(runs[0], runs[1]) == ("versions",)


def test_open_sessions_do_not_count_in_a_measurement(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """They spare only their own client the time to connect."""
    import_text(app.catalog_editor, document(conn_s=300.0), "world", "test")
    connection = app.catalogs.catalog("world").server("raw").connection
    state = SimpleNamespace(server="raw", state="ready", catalog="world", owner_key="", connection=connection)
    monkeypatch.setattr(app.routing._sessions, "states", lambda: [state])
    parameters = app.routing.parameters("expected_value", {"n": 10})
    setting: dict[str, Any] = {"catalog": "world", "router": "expected_value"}
    assert app.routing.preview(Asked(TASKS[0].subtask, parameters, **setting)).winner
    (routed,) = app.lab.routed(TASKS[:1], **setting, parameters=parameters)
    swept = TasksAsked(app.lab, TASKS[:1], **setting, hints=True).first_and_measures(parameters)[0]
    assert (routed.candidates, swept.tolist()) == ((), [-1])


def test_the_seed_is_that_of_the_intervals(app: App) -> None:
    measurement = app.measuring.measure(replace(asked(app), seed=5), resumable=False)
    scores = dict.fromkeys(MEASURES.values(), np.random.default_rng(0).random(40))
    entry = replace(measurement, run=replace(measurement.run, scores={**measurement.run.scores, **scores})).entry
    assert tuple(entry["intervals"]["mrr"]) == interval(scores["RR"], seed=5) != interval(scores["RR"])


def test_a_catalog_is_read_once_for_its_digest_until_it_or_a_price_changes(app: App) -> None:
    digest = app.lab_runs.digest("world")
    app.calls.run(call("echo"))
    assert app.lab_runs.digest("world") is digest
    app.catalogs.set_override(Override("world", "raw", "echo", "price_usd", 0.5, app.settings.now()))
    priced = app.lab_runs.digest("world")
    assert (priced.tools["raw::echo"]["price_usd"], priced.fingerprint != digest.fingerprint) == (0.5, True)
    app.catalogs.save(replace(app.catalogs.catalog("world"), servers=()), "test")
    assert app.lab_runs.digest("world").tools == {}


def test_runs_survive_the_process(tmp_path: Path, app: App) -> None:
    (run,) = [app.lab_runs.find(measured(app))]
    with Store(tmp_path / "db") as store:
        store.lab_runs.save([run], app.lab_runs.inputs(run, TASKS))
    with Store(tmp_path / "db") as store:
        assert store.lab_runs.newest(10) == (run,)
        assert read_tasks(store.lab_runs.input(run.tasks_fingerprint), source="t") == TASKS


PAGES = {"route": {"q": "read a file", "catalog": "world", "alpha_t": "0.4"}, "network": {"profile": "mine"}}


def fitted(app: App, name: str) -> None:
    """Switches a calibration of the world on."""
    values = json.dumps(LearntValues(theta=0.31).to_json())
    calibration = Calibration(name, NOON, "world", name, values, "{}", 9, "f", "test")
    app.store.calibrations.save(calibration, CalibrationSwitch(NOON, "world", name, "", "test"))


def test_a_state_is_kept_and_returned_to(app: App) -> None:
    app.networks.save(replace(app.networks.load("hybrid_default"), name="mine"))
    app.snapshots.save("sunday", app.snapshots.state({}, "world"))
    fitted(app, "first")
    app.snapshots.save("monday", app.snapshots.state(PAGES, "sample"))
    fitted(app, "second")
    app.networks.save(replace(app.networks.load("ideal"), name="mine"))
    current = app.snapshots.state({**PAGES, "route": {"q": "write"}}, "sample")
    changed = {(difference.where, difference.name) for difference in differences(app.snapshots.all()[0].state, current)}
    assert changed == {
        ("route", "q"), ("route", "catalog"), ("route", "alpha_t"), ("catalog", "world"), ("calibration", "world"), ("network", "mine"),
    }  # fmt: skip
    back = app.snapshots.restore("monday")
    assert (back.pages, back.remarks) == (PAGES, ())
    assert app.store.calibrations.active("world") == app.store.calibrations.find("world", "first")
    assert differences(app.snapshots.all()[0].state, app.snapshots.state(PAGES, "sample")) == ()
    app.snapshots.restore("sunday")
    assert app.calibrations.active("world") is None


def test_what_cannot_be_as_it_was_is_said(app: App) -> None:
    app.snapshots.save("monday", app.snapshots.state(PAGES | {"network": {}}, "sample"))
    import_text(app.catalog_editor, document(ask_usd=9.0), "world", "test")
    (remark,) = app.snapshots.restore("monday").remarks
    assert "world has changed since" in remark
    with pytest.raises(UnknownNameError, match="monday"):
        app.snapshots.restore("tuesday")


def test_a_file_takes_a_snapshot_to_another_store(app: App) -> None:
    fitted(app, "first")
    app.snapshots.save("monday", app.snapshots.state(PAGES | {"network": {}}, "world"))
    text = app.snapshots.export("monday")
    state = app.snapshots.all()[0].state
    app.snapshots.remove("monday")
    app.calibrations.apply("", catalog="world")
    imported = app.snapshots.import_file(text.encode(), source="monday.json")
    assert (imported.name, imported.state) == ("monday", state)
    app.snapshots.restore("monday")
    assert app.store.calibrations.active("world") == app.store.calibrations.find("world", "first")


@each("text", ["[", "[]", "{}", '{"kind": "wayfare snapshot", "name": "x", "state": {"pages": {"route": {"q": 1}}}}'])
def test_a_file_that_is_none_is_refused(app: App, text: str) -> None:
    with pytest.raises(CatalogError, match=r"x\.json: .*give a file that Export wrote"):
        app.snapshots.import_file(text.encode(), source="x.json")
    with pytest.raises(CatalogError, match="name"):
        app.snapshots.save("", app.snapshots.state({}, "sample"))
    assert app.snapshots.all() == ()
