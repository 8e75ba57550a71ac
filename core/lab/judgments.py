"""Judgment sets: graded by named judges, used as labelled tasks, imported and exported."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from core.catalogs.catalogs import CatalogService
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.feedback import GRADES, MOST_NAME_CHARACTERS, MOST_NOTE_CHARACTERS, AskedQuery, Judgment, JudgmentSets
from core.domain.people import actions
from core.domain.tasks import Task
from core.importers import tasks_text
from core.importers.judgments import csv_text, json_lines_text, read_judgments
from core.importers.reading import clean_text, line_fault
from core.routers.base import checked_query
from core.store import Store

MOST_AT_ONCE = 100_000
SOURCE = "judgments: "  # prefix of the source of tasks that a run records
Format = Literal["jsonl", "csv", "tasks"]


@dataclass(frozen=True, slots=True)
class ImportedJudgments:
    """The result of an import: the number of new or changed judgments, of known judgments, and of judgments of tools that the catalog
    lacks. All are kept.
    """

    added: int
    known: int
    not_in_catalog: int


@actions("tune", judge="judge a tool", take_back="take a judgment back", import_="import judgments")
@dataclass(eq=False)
class JudgmentService:
    """Judgment sets by catalog. They change no decision. Thread-safe."""

    store: Store
    catalogs: CatalogService
    _: KW_ONLY
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._known: dict[str, JudgmentSets] = {}

    def judge(
        self,
        query: str,
        tool: str,
        grade: int,
        *,
        judge: str,
        set_name: str,
        catalog: str,
        server_hint: str = "",
        note: str = "",
        decision_id: str | None = None,
    ) -> Judgment:
        """Grade a tool (`server::tool`) for a sub-task. An earlier grade of this judge no longer counts.

        Raises UnknownNameError, WayfareError.
        """
        if tool not in self.catalogs.catalog(catalog).tool_row:
            raise UnknownNameError(
                f"There is no tool {tool!r} in catalog {catalog!r}; write server::tool as the catalog has it."
            )
        if grade not in GRADES:
            raise WayfareError(f"A grade is 0, 1, 2 or 3, not {grade!r}.")
        cleaned = clean_text(note)[0].strip()
        if len(cleaned) > MOST_NOTE_CHARACTERS:
            raise WayfareError(
                f"The note has {len(cleaned):,} characters; shorten it to at most {MOST_NOTE_CHARACTERS:,}."
            )
        judgment = Judgment(
            at=self.now(),
            catalog=catalog,
            set_name=_name(set_name, "set"),
            subtask=checked_query(query),
            server_hint=server_hint.strip(),
            tool=tool,
            grade=grade,
            judge=_name(judge, "judge"),
            note=cleaned,
            origin="console",
            decision_id=decision_id,
        )
        self._keep(catalog, judgment)
        return judgment

    def take_back(self, judgment: Judgment) -> None:
        self._keep(
            judgment.catalog, replace(judgment, at=self.now(), grade=None, note="", origin="console", decision_id=None)
        )

    def sets(self, catalog: str) -> Mapping[str, int]:
        """The judgment sets of a catalog with the number of their judgments, the last judged set first."""
        return self._of(catalog).sets

    def judgments(self, catalog: str, set_name: str) -> tuple[Judgment, ...]:
        """The judgments in force of a set, in order of commit. Raises UnknownNameError for an unknown set."""
        judgments = tuple(judgment for judgment in self._of(catalog).judgments if judgment.set_name == set_name)
        if not judgments:
            names = ", ".join(self.sets(catalog)) or "none"
            raise UnknownNameError(f"Catalog {catalog!r} has no judgment set {set_name!r}; it has: {names}.")
        return judgments

    def graded(self, *, catalog: str, set_name: str, judge: str) -> Mapping[tuple[AskedQuery, str], Judgment]:
        return self._of(catalog).graded.get((set_name, judge), {})

    def tasks(self, catalog: str, set_name: str) -> tuple[tuple[Task, ...], int]:
        """A set as labelled tasks, and the number of its queries left out because no tool has a grade above 0. Raises UnknownNameError."""
        return judged_tasks(self.judgments(catalog, set_name))

    def source(self, set_name: str) -> str:
        return f"{SOURCE}{set_name}"

    def export(self, catalog: str, set_name: str, form: Format) -> str:
        """A set as text: every judgment as JSON Lines or CSV, or labelled tasks. Raises UnknownNameError."""
        if form == "tasks":
            return tasks_text(self.tasks(catalog, set_name)[0])
        judgments = self.judgments(catalog, set_name)
        return csv_text(judgments) if form == "csv" else json_lines_text(judgments)

    def import_(
        self,
        text: str | bytes,
        *,
        source: str,
        catalog: str,
        set_name: str,
        judge: str = "",
    ) -> ImportedJudgments:
        """Take judgments from a file, all or none. Earlier grades of a judge no longer count, but stay in the log.

        `judge` is the judge of a file without judges. Raises CatalogError that names file and line, WayfareError.
        """
        name, owner = _name(set_name, "set"), _name(judge, "judge") if judge.strip() else ""
        entries = read_judgments(text, source=source, judge=owner)
        if len(entries) > MOST_AT_ONCE:
            raise WayfareError(f"{source} has {len(entries):,} judgments; give at most {MOST_AT_ONCE:,} in one file.")
        now, tool_row = self.now(), self.catalogs.catalog(catalog).tool_row
        judgments = [
            Judgment(e.at or now, catalog, name, *e.asked, e.tool, e.grade, e.judge, e.note, "file") for e in entries
        ]
        stored = {_said(judgment) for judgment in self._of(catalog).judgments if judgment.set_name == name}
        fresh = [judgment for judgment in judgments if _said(judgment) not in stored]
        self._keep(catalog, *fresh)
        return ImportedJudgments(
            len(fresh), len(judgments) - len(fresh), sum(judgment.tool not in tool_row for judgment in judgments)
        )

    def read_anew(self) -> None:  # another process may have written
        with self._lock:
            self._known.clear()

    def _of(self, catalog: str) -> JudgmentSets:
        with self._lock:
            if catalog not in self._known:
                self._known[catalog] = JudgmentSets.of(self.store.judgments.history(catalog))
            return self._known[catalog]

    def _keep(self, catalog: str, *judgments: Judgment) -> None:
        with self._lock:
            sets = self._of(catalog)
            self.store.judgments.append(*judgments)
            self._known[catalog] = JudgmentSets.of((*sets.judgments, *judgments))


def _said(judgment: Judgment) -> tuple[object, ...]:
    return judgment.asked, judgment.tool, judgment.judge, judgment.grade, judgment.note


def _name(text: str, what: str) -> str:
    name = " ".join(text.split())
    if not name:
        raise WayfareError(f"The {what} has no name; give it one.")
    if fault := line_fault(name, MOST_NAME_CHARACTERS):
        raise WayfareError(f"The name of the {what} {fault}.")
    return name


def judged_tasks(judgments: Iterable[Judgment]) -> tuple[tuple[Task, ...], int]:
    """Returns judged queries as labelled tasks, and the number of queries left out. The median of several judges counts, the lower
    median of an even number.

    A tool of grade 1 or more can do the task; the best come first. A query whose judged tools all have grade 0 is left out,
    because the other tools were not judged.
    """
    by_query: dict[AskedQuery, dict[str, list[int]]] = {}
    for judgment in judgments:
        if judgment.grade is not None:
            by_query.setdefault(judgment.asked, {}).setdefault(judgment.tool, []).append(judgment.grade)
    tasks: list[Task] = []
    for query, grades in by_query.items():
        tools = {tool: statistics.median_low(marks) for tool, marks in grades.items()}
        right = sorted((tool for tool in tools if tools[tool] > 0), key=lambda tool: (-tools[tool], tool))
        if right:
            graded = {tool: float(grade) for tool, grade in tools.items()}
            tasks.append(Task(query.id, query.text, query.server_hint, tuple(right), graded))
    return tuple(tasks), len(by_query) - len(tasks)
