"""Several people at once: each person has separate parameter changes and routing contexts."""

from __future__ import annotations

import csv
import json

import pytest

from core.app import App
from core.domain.errors import PlannerError
from core.routers.ehrr import EhrrParameters
from tests.importing import import_text

TEXT = "read a file"
GUARDED = {
    "servers": [
        {"name": "files", "description": "Read and write files.", "tools": [
            {"name": "read", "description": "Read a file."},
            {"name": "write", "description": "Write a file.", "preconditions": ['has_prior_tool_output(prefix="files::read")']},
        ]},
    ]
}  # fmt: skip


def changes(app: App) -> list[tuple[str, str, str, str]]:
    """Router, name, old and new value of each recorded change, in order."""
    app.store.events.flush()
    lines = app.store.activity.export("parameters", "csv").decode().splitlines()
    return [(row["router"], row["name"], row["old"], row["new"]) for row in csv.DictReader(lines)]


def route(app: App, visitor: str, text: str = TEXT, **values: object) -> None:
    app.routing.route(text, catalog="world", parameters=app.routing.parameters("ehrr", values), visitor=visitor)


def test_two_visitors_with_different_knobs_record_only_what_each_changed(app: App) -> None:
    for number in range(2):
        route(app, "ann", f"read file {number}", k=2)
        route(app, "bo", f"read file {number}", n=1)
        route(app, "cy", f"read file {number}")
    assert changes(app) == [("ehrr", "k", "5", "2"), ("ehrr", "n", "3", "1")]
    route(app, "ann", n=1)  # ann goes back with one knob and turns another; bo has done nothing
    assert sorted(changes(app)[2:]) == [("ehrr", "k", "2", "5"), ("ehrr", "n", "3", "1")]


def test_a_decision_that_fails_records_no_change_of_parameters(app: App) -> None:
    parameters = app.routing.parameters("pa_rag", {"planner": "model"})
    with pytest.raises(PlannerError, match="No model is set"):
        app.routing.route(TEXT, catalog="world", router="pa_rag", parameters=parameters, visitor="ann")
    assert changes(app) == []


def test_the_steps_of_a_tool_attention_plan_record_no_change_that_nobody_made(app: App) -> None:
    import_text(app.catalog_editor, json.dumps(GUARDED), "guarded")
    parameters = app.routing.parameters("tool_attention", {"outputs": "none", "theta": 0.0})
    plan = app.routing.plan(
        "read a file, then write it", catalog="guarded", router="tool_attention", parameters=parameters, visitor="ann"
    )
    outputs = [step.decision.parameters["outputs"] for step in plan.steps]
    assert outputs == ["none", "files::read"]  # the second step has seen the first step's output
    expected = [("tool_attention", "outputs", "*", "none"), ("tool_attention", "theta", "0.28", "0.0")]
    assert sorted(changes(app)) == expected
    app.routing.plan(
        "read a file, then write it", catalog="guarded", router="tool_attention", parameters=parameters, visitor="ann"
    )
    assert sorted(changes(app)) == expected


def test_people_with_different_learning_knobs_do_not_evict_each_others_routing_context(app: App) -> None:
    fast, slow = EhrrParameters(lambda_r=0.5), EhrrParameters(lambda_r=0.05)
    of_fast, of_slow = app.catalogs.context("world", fast), app.catalogs.context("world", slow)
    assert of_fast is not of_slow
    for _ in range(3):
        assert app.catalogs.context("world", fast) is of_fast
        assert app.catalogs.context("world", slow) is of_slow
    assert app.catalogs.context("world") is app.catalogs.context("world", EhrrParameters())
