"""Reports of papers: tables and figures with ours beside them, as JSON files for the Papers page, and what they are computed over."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.domain.errors import WayfareError

Value = float | str | None
Settings = Mapping[str, bool | int | float | str]
"""Parameters of a router by name."""
AS_IT_IS = -1
"""Digits of a column whose figures are written as they are, 5 and 0.0025."""


class Kind(StrEnum):
    """The origin of a row of ours."""

    EXACT = "exact"
    """A formula of the paper on its own numbers; it has to give the printed digits."""
    OURS = "ours"
    """The same experiment on our catalog and tasks; no reproduction."""
    MODEL = "model"
    """A part of it needs a language model."""
    NOT = "not"
    """Not recomputed; the row says what is missing."""


@dataclass(frozen=True, slots=True)
class Column:
    """A measure. `digits` are the printed ones. `slack` is what the rounding of the figures that it is computed from may add. `clocked`
    columns are measured times, which a second run does not repeat.
    """

    key: str
    title: str
    digits: int = 1
    unit: str = ""
    clocked: bool = False
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """A page with its query, to try something. With a `router` its knobs are those of a preset and `settings`. `says` is what it opens
    where that is not the experiment itself.
    """

    page: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    router: str = ""
    preset: str = "balanced"
    settings: Settings = field(default_factory=dict[str, bool | int | float | str])
    says: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Each measure as (theirs, ours) by the column's key. `why` says what is missing or differs in this row. `model` is the language
    model of our side.
    """

    name: str
    kind: Kind
    values: Mapping[str, tuple[Value, Value]]
    why: str = ""
    link: Link | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper. `theirs` and `ours` name the data of each side, `differs` the differences and why."""

    id: str
    title: str
    about: str
    theirs: str
    ours: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    differs: str = ""
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one group of bars. `theirs` marks what the paper prints, `clocked` measured times."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    theirs: bool = False
    clocked: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure. `shape` is line, bar or point."""

    id: str
    title: str
    about: str
    x: str
    y: str
    shape: str
    series: tuple[Series, ...]
    log_y: bool = False
    log_x: bool = False
    differs: str = ""
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One paper: its subject, tables and figures, and all that repeats them. `catalogs` are fingerprints by name, `code` is the hash of
    the source files that computed it.
    """

    id: str
    name: str
    title: str
    about: str
    catalogs: Mapping[str, str]
    seed: int
    versions: Mapping[str, str]
    code: str
    model: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]

    def to_json(self) -> str:
        return _adapter().dump_json(self).decode() + "\n"

    @classmethod
    def parse(cls, data: bytes, *, source: str) -> Report:
        """Read the report in a file. Raises WayfareError for any other file."""
        try:
            return _adapter().validate_json(data)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise WayfareError(f"{source} is no report of a paper (at {where}); run `make papers` again.") from None

    def repeatable(self) -> dict[str, Any]:
        """Everything but measured times and the code's hash: the same for the same catalogs, seed and versions."""
        document: dict[str, Any] = _adapter().dump_python(self, mode="json")
        del document["code"]
        for table in document["tables"]:
            clocked = {column["key"] for column in table["columns"] if column["clocked"]}
            for row in table["rows"]:
                row["values"] = {key: pair for key, pair in row["values"].items() if key not in clocked}
        for chart in document["charts"]:
            chart["series"] = [series for series in chart["series"] if not series["clocked"]]
        return document


def agrees(column: Column, theirs: Value, ours: Value) -> bool:
    """Whether ours, rounded as the paper rounds, is what it prints. A half may be rounded either way. Nothing printed always agrees.

    >>> cost = Column("c", "C", digits=2)
    >>> agrees(cost, 1.78, 1.7816), agrees(cost, 1.78, 1.786), agrees(cost, "Yes", "Yes")
    (True, False, True)
    """
    if theirs is None:
        return True
    if isinstance(theirs, float | int) and isinstance(ours, float | int):
        return abs(theirs - ours) <= (0.5 * 10.0**-column.digits if column.digits >= 0 else 0.0) + column.slack + 1e-9
    return theirs == ours


NOISE = 0.02


def moved(column: Column, stored: Value, made: Value) -> bool:
    """Whether a figure of ours changed by more than its noise: 2 % of it or one unit of the last digit, of which the greater.

    Results are deterministic on one machine. On another one the last bits of an embedding may turn a close decision.

    >>> recall = Column("r", "Recall", digits=1)
    >>> moved(recall, 84.7, 84.9), moved(recall, 84.7, 81.0), moved(recall, 84.7, None)
    (False, True, True)
    """
    if column.clocked:
        return False
    if isinstance(stored, float | int) and isinstance(made, float | int):
        return abs(stored - made) > max(NOISE * abs(stored), 10.0**-column.digits if column.digits >= 0 else 0.0)
    return stored != made


def moved_cells(stored: Report, made: Report) -> list[str]:
    """The cells that moved from one report to the next, in words. Rows of a model, and rows that only one of them
    has, do not count."""
    before = {(table.id, row.name): row.values for table in stored.tables for row in table.rows}
    return [
        f"{table.title}, {row.name}, {column.title}: {old} -> {new}"
        for table in made.tables for row in table.rows if row.kind is not Kind.MODEL for column in table.columns
        if (old := before.get((table.id, row.name), row.values).get(column.key, (None, None))[1])
        != (new := row.values.get(column.key, (None, None))[1]) and moved(column, old, new)
    ]  # fmt: skip


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Six significant digits, the same on every machine. None for a number that is not finite.

    >>> rounded(1 / 3), rounded(float("nan"))
    (0.333333, None)
    """
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")


def pair(theirs: Value, ours: Value) -> tuple[Value, Value]:
    """A cell, ours rounded for the file."""
    printed = float(theirs) if isinstance(theirs, float | int) else theirs
    return printed, rounded(float(ours)) if isinstance(ours, float | int) else ours


def ours(name: str, found: Mapping[str, Value], printed: Mapping[str, Value] | None = None, **more: Any) -> Row:
    """A row of the same experiment on our data: what was `found` beside what the paper has `printed`."""
    return Row(name, Kind.OURS, {key: pair((printed or {}).get(key), value) for key, value in found.items()}, **more)


def bars(id_: str, title: str, about: str, y: str, series: Sequence[Series], **more: Any) -> Chart:
    """A figure of bars whose groups need no title."""
    return Chart(id_, title, about, "", y, "bar", tuple(series), **more)


def number(value: Value) -> float | None:
    return float(value) if isinstance(value, float | int) else None


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)  # takes a while to make, so on first use


# What a language model measured, in a file of its own: it takes hours, so that a new report takes it over. `tests/benchmarks/by_model.py` makes it

FILE = "by_model.json"
Rows = Mapping[str, Sequence[Row]]
"""Rows by the id of their table."""
KEPT = dict[str, dict[str, list[Row]]]


def kept_rows(folder: Path) -> KEPT:
    file = folder / FILE
    return TypeAdapter(KEPT).validate_json(file.read_bytes()) if file.exists() else {}


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
