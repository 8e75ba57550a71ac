"""Snapshots: kept, compared, returned to, and taken to another console as a file."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from core.app import App
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.feedback import Calibration, CalibrationSwitch
from core.domain.lab_runs import differences
from core.relevance.learnt import LearntValues
from tests.cases import each
from tests.importing import import_text
from tests.world import NOON, document

PAGES = {"route": {"q": "read a file", "catalog": "world", "alpha_t": "0.4"}, "network": {"profile": "mine"}}


def fitted(app: App, name: str) -> None:
    """A calibration of the world, in force."""
    values = json.dumps(LearntValues(theta=0.31).to_json())
    kept = Calibration(name, NOON, "world", name, values, "{}", 9, "f", "test")
    app.store.calibrations.save(kept, CalibrationSwitch(NOON, "world", name, "", "test"))


def test_a_state_is_kept_and_returned_to(app: App) -> None:
    app.networks.save(replace(app.networks.load("hybrid_default"), name="mine"))
    fitted(app, "first")
    app.snapshots.save("monday", app.snapshots.state(PAGES, "sample"))
    fitted(app, "second")
    app.networks.save(replace(app.networks.load("ideal"), name="mine"))
    now = app.snapshots.state({**PAGES, "route": {"q": "write"}}, "sample")
    found = {(one.where, one.name) for one in differences(app.snapshots.all()[0].state, now)}
    assert found == {
        ("route", "q"), ("route", "catalog"), ("route", "alpha_t"), ("catalog", "world"), ("calibration", "world"), ("network", "mine"),
    }  # fmt: skip
    back = app.snapshots.restore("monday")
    assert (back.pages, back.remarks) == (PAGES, ())
    assert app.store.calibrations.active("world") == app.store.calibrations.find("world", "first")
    assert differences(app.snapshots.all()[0].state, app.snapshots.state(PAGES, "sample")) == ()


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
    kept = app.snapshots.import_file(text.encode(), source="monday.json")
    assert (kept.name, kept.state) == ("monday", state)
    app.snapshots.restore("monday")
    assert app.store.calibrations.active("world") == app.store.calibrations.find("world", "first")


@each("text", ["[", "[]", "{}", '{"kind": "wayfare snapshot", "name": "x", "state": {"pages": {"route": {"q": 1}}}}'])
def test_a_file_that_is_none_is_refused(app: App, text: str) -> None:
    with pytest.raises(CatalogError, match=r"x\.json: .*give a file that Export wrote"):
        app.snapshots.import_file(text.encode(), source="x.json")
    with pytest.raises(CatalogError, match="name"):
        app.snapshots.save("", app.snapshots.state({}, "sample"))
    assert app.snapshots.all() == ()
