"""Rows of the papers that need a model: they show the model's name, or say that no model is set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from core.app import App, Settings, build_app
from core.papers import RESULTS
from core.papers.ehrr_runs import ablation
from core.papers.report import Column, Kind, Report, Row, Table, with_kept
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
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
    stored, new = (Row(name, Kind.MODEL, {"a": (None, 3.0)}, model="small") for name in ("by a model", "more"))
    over = Row("rules", Kind.MODEL, {"a": (None, 9.0)}, model="small")
    assert with_kept(report, {"1": [stored, new, over]}).tables[0].rows == (rows[0], stored, new)
    assert with_kept(report, {}) == report
