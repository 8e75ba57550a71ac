"""Reports of papers: tables and figures with ours beside them, as JSON files for the Papers page."""

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
"""Digits of a column of unrounded figures, 5 and 0.0025."""


class Kind(StrEnum):
    """The origin of a row of ours."""

    EXACT = "exact"
    """A formula of the paper on its own numbers; it must give the printed digits."""
    OURS = "ours"
    """The experiment on our catalog and tasks; not a reproduction."""
    MODEL = "model"
    """A part of the experiment needs a language model."""
    NOT = "not"
    """Not recomputed; the row says why."""


@dataclass(frozen=True, slots=True)
class Column:
    """A measure. `digits` is the number of printed digits. `slack` is the error from the rounding of its source figures. `clocked` columns
    are measured times, which a second run does not repeat.
    """

    key: str
    title: str
    digits: int = 1
    unit: str = ""
    clocked: bool = False
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """A page with its query, to try an experiment. A `router` has the knobs of a preset and `settings`. `says` names the target if it is
    not the experiment itself.
    """

    page: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    router: str = ""
    preset: str = "balanced"
    settings: Settings = field(default_factory=dict[str, bool | int | float | str])
    says: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """Each measure as (theirs, ours) by the column's key. `why` says why figures are missing or differ. `model` is the language
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
    """One line, or one group of bars. `theirs` marks printed figures, `clocked` measured times."""

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
    """One paper: its subject, tables and figures, and all their inputs. `catalogs` are fingerprints by name, `code` is the hash of
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
            place = ".".join(map(str, error.errors()[0]["loc"]))
            raise WayfareError(f"{source} is no report of a paper (at {place}); run `make papers` again.") from None

    def repeatable(self) -> dict[str, Any]:
        """Everything but measured times and the code's hash: equal for equal catalogs, seeds and versions."""
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
    """Whether ours, rounded as the paper rounds, is the printed figure. A half may be rounded either way. A missing figure agrees.

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
    """Whether a figure of ours changed by more than its noise: the greater of 2 % of it and one unit of the last digit.

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
    """The cells that moved from one report to the next, in words. Rows of a model, and rows of one report only, do not
    count."""
    old_cells = {(table.id, row.name): row.values for table in stored.tables for row in table.rows}
    return [
        f"{table.title}, {row.name}, {column.title}: {old} -> {new}"
        for table in made.tables for row in table.rows if row.kind is not Kind.MODEL for column in table.columns
        if (old := old_cells.get((table.id, row.name), row.values).get(column.key, (None, None))[1])
        != (new := row.values.get(column.key, (None, None))[1]) and moved(column, old, new)
    ]  # fmt: skip


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Six significant digits, equal on all machines. None for a number that is not finite.

    >>> rounded(1 / 3), rounded(float("nan"))
    (0.333333, None)
    """
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")


def pair(theirs: Value, ours: Value) -> tuple[Value, Value]:
    """A cell, ours rounded for the file."""
    their_value = float(theirs) if isinstance(theirs, float | int) else theirs
    return their_value, rounded(float(ours)) if isinstance(ours, float | int) else ours


def ours(name: str, found: Mapping[str, Value], printed: Mapping[str, Value] | None = None, **more: Any) -> Row:
    """A row of the experiment on our data: the `found` figures beside the `printed` ones of the paper."""
    return Row(name, Kind.OURS, {key: pair((printed or {}).get(key), value) for key, value in found.items()}, **more)


def bars(id_: str, title: str, about: str, y: str, series: Sequence[Series], **more: Any) -> Chart:
    """A figure of bars whose groups need no title."""
    return Chart(id_, title, about, "", y, "bar", tuple(series), **more)


def number(value: Value) -> float | None:
    return float(value) if isinstance(value, float | int) else None


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)  # on first use, because it is slow to make


# Rows of a language model, in their own file. They take hours, so a new report keeps them. `tests/benchmarks/by_model.py` makes them

FILE = "by_model.json"
Rows = Mapping[str, Sequence[Row]]
"""Rows by the id of their table."""
KEPT = dict[str, dict[str, list[Row]]]


def kept_rows(folder: Path) -> KEPT:
    file = folder / FILE
    return TypeAdapter(KEPT).validate_json(file.read_bytes()) if file.exists() else {}


def with_kept(report: Report, rows: Rows) -> Report:
    """A report with the kept rows in place of its rows without our figures, and after the others."""

    def filled(table: Table) -> Table:
        kept_by_name = {row.name: row for row in rows.get(table.id, ())}
        table_rows = [kept_by_name.pop(row.name, row) if _empty(row) else row for row in table.rows]
        names = {row.name for row in table_rows}
        return replace(table, rows=(*table_rows, *(row for row in kept_by_name.values() if row.name not in names)))

    return replace(report, tables=tuple(map(filled, report.tables)))


def _empty(row: Row) -> bool:
    return row.kind is Kind.MODEL and all(ours is None for _, ours in row.values.values())
