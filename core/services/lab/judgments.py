"""Judgment sets: graded by named judges, settled where they differ, used as labelled tasks, taken in and given out."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from core.domain.feedback import GRADES, MOST_NAME_CHARACTERS, MOST_NOTE_CHARACTERS, AskedQuery, Judgment, JudgmentSets
from core.domain.lab_runs import LabRun
from core.domain.tasks import Task
from core.importers import tasks_text
from core.importers.judgments import csv_text, json_lines_text, qrels_text, read_judgments
from core.importers.reading import clean_text, line_fault
from core.lab.agreement import JUDGE, Agreement, Pooled, Settled, agreement, judged_tasks, pooled, settled
from core.planning.base import Card, Planner
from core.planning.model import NO_MODEL
from core.routers.base import checked_subtask
from core.services.decide.catalogs import CatalogService
from core.services.lab.lab_runs import LISTED, LabRunService
from core.shared.errors import PlannerError, UnknownNameError, WayfareError
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
        """What this judge has to judge of the first `depth` of every run, unjudged first; see `core.lab.agreement`. Tools that the
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


# ----------------------------------------------------------------------------------------------------------------------
# A model as judge: it grades what people graded first, and only when their agreement was looked at do its grades count beside theirs.
#
# Its grades are kept in a set of their own until then, each with the model's reason.

Pair = tuple[AskedQuery, str]


@dataclass(frozen=True, slots=True)
class Checked:
    """The model beside people: over the pairs that both graded their agreement, and each pair on which they differ, as one person's
    and the model's judgment."""

    agreement: Agreement
    differ: tuple[tuple[Judgment, Judgment], ...]


class ModelJudgeService:
    """Judges with the model of the environment. Thread-safe."""

    def __init__(self, judgments: JudgmentService, catalogs: CatalogService, planners: Mapping[str, Planner]) -> None:
        self._judgments = judgments
        self._catalogs = catalogs
        self._planner = planners.get("model")

    @property
    def name(self) -> str:
        """What the judge is called; "" where no model is set."""
        return f"model {self._planner.name}" if self._planner is not None else ""

    def own_set(self, set_name: str) -> str:
        """Where its grades are until they count."""
        return f"{set_name} · model"

    def grades(self, catalog: str, set_name: str) -> Mapping[Pair, Judgment]:
        """What it said, whether it counts or not."""
        return self._judgments.graded(catalog=catalog, set_name=self.own_set(set_name), judge=self.name)

    def to_check(self, catalog: str, set_name: str) -> tuple[Pair, ...]:
        """What people graded and it did not."""
        known = self.grades(catalog, set_name)
        tools = self._catalogs.catalog(catalog).tool_row
        pairs = dict.fromkeys((one.query, one.tool) for one in self._people(catalog, set_name))
        return tuple(pair for pair in pairs if pair not in known and pair[1] in tools)

    def judge(
        self, catalog: str, set_name: str, pairs: Sequence[Pair], progress: Callable[[int], None] = lambda _done: None
    ) -> int:
        """Grade pairs one after the other; each is kept when it is known. `progress` is told how many are; what it raises ends it.
        Raises PlannerError where no model is set, or it does not answer."""
        from core.planning.model import ModelPlanner  # its packages take a third of a second of every start

        if not isinstance(self._planner, ModelPlanner):
            raise PlannerError(NO_MODEL)
        known = self._catalogs.catalog(catalog)
        for done, (query, name) in enumerate(pairs, 1):
            tool = known.tools[known.tool_row[name]]
            text = json.dumps({"server": tool.server, **tool.definition()}, ensure_ascii=False)
            grade, why = self._planner.grade(query.subtask, query.server_hint, Card(name, text, 0.0))
            self._judgments.judge(
                query.subtask, name, grade, judge=self.name, set_name=self.own_set(set_name), catalog=catalog,
                server_hint=query.server_hint, note=why, origin="model",
            )  # fmt: skip
            progress(done)
        return len(pairs)

    def checked(self, catalog: str, set_name: str) -> Checked | None:
        """How far it agrees with people; None where there is no pair that both graded."""
        own = self.grades(catalog, set_name)
        people = [one for one in self._people(catalog, set_name) if (one.query, one.tool) in own]
        if not people:
            return None
        shared = {(one.query, one.tool): own[one.query, one.tool] for one in people}
        differ = [
            (one, shared[one.query, one.tool]) for one in people if one.grade != shared[one.query, one.tool].grade
        ]
        return Checked(agreement([*people, *shared.values()]), tuple(differ))

    def counting(self, catalog: str, set_name: str) -> Mapping[Pair, Judgment]:
        """Its grades that count in the set beside those of people."""
        return self._judgments.graded(catalog=catalog, set_name=set_name, judge=self.name)

    def count(self, catalog: str, set_name: str) -> None:
        """Adds its grades to the set, as a further judge."""
        for one in tuple(self.grades(catalog, set_name).values()):
            self._judgments.judge(
                one.subtask, one.tool, one.grade or 0, judge=self.name, set_name=set_name, catalog=catalog,
                server_hint=one.server_hint, note=one.note, origin="model",
            )  # fmt: skip

    def discount(self, catalog: str, set_name: str) -> None:
        """Have none of its grades count in the set any more; they stay in its own."""
        for one in tuple(self.counting(catalog, set_name).values()):
            self._judgments.take_back(one)

    def _people(self, catalog: str, set_name: str) -> tuple[Judgment, ...]:
        if set_name not in self._judgments.sets(catalog):
            return ()
        return tuple(one for one in self._judgments.judgments(catalog, set_name) if one.judge != self.name)
