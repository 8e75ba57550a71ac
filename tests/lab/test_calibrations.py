"""Calibrations through the app: fitted, kept, switched on, undone, given out and taken in, and used by the next decision."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.app import App
from core.domain.errors import CatalogError, UnknownNameError, WayfareError
from core.domain.feedback import By, CalibrationSwitch
from core.domain.tasks import Task
from core.lab.calibrations import CalibrationResult
from core.relevance.learnt import LearntValues
from tests.cases import each
from tests.world import open_test_app, open_world

JARGON = {"frobnicate": "files::read", "zorp": "files::write", "quux": "mail::send", "blarg": "raw::echo"}
OBJECTS = ("apples", "bridges", "clouds", "dragons", "engines", "forests")
TASKS = [
    Task(f"{word}-{thing}", f"{word} {word} the {thing}", relevant=(tool,))
    for word, tool in JARGON.items()
    for thing in OBJECTS
]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> CalibrationResult:
    """A fit to words that no tool knows."""
    with open_world(tmp_path_factory.mktemp("fit") / "wayfare.duckdb", in_memory=True) as app:
        return app.calibrations.fit("world", TASKS)


def rank(app: App, text: str, tool: str) -> int:
    """The rank of a tool by p_fit."""
    fit, _ = app.catalogs.context("world").matcher.fit(text, "")
    ids = [t.id for t in app.catalogs.catalog("world").tools]
    return sorted(ids, key=lambda name: -fit.tools[ids.index(name)]).index(tool) + 1


def mean_rank(app: App) -> float:
    return (
        sum(rank(app, f"{word} {word} the {thing}", tool) for word, tool in JARGON.items() for thing in ("ice", "jam"))
        / 8
    )


def test_fitting_keeps_nothing(app: App, fitted: CalibrationResult) -> None:
    assert "ranking" in fitted.accepted
    assert fitted.fit.measures["mrr"].low > 0
    assert fitted.refused == ""
    json.dumps(fitted.report(), allow_nan=False)
    assert app.calibrations.of_catalog("world") == ()
    assert app.calibrations.active("world") is None
    assert app.feedback.labels("world") == ()


def test_the_threshold_is_fitted_to_the_overlap_of_the_paper(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    similarities = list[object]()
    route = app.routing.route

    def noted(*arguments: Any, **options: Any) -> Any:
        similarities.append(options["parameters"].similarity)
        return route(*arguments, **options)

    monkeypatch.setattr(app.routing, "route", noted)
    app.calibrations.fit("world", TASKS)
    assert set(similarities) == {"views"}


def test_it_is_kept_switched_on_and_undone(app: App, fitted: CalibrationResult) -> None:
    rank_before, context = mean_rank(app), app.catalogs.context("world")
    saved = app.calibrations.save(fitted, by=By("ann"))
    assert (saved.name, saved.labels, app.calibrations.active("world")) == ("fit 1", 24, None)
    assert app.calibrations.save(fitted).name == "fit 2"
    assert mean_rank(app) == rank_before
    app.calibrations.apply("fit 1", catalog="world")
    assert app.calibrations.active("world") == saved
    assert app.catalogs.context("world") is not context
    assert mean_rank(app) < rank_before
    assert app.catalogs.learnt("world").calibration == "fit 1"
    app.calibrations.apply("fit 2", catalog="world")
    assert app.calibrations.undo("world") == saved
    assert app.calibrations.apply("", catalog="world") is None
    assert mean_rank(app) == rank_before
    assert app.calibrations.undo("world") == saved
    assert app.calibrations.undo("world") is None
    assert mean_rank(app) == rank_before
    with pytest.raises(WayfareError, match="nothing to undo"):
        app.calibrations.undo("world")
    with pytest.raises(UnknownNameError, match="it has: fit 2, fit 1"):
        app.calibrations.apply("fit 3", catalog="world")


def test_it_goes_out_and_comes_in_as_a_file(app: App, fitted: CalibrationResult) -> None:
    app.calibrations.save(fitted, "spring", apply=True)
    text, good = app.calibrations.export("world"), mean_rank(app)
    app.calibrations.undo("world")
    with pytest.raises(WayfareError, match="switched on; name one"):
        app.calibrations.export("world")
    assert app.calibrations.export("world", "spring") == text
    copied = app.calibrations.import_file(text.encode(), source="c.json", catalog="world", name="copied", apply=True)
    assert (copied.name, copied.labels) == ("copied", 24)
    assert mean_rank(app) == good
    assert app.calibrations.import_file(text, source="c.json", catalog="world").name == "spring"
    with_requests = changed(text, name="asked", values__weights={"asked": 0.9})
    assert app.calibrations.import_file(with_requests, source="c.json", catalog="world").name == "asked"
    app.catalogs.save(replace(app.catalogs.catalog("world"), name="other"), "test")
    copy = app.calibrations.import_file(text, source="c.json", catalog="other", apply=True)
    assert app.calibrations.active("other") == copy


def changed(text: str, **changes: Any) -> str:
    document = json.loads(text)
    for path, value in changes.items():
        *parents, field = path.split("__")
        section = document
        for name in parents:
            section = section[name]
        section[field] = value
    return json.dumps(document)


@each(
    ("changes", "said"),
    [
        ({"wayfare_calibration": 2}, "is no calibration"),
        ({"values": None}, "values: it is null; give an object"),
        ({"values__weights": {"vibes": 1}}, "weights has 'vibes'; the signals are dense"),
        ({"values__memory": {"bound": 99}}, "memory.bound is 99"),
        ({"name": ""}, "name is empty"),
        ({"name": "x" * 81}, "name has 81 characters"),
        ({"name": "two\nlines"}, "calibration's name"),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(
    app: App, fitted: CalibrationResult, changes: dict[str, Any], said: str
) -> None:
    app.calibrations.save(fitted, "spring")
    with pytest.raises(CatalogError, match=said):
        app.calibrations.import_file(
            changed(app.calibrations.export("world", "spring"), **changes), source="c.json", catalog="world", apply=True
        )
    assert [calibration.name for calibration in app.calibrations.of_catalog("world")] == ["spring"]


def test_all_weights_at_nothing_are_refused(app: App, fitted: CalibrationResult) -> None:
    app.calibrations.save(fitted, "spring")
    nothing = {name: 0 for name in app.catalogs.scorer("world").weights}
    text = changed(app.calibrations.export("world", "spring"), values__weights=nothing)
    with pytest.raises(CatalogError, match="all weights are 0"):
        app.calibrations.import_file(text, source="c.json", catalog="world")


def test_without_tasks_it_is_fitted_to_the_labels_of_the_catalog(app: App) -> None:
    with pytest.raises(WayfareError, match="label at least 20 more"):
        app.calibrations.fit("world")
    for task in TASKS:
        app.feedback.label(task.subtask, task.relevant[0], right=True, catalog="world")
    result = app.calibrations.fit("world")
    assert result.fit.labels == len(TASKS)
    assert not result.fit.values.teaches


def test_it_outlives_the_process_and_one_of_another_version_harms_nothing(
    app: App, path: Path, fitted: CalibrationResult
) -> None:
    rank_before = mean_rank(app)
    app.calibrations.save(fitted, "spring", apply=True)
    good = mean_rank(app)
    app.close()
    with open_test_app(path) as reopened:
        assert mean_rank(reopened) == good
        reopened.store.calibrations.save(
            replaced(reopened, values_json='{"fit": {"slope": "steep"}}'), switch_to(reopened, "strange")
        )
        reopened.close()
    with open_test_app(path) as last_app:
        assert mean_rank(last_app) == rank_before
        assert last_app.catalogs.learnt("world").values == LearntValues()


def replaced(app: App, **changes: Any) -> Any:
    return replace(app.calibrations.active("world"), id="strange", name="strange", **changes)


def switch_to(app: App, id_: str) -> Any:
    return CalibrationSwitch(app.settings.now(), "world", id_, "", "cli")
