"""What a language model measured in the papers' experiments, kept in a file of its own: it takes hours, so that a new report takes it over.

`tests/benchmarks/by_model.py` makes it: rows of the papers' tables, each with the model's name and the number of tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from core.papers.report import Kind, Report, Row, Table

FILE = "by_model.json"
Rows = Mapping[str, Sequence[Row]]
"""Rows by the id of their table."""
KEPT: TypeAdapter[dict[str, dict[str, list[Row]]]] = TypeAdapter(dict[str, dict[str, list[Row]]])


def kept_rows(folder: Path) -> dict[str, dict[str, list[Row]]]:
    """Returns the kept rows by paper, none without a file."""
    file = folder / FILE
    return KEPT.validate_json(file.read_bytes()) if file.exists() else {}


def with_kept(report: Report, rows: Rows) -> Report:
    """A report with the kept rows in place of those without a figure of ours, and behind the others."""

    def filled(table: Table) -> Table:
        kept = {row.name: row for row in rows.get(table.id, ())}
        own = [kept.pop(row.name, row) if _empty(row) else row for row in table.rows]
        names = {row.name for row in own}
        return replace(table, rows=(*own, *(row for row in kept.values() if row.name not in names)))

    return replace(report, tables=tuple(map(filled, report.tables)))


def _empty(row: Row) -> bool:
    return row.kind is Kind.MODEL and all(ours is None for _, ours in row.values.values())
