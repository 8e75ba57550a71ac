"""What recomputing a paper gives: its tables and figures with ours beside them. A report is a JSON file that the Papers page reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.tasks import Task
from core.lab.scenarios.simulation import World
from core.planning.base import Planner
from core.routers.context import RoutingContext
from core.shared.errors import WayfareError

Value = float | str | None
AS_IT_IS = -1
"""Digits of a column whose figures are written as they are, 5 and 0.0025."""


class Kind(StrEnum):
    """How a row of ours came about."""

    EXACT = "exact"
    """A formula of the paper on the paper's own numbers: it has to give the printed digits."""
    OURS = "ours"
    """The same experiment on our catalog and tasks: not to be read as a reproduction."""
    MODEL = "model"
    """A language model did or would have to do a part of it."""
    NOT = "not"
    """Not recomputed: the row says what is missing."""


@dataclass(frozen=True, slots=True)
class Column:
    """A measure. `digits` are those that the paper prints; `slack` is what the rounding of the figures that it is computed from may
    add; `clocked` ones are measured times, which a second run does not repeat."""

    key: str
    title: str
    digits: int = 1
    unit: str = ""
    clocked: bool = False
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """Where something can be tried: a page with its query. With a `router` that router's knobs as a preset has them, and `settings`."""

    page: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    router: str = ""
    preset: str = "balanced"
    settings: Mapping[str, bool | int | float | str] = field(default_factory=dict[str, bool | int | float | str])


@dataclass(frozen=True, slots=True)
class Row:
    """Each measure as (theirs, ours) by the column's key. `why` says what is missing or differs in this row; `model` is the language
    model that ours was made with."""

    name: str
    kind: Kind
    values: Mapping[str, tuple[Value, Value]]
    why: str = ""
    link: Link | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the paper. `theirs` and `ours` say on which data each side is, `differs` what differs and why."""

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
    """One line, or one group of bars. `theirs` is what the paper prints; every other one is ours."""

    name: str
    x: tuple[float | str, ...]
    y: tuple[float | None, ...]
    theirs: bool = False


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
    differs: str = ""
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One paper: what it is about, its tables and figures, and all that repeats them. `catalogs` are fingerprints by name."""

    id: str
    name: str
    title: str
    about: str
    catalogs: Mapping[str, str]
    seed: int
    versions: Mapping[str, str]
    model: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]

    def to_json(self) -> str:
        """The content of its file."""
        return _adapter().dump_json(self).decode() + "\n"

    @classmethod
    def parse(cls, data: bytes, *, source: str) -> Report:
        """The report in a file. Raises WayfareError where it is none."""
        try:
            return _adapter().validate_json(data)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise WayfareError(f"{source} is no report of a paper (at {where}); run `make papers` again.") from None

    def repeatable(self) -> dict[str, Any]:
        """Everything but what a clock measured: the same for the same catalogs, seed and versions."""
        document: dict[str, Any] = _adapter().dump_python(self, mode="json")
        for table in document["tables"]:
            clocked = {column["key"] for column in table["columns"] if column["clocked"]}
            for row in table["rows"]:
                row["values"] = {key: pair for key, pair in row["values"].items() if key not in clocked}
        return document


def agrees(column: Column, theirs: Value, ours: Value) -> bool:
    """Whether ours, rounded as the paper rounds, is what it prints. A half may be rounded either way; nothing printed, nothing to miss.

    >>> cost = Column("c", "C", digits=2)
    >>> agrees(cost, 1.78, 1.7816), agrees(cost, 1.78, 1.786), agrees(cost, "Yes", "Yes")
    (True, False, True)
    """
    if theirs is None:
        return True
    if isinstance(theirs, float | int) and isinstance(ours, float | int):
        return abs(theirs - ours) <= (0.5 * 10.0**-column.digits if column.digits >= 0 else 0.0) + column.slack + 1e-9
    return theirs == ours


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Six significant digits: what a file needs, and the same on every machine. Nothing finite is None.

    >>> rounded(1 / 3), rounded(float("nan"))
    (0.333333, None)
    """
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")


def pair(theirs: Value, ours: Value) -> tuple[Value, Value]:
    """A cell, ours rounded for the file."""
    printed = float(theirs) if isinstance(theirs, float | int) else theirs
    return printed, rounded(float(ours)) if isinstance(ours, float | int) else ours


@cache
def _adapter() -> TypeAdapter[Report]:
    return TypeAdapter(Report)  # takes its time: not before a report is read or written


# ----------------------------------------------------------------------------------------------------------------------
# What the papers are recomputed over: catalogs, labelled tasks, decisions, networks, and a language model where one is set.

SAMPLE, ATTENTION, SEARCH = "sample", "attention-120", "search-15"
NEEDS_MODEL = "Set WAYFARE_LLM_MODEL, then make papers."


@dataclass(frozen=True)
class Material:
    """`tasks` by the name of a file of the sample or of a testbed; `world` a network's profile, steps and seed, whether
    questions are asked as a person put them; its catalog is NetMCP's testbed. `add_catalog` has routers know one more, for this process. `model` is None where no model is set; each of its
    rows asks at most `model_tasks` questions a set. `poisoned` is a file of poisoned servers, JSON Lines; None: nobody gave one."""

    context: Callable[[str], RoutingContext]
    tasks: Callable[[str], tuple[Task, ...]]
    decide: Callable[..., Decision]
    world: Callable[[str, int, int, bool], World]
    add_catalog: Callable[[Catalog], None]
    seed: int
    model: Planner | None
    model_tasks: int
    poisoned: Path | None
    say: Callable[[str], None]

    def asked_of_model(self, tasks: Sequence[Task]) -> list[Task]:
        """As many of the tasks as a model is asked about, spread over all of them."""
        step = max(1, -(-len(tasks) // max(1, self.model_tasks)))
        return list(tasks[::step])
