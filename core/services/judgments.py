"""Judgment sets: graded by named judges, settled where they differ, used as labelled tasks, taken in and given out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from core.domain.judgment import (
    GRADES,
    MOST_NAME_CHARACTERS,
    MOST_NOTE_CHARACTERS,
    AskedQuery,
    Judgment,
    JudgmentSets,
)
from core.domain.lab_run import LabRun
from core.domain.task import Task
from core.importers import tasks_text
from core.importers.checks import clean_text, line_fault
from core.importers.judgments import csv_text, json_lines_text, read_judgments
from core.importers.trec import qrels_text
from core.lab.agreement import JUDGE, Agreement, Settled, agreement, judged_tasks, settled
from core.lab.pooling import Pooled, pooled
from core.routers.base import checked_subtask
from core.services.catalogs import CatalogService
from core.services.lab_runs import LISTED, LabRunService
from core.shared.errors import UnknownNameError, WayfareError
from core.store import Store

MOST_AT_ONCE = 100_000
SOURCE = "judgments: "  # how what a run says of its tasks begins
Format = Literal["jsonl", "csv", "qrels", "tasks"]


@dataclass(frozen=True, slots=True)
class ImportedJudgments:
    """What a file gave: judgments that are new or changed, those that were known, and how many are of tools that the catalog does
    not have now; those are kept too."""

    added: int
    known: int
    not_in_catalog: int


class JudgmentService:
    """Judgment sets by catalog. Nothing that is judged here moves a decision. Thread-safe."""

    def __init__(
        self,
        store: Store,
        catalogs: CatalogService,
        runs: LabRunService,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._runs = runs
        self._now = now
        self._lock = threading.RLock()
        self._known: dict[str, JudgmentSets] = {}

    def judge(
        self,
        subtask: str,
        tool: str,
        grade: int,
        *,
        judge: str,
        set_name: str,
        catalog: str,
        server_hint: str = "",
        note: str = "",
        decision_id: str | None = None,
        origin: str = "console",
    ) -> Judgment:
        """Grade a tool (`server::tool`) for a sub-task; an earlier grade of this judge does not count any more.

        Raises UnknownNameError, WayfareError.
        """
        if tool not in self._catalogs.catalog(catalog).tool_row:
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
        made = Judgment(
            at=self._now(),
            catalog=catalog,
            set_name=_name(set_name, "set"),
            subtask=checked_subtask(subtask),
            server_hint=server_hint.strip(),
            tool=tool,
            grade=grade,
            judge=_name(judge, "judge"),
            note=cleaned,
            origin=origin,
            decision_id=decision_id,
        )
        self._keep(catalog, made)
        return made

    def take_back(self, judgment: Judgment, *, origin: str = "console") -> None:
        """Have a judgment not count any more; both stay in the log."""
        self._keep(
            judgment.catalog, replace(judgment, at=self._now(), grade=None, note="", origin=origin, decision_id=None)
        )

    def sets(self, catalog: str) -> Mapping[str, int]:
        """The judgment sets of a catalog with the number of their judgments, the one judged last first."""
        return self._of(catalog).sets

    def judgments(self, catalog: str, set_name: str) -> tuple[Judgment, ...]:
        """What counts in a set, in order of commit. Raises UnknownNameError where there is no such set."""
        found = tuple(one for one in self._of(catalog).judgments if one.set_name == set_name)
        if not found:
            names = ", ".join(self.sets(catalog)) or "none"
            raise UnknownNameError(f"Catalog {catalog!r} has no judgment set {set_name!r}; it has: {names}.")
        return found

    def graded(self, *, catalog: str, set_name: str, judge: str) -> Mapping[tuple[AskedQuery, str], Judgment]:
        """What a judge says in a set, by query and tool."""
        return self._of(catalog).graded.get((set_name, judge), {})

    def settled(self, catalog: str, set_name: str, rule: str) -> Settled:
        """One grade for each judged tool, by a rule of `core.lab.agreement`. Raises UnknownNameError, ParameterError."""
        return settled(self.judgments(catalog, set_name), rule)

    def tasks(self, catalog: str, set_name: str, rule: str) -> tuple[tuple[Task, ...], int]:
        """A set as labelled tasks, and how many of its queries are left out, having no tool above grade 0."""
        return judged_tasks(self.settled(catalog, set_name, rule))

    def source(self, set_name: str, rule: str) -> str:
        """What a run over a set says its tasks are from."""
        return f"{SOURCE}{set_name} ({rule})"

    def judges(self, catalog: str, set_name: str) -> tuple[str, ...]:
        """The judges of a set; none where there is no such set."""
        return tuple(judge for name, judge in self._of(catalog).graded if name == set_name)

    def agreement(self, catalog: str, set_name: str) -> Agreement:
        """How far the judges of a set agree. Raises UnknownNameError."""
        return agreement(self.judgments(catalog, set_name))

    def pool(
        self, tasks: Sequence[Task], runs: Sequence[LabRun], depth: int, *, catalog: str, set_name: str, judge: str
    ) -> tuple[Pooled, ...]:
        """What this judge has to judge of the first `depth` of every run, unjudged first; see `core.lab.pooling`. Tools that the
        catalog does not have any more are left out."""
        judged = self.graded(catalog=catalog, set_name=set_name, judge=judge).keys()
        found = pooled(tasks, [run.result for run in runs], depth, judged)
        there = self._catalogs.catalog(catalog).tool_row
        return tuple(one for one in found if one.tool in there)

    def runs_to_pool(self, catalog: str, tasks: Sequence[Task], source: str) -> tuple[LabRun, ...]:
        """The stored runs whose first tools may be pooled for these tasks, newest first: those over exactly these, and those over
        an earlier state of the set that they are from."""
        same = self._runs.over(catalog, tasks)
        ids = {run.id for run in same}
        earlier = (
            self._store.lab_runs.newest(LISTED, catalog=catalog, tasks=source) if source.startswith(SOURCE) else ()
        )
        return (*same, *(run for run in earlier if run.id not in ids))

    def export(self, catalog: str, set_name: str, form: Format, rule: str) -> str:
        """A set as text. JSON Lines and CSV have every judgment, or those of the judge that `rule` names; qrels and labelled tasks
        have one grade for each tool, settled by `rule`."""
        if form == "qrels":
            return qrels_text({query.id: tools for query, tools in self.settled(catalog, set_name, rule).items()})
        if form == "tasks":
            return tasks_text(self.tasks(catalog, set_name, rule)[0])
        found = self.judgments(catalog, set_name)
        if rule.startswith(JUDGE):
            self.settled(catalog, set_name, rule)  # names the judges where this is none of them
            found = tuple(one for one in found if one.judge == rule.removeprefix(JUDGE))
        return csv_text(found) if form == "csv" else json_lines_text(found)

    def import_(
        self,
        text: str | bytes,
        *,
        source: str,
        catalog: str,
        set_name: str,
        judge: str = "",
        tasks: Sequence[Task] = (),
        origin: str = "file",
    ) -> ImportedJudgments:
        """Take judgments from a file, all or none; what the same judge said before counts no more, and stays in the log.

        `judge` is whose they are where the file does not say; `tasks` tell what the query ids of qrels mean, beside the queries
        that were judged in this catalog. Raises CatalogError that names file and line, WayfareError.
        """
        name, whose = _name(set_name, "set"), _name(judge, "judge") if judge.strip() else ""
        queries = {one.query.id: one.query for one in self._of(catalog).judgments}
        for task in tasks:
            query = AskedQuery(task.subtask.strip(), task.server_hint.strip())
            queries |= {query.id: query, task.id: query}
        read = read_judgments(text, source=source, judge=whose, queries=queries)
        if len(read) > MOST_AT_ONCE:
            raise WayfareError(f"{source} has {len(read):,} judgments; give at most {MOST_AT_ONCE:,} in one file.")
        now, tool_row = self._now(), self._catalogs.catalog(catalog).tool_row
        known = {
            (one.query, one.tool, one.judge): (one.grade, one.note)
            for one in self._of(catalog).judgments
            if one.set_name == name
        }
        fresh = [one for one in read if known.get((one.query, one.tool, one.judge)) != (one.grade, one.note)]
        self._keep(
            catalog,
            *(
                Judgment(one.at or now, catalog, name, *one.query, one.tool, one.grade, one.judge, one.note, origin)
                for one in fresh
            ),
        )
        return ImportedJudgments(len(fresh), len(read) - len(fresh), sum(one.tool not in tool_row for one in read))

    def _of(self, catalog: str) -> JudgmentSets:
        with self._lock:
            if catalog not in self._known:
                self._known[catalog] = JudgmentSets.of(self._store.judgments.history(catalog))
            return self._known[catalog]

    def _keep(self, catalog: str, *judgments: Judgment) -> None:
        with self._lock:
            known = self._of(catalog)
            self._store.judgments.append(*judgments)
            self._known[catalog] = JudgmentSets.of((*known.judgments, *judgments))


def _name(text: str, what: str) -> str:
    name = " ".join(text.split())
    if not name:
        raise WayfareError(f"The {what} has no name; give it one.")
    if fault := line_fault(name, MOST_NAME_CHARACTERS):
        raise WayfareError(f"The name of the {what} {fault}.")
    return name
