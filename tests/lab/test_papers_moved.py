"""Published results against the code: a quick part of three papers' cells is computed again. `make papers` computes all cells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

from core.app import Settings, open_app
from core.domain.settings import IN_MEMORY
from core.papers import RESULTS, etom, pa_rag, tool_attention, tool_attention_reference
from core.papers.material import ATTENTION, Material
from core.papers.report import Kind, Report, moved
from tests.cases import each


@pytest.fixture(scope="module")
def material(encoder_cache: Path):
    with open_app(Settings(db=IN_MEMORY, cache=encoder_cache, encoder_difference="", reranker="")) as app:
        yield app.papers.material()


def pa_rag_cells(material: Material) -> dict[str, float]:
    scores = pa_rag.measured(material, {"s": material.tasks("pa_rag_simple")}, "naive_rag", {})
    return {key: scores[key] for key in ("sp", "sr", "sf")}


def etom_cells(material: Material) -> dict[str, float]:
    return etom.scores(etom.levels(material, "react", material.tasks(etom.FILES["L5"]), {}))


def tool_attention_cells(material: Material) -> dict[str, float]:
    tasks = [task for task in material.tasks(ATTENTION) if task.relevant]
    decisions = [material.decide(task.subtask, ATTENTION, "tool_attention") for task in tasks]
    return {"t": fmean(d.exposure.exposed for d in decisions), "shown": 100 * tool_attention.reach(decisions, tasks)}


@each(
    ("paper", "table_id", "row", "cells"),
    [
        ("pa_rag", "1", "B1 naive RAG", pa_rag_cells),
        ("etom", "3", "ReAct", etom_cells),
        ("tool_attention", "7.3", "Tool Attention", tool_attention_cells),
    ],
)
def test_published_cells_are_what_the_code_computes(
    paper: str, table_id: str, row: str, cells: Callable[[Material], dict[str, float]], material: Material
) -> None:
    report = Report.parse((RESULTS / f"{paper}.json").read_bytes(), source=paper)
    (table,) = (table for table in report.tables if table.id == table_id)
    (stored,) = (line.values for line in table.rows if line.name == row)
    columns = {column.key: column for column in table.columns}
    for key, figure in cells(material).items():
        assert not moved(columns[key], stored[key][1], figure), f"{table.title}, {row}, {key}: run make papers"


def test_the_public_reference_code_of_tool_attention_counts_the_same_to_the_digit(material: Material) -> None:
    table = tool_attention_reference.reference(material)
    report = Report.parse((RESULTS / "tool_attention.json").read_bytes(), source="tool_attention")
    exact = {row.name: row.values["t"] for row in table.rows if row.kind is Kind.EXACT}
    assert {name: round(float(str(ours))) for name, (_, ours) in exact.items()} == tool_attention_reference.COUNTED
    assert table in report.tables, "run make papers"
