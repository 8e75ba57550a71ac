"""Rows of the papers that need a model: with one its name stands beside the figure, without one they say so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.app import App, Settings, build_app
from core.papers import RESULTS
from core.papers.ehrr_runs import ablation
from core.papers.report import Column, Kind, Report, Row, Table, with_kept
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from tests.benchmarks import by_model
from tests.relevance.toy_encoders import Letters

TASKS = 4


@contextmanager
def opened(tmp_path: Path, environment: Mapping[str, str]) -> Iterator[App]:
    store = Store(None)
    encoder = CachedEncoder(EncoderSource.of(Letters()), store.vectors)
    settings = Settings(db=tmp_path / "x.duckdb", cache=tmp_path / "cache", environment=environment)
    with build_app(store, settings, encoder=encoder) as app:
        yield app


def model_row(app: App) -> Row:
    """The row of EHRR's ablations whose sub-tasks a model writes, over a few of the tasks."""
    material = app.papers.material(model_tasks=2)
    (row,) = (
        row for row in ablation(material, material.tasks("ehrr_categories")[:TASKS]).rows if row.kind is Kind.MODEL
    )
    return row


def test_without_a_model_the_row_says_what_it_needs(tmp_path) -> None:
    with opened(tmp_path, {}) as app:
        row = model_row(app)
    assert row.why.startswith("Set WAYFARE_LLM_MODEL")
    assert set(row.values.values()) == {(None, None)}


def test_with_a_model_its_name_stands_beside_the_figure_and_as_few_are_asked_as_allowed(
    tmp_path, endpoint, of_model
) -> None:
    endpoint.reactions = [endpoint.answer({"question": "convert a table"})]
    with opened(tmp_path, of_model) as app:
        row = model_row(app)
    assert (row.model, row.why, len(endpoint.asked)) == ("gpt-4o-mini", f"2 of {TASKS} tasks.", 2)
    assert all(isinstance(ours, float) for _, ours in row.values.values())


def test_a_model_that_does_not_answer_leaves_the_row_empty_and_the_rest_made(tmp_path, endpoint, of_model) -> None:
    endpoint.reactions = [endpoint.fail(401)]
    with opened(tmp_path, of_model) as app:
        row = model_row(app)
    assert row.why.startswith("The model did not answer: ")
    assert set(row.values.values()) == {(None, None)}


def test_what_a_model_measured_before_stays_when_a_report_is_made_without_one() -> None:
    columns = (Column("a", "A"),)
    rows = (
        Row("rules", Kind.OURS, {"a": (1.0, 2.0)}),
        Row("by a model", Kind.MODEL, {"a": (1.0, None)}, why="Set it."),
    )
    shipped = Report.parse((RESULTS / "etom.json").read_bytes(), source="etom.json")
    report = replace(shipped, tables=(Table("1", "", "", "", "", columns, rows),))
    before, new = (Row(name, Kind.MODEL, {"a": (None, 3.0)}, model="small") for name in ("by a model", "more"))
    over = Row("rules", Kind.MODEL, {"a": (None, 9.0)}, model="small")
    assert with_kept(report, {"1": [before, new, over]}).tables[0].rows == (rows[0], before, new)
    assert with_kept(report, {}) == report


def told(body: Mapping[str, Any]) -> dict[str, Any]:
    """The data that a question to the model holds."""
    return json.loads(body["messages"][1]["content"].partition("<data>\n")[2].partition("\n</data>")[0])


def by(endpoint: Any, says: Callable[[dict[str, Any]], object]) -> Any:
    """A reaction that answers by the data of the question."""

    def react(handler: Any) -> None:
        endpoint.answer(says(told(endpoint.asked[-1].body)))(handler)

    return react


def test_the_judge_scores_an_answer_against_the_truth_and_a_swapped_one_below(tmp_path, endpoint, of_model) -> None:
    def says(data: dict[str, Any]) -> object:
        if "truth" in data:
            return {"why": "", "score": 9 if data["answer"] == data["truth"] else 1}
        (call,) = data["attempts"]
        return {"action": "stop", "tool": "", "arguments_json": "{}", "subtask": "", "words": call["said"]}

    endpoint.reactions = [by(endpoint, says)]
    with opened(tmp_path, of_model) as app:
        material = app.papers.material(model_tasks=2)
        row = by_model.answered(material, material.model)
    ((_, ssr),) = row.values.values()
    assert ssr == 100
    assert "gives the answers 9.0 of 10, and answers to other questions 1.0." in row.why


def test_react_at_3_counts_the_best_trajectory_and_names_the_errors(tmp_path, endpoint, of_model) -> None:
    def says(data: dict[str, Any]) -> object:
        if "done" not in data:
            return {"why": "", "kind": "TOOLS"} if "tools" not in data else {"reason": "", "tools": []}
        other_way = by_model.WAYS[2] in endpoint.asked[-1].user
        ends = other_way or len(data["done"]) == 2
        return {"reasoning": "", "status": "finish" if ends else "continue", "next_action": "do"}

    endpoint.reactions = [by(endpoint, says)]
    with opened(tmp_path, of_model) as app:
        material = app.papers.material(model_tasks=1)
        once, thrice = (by_model.reacted(material, material.model, attempts) for attempts in (1, 3))
    assert (once.name, once.values["L5"], thrice.values["L5"]) == ("ReAct, by a model", (None, 0.0), (None, 100.0))
    assert thrice.values["L1"] == (None, 0.0)
    assert "server_selection_error 10." in once.why
