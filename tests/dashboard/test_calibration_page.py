"""The Calibration view of the Catalog page: labels and their deletion, a fit with its measures, switching, undo."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from core.app import App
from dashboard.pages.catalog.calibration import measures_frame, parts_taken, threshold_of
from dashboard.ui.table import table_key
from tests.dashboard.harness import app_with, checked, labelled, markdown_of, open_page, press, text_of

HOSTILE = "**spring** :red[x]"
READ, SEND = "files::read", "mail::send"
CATALOG = {
    "servers": [
        {"name": "files", "tools": [{"name": "read", "description": "Reads a file."}]},
        {"name": "mail", "tools": [{"name": "send", "description": "Sends a letter."}]},
    ]
}
CHANGE = {"before": 0.5, "after": 0.75, "gain": 0.25, "low": 0.125, "high": 0.375}
REPORT: dict[str, Any] = {
    "accepted": ["ranking", "threshold"],
    "measures": {"mrr": CHANGE, "ece": {**CHANGE, "low": -0.5}},
    "threshold": {"today": 0.28, "best": {"theta": 0.24}, "accepted": True, "f1": CHANGE},
}

app = app_with({"small": CATALOG})


def visit() -> AppTest:
    return open_page("catalog", catalog="small", view="calibration")


def kept(app: App, name: str = "spring", **values: Any) -> None:
    document = {"wayfare_calibration": 1, "name": name, "values": values, "report": REPORT, "labels": 30}
    app.calibrations.import_file(json.dumps(document), source="c.json", catalog="small")


def in_force(app: App) -> str:
    active = app.calibrations.active("small")
    return "" if active is None else active.name


def calibrated(page: AppTest) -> AppTest:
    """The page after Calibrate, once the fit is done."""
    press(page, "catalog.calibration.fit")
    job = page.session_state["catalog:calibration.job"]
    assert job.future.exception(60) is None or job.future.done()
    return checked(page.run())


def test_without_labels_it_says_what_is_missing_and_calibrate_says_how_many_more(app: App) -> None:
    page = visit()
    assert page.query_params["view"] == "calibration"
    assert "There are no labels yet" in text_of(page)
    assert "A fit needs 20 more labelled sub-tasks" in text_of(page)
    app.feedback.label("post a letter", SEND, right=True, catalog="small")
    app.feedback.label("post a parcel", READ, right=False, catalog="small")
    assert "A fit needs 19 more labelled sub-tasks" in text_of(checked(page.run()))
    assert "label at least 19 more" in calibrated(page).warning[0].value.replace("\\", "")
    press(page, "catalog.calibration.close")
    assert not page.warning


def test_a_fit_shows_each_measure_before_and_after_and_is_kept_or_refused(app: App) -> None:
    for number in range(24):
        app.feedback.label(f"{number} zorp zorp", SEND, right=True, catalog="small")
    page = calibrated(visit())
    result = page.session_state["catalog:calibration.job"].future.result()
    table = page.dataframe[0].value
    assert table["measure"].tolist() == ["MRR ↑", "hit@1 ↑", "hit@3 ↑", "log loss ↓", "calibration error ↓", "F1 ↑"]
    assert "Tool Attention's threshold θ: 0.28 in use" in text_of(page)
    assert result.fit.remark in text_of(page)
    if result.accepted:
        press(page, "catalog.calibration.keep.on")
        assert (in_force(app), "Calibration fit 1 is kept and switched on." in text_of(page)) == ("fit 1", True)
    else:
        assert not [button for button in page.button if button.key == "catalog.calibration.keep.on"]


def test_calibrations_are_switched_and_undone_in_one_click(app: App) -> None:
    for name in ("spring", HOSTILE):
        kept(app, name, theta=0.24)
    page = visit()
    assert page.button(key="catalog.calibration.undo").disabled
    hostile, spring = app.calibrations.of_catalog("small")
    press(page, f"catalog.calibration.kept.{hostile.id}.on")
    assert in_force(app) == HOSTILE
    assert HOSTILE not in markdown_of(page)
    assert [metric.value.replace("\\", "") for metric in page.metric][-1] == HOSTILE
    press(page, f"catalog.calibration.kept.{spring.id}.on")
    press(page, "catalog.calibration.undo")
    assert in_force(app) == HOSTILE
    press(page, "catalog.calibration.kept.shipped.on")
    assert in_force(app) == ""
    press(page, "catalog.calibration.undo")
    assert in_force(app) == HOSTILE
    assert "fitted to other tools or texts" in text_of(page)
    assert labelled(page, "Route with Tool Attention at θ = 0.24")


def test_labels_are_searched_and_deleted(app: App) -> None:
    app.feedback.label("post a letter", SEND, right=True, catalog="small")
    app.feedback.label("open a drawer", READ, right=False, catalog="small")
    page = open_page("catalog", catalog="small", view="calibration", q="drawer")
    assert page.dataframe[-1].value[["says", "tool", "sub-task"]].to_numpy().tolist() == [
        ["✗ wrong", READ, "open a drawer"]
    ]
    assert page.button(key="catalog.calibration.labels.delete").disabled
    (drawer, _) = app.feedback.labels("small")
    page.session_state[table_key("labels", "small", "drawer", drawer.id, "1")] = {
        "selection": {"rows": [0], "columns": [], "cells": []}
    }
    press(checked(page.run()), "catalog.calibration.labels.delete")
    assert [label.subtask for label in app.feedback.labels("small")] == ["post a letter"]
    assert "1 label deleted." in text_of(page)


def test_a_file_is_taken_in_and_a_bad_one_gives_one_sentence(app: App) -> None:
    kept(app)
    text = app.calibrations.export("small", "spring").replace("spring", "autumn")
    page = visit()
    uploader = "catalog.calibration.kept.file.0"
    checked(page.file_uploader(key=uploader).set_value(("c.json", text.encode(), "application/json")).run())
    assert [calibration.name for calibration in app.calibrations.of_catalog("small")] == ["autumn", "spring"]
    assert "Calibration autumn is kept" in text_of(page)
    uploader = "catalog.calibration.kept.file.1"
    checked(page.file_uploader(key=uploader).set_value(("bad.json", b"{}", "application/json")).run())
    assert "bad.json is no calibration" in text_of(page)
    assert len(app.calibrations.of_catalog("small")) == 2


def test_a_strange_report_of_a_file_shows_nothing_and_harms_nothing() -> None:
    for strange in (
        {"measures": [], "threshold": None, "accepted": "ranking"},
        {"measures": {"mrr": {**CHANGE, "low": "x"}, "ece": 1}, "threshold": {"f1": []}},
        {"measures": {"mrr": {**CHANGE, "after": float("nan")}}, "accepted": [{}]},
    ):
        assert measures_frame(strange).empty
        assert (threshold_of(strange), parts_taken(strange)) == (None, "")


def test_the_table_adds_up_and_says_which_parts_are_taken() -> None:
    frame = measures_frame(REPORT).set_index("measure")
    assert frame.loc["MRR ↑"].tolist() == [
        "ranking", "0.5000", "0.7500", "+0.2500", "+0.1250 to +0.3750", "✓ taken",
    ]  # fmt: skip
    assert frame.loc["calibration error ↓", "outcome"] == "unchanged"
    assert frame.loc["F1 ↑", "outcome"] == "✓ taken"
    assert parts_taken(REPORT) == "ranking, Tool Attention's θ"
    assert threshold_of(REPORT) == (0.28, 0.24, True)
