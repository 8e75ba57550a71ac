"""Judgment sets: graded by named judges or a model, settled, used as labelled tasks, imported and exported."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
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
from core.planning.rules import NO_MODEL
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
    """The result of an import: judgments that are new or changed, known ones, and those of tools that the catalog lacks now. The last
    are kept too.
    """

    added: int
    known: int
    not_in_catalog: int


@dataclass(eq=False)
class JudgmentService:
    """Judgment sets by catalog. They change no decision. Thread-safe."""

    store: Store
    catalogs: CatalogService
    runs: LabRunService
    _: KW_ONLY
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
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
        made = Judgment(
            at=self.now(),
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
        """Withdraw a judgment. Both stay in the log."""
        self._keep(
            judgment.catalog, replace(judgment, at=self.now(), grade=None, note="", origin=origin, decision_id=None)
        )

    def sets(self, catalog: str) -> Mapping[str, int]:
        """The judgment sets of a catalog with the number of their judgments, the one judged last first."""
        return self._of(catalog).sets

    def judgments(self, catalog: str, set_name: str) -> tuple[Judgment, ...]:
        """The judgments that count in a set, in order of commit. Raises UnknownNameError for an unknown set."""
        found = tuple(one for one in self._of(catalog).judgments if one.set_name == set_name)
        if not found:
            names = ", ".join(self.sets(catalog)) or "none"
            raise UnknownNameError(f"Catalog {catalog!r} has no judgment set {set_name!r}; it has: {names}.")
        return found

    def graded(self, *, catalog: str, set_name: str, judge: str) -> Mapping[tuple[AskedQuery, str], Judgment]:
        """The grades of a judge in a set, by query and tool."""
        return self._of(catalog).graded.get((set_name, judge), {})

    def settled(self, catalog: str, set_name: str, rule: str) -> Settled:
        """One grade for each judged tool, by a rule of `core.lab.agreement`. Raises UnknownNameError, ParameterError."""
        return settled(self.judgments(catalog, set_name), rule)

    def tasks(self, catalog: str, set_name: str, rule: str) -> tuple[tuple[Task, ...], int]:
        """A set as labelled tasks, and the number of its queries left out because no tool has a grade above 0."""
        return judged_tasks(self.settled(catalog, set_name, rule))

    def source(self, set_name: str, rule: str) -> str:
        """The source of tasks that a run over this set records."""
        return f"{SOURCE}{set_name} ({rule})"

    def judges(self, catalog: str, set_name: str) -> tuple[str, ...]:
        """The judges of a set; empty for an unknown set."""
        return tuple(judge for name, judge in self._of(catalog).graded if name == set_name)

    def agreement(self, catalog: str, set_name: str) -> Agreement:
        """How far the judges of a set agree. Raises UnknownNameError."""
        return agreement(self.judgments(catalog, set_name))

    def pool(
        self, tasks: Sequence[Task], runs: Sequence[LabRun], depth: int, *, catalog: str, set_name: str, judge: str
    ) -> tuple[Pooled, ...]:
        """The first `depth` tools of every run, for this judge, unjudged first; see `core.lab.agreement`. Tools that the catalog no longer
        has are left out.
        """
        judged = self.graded(catalog=catalog, set_name=set_name, judge=judge).keys()
        found = pooled(tasks, [run.result for run in runs], depth, judged)
        there = self.catalogs.catalog(catalog).tool_row
        return tuple(one for one in found if one.tool in there)

    def runs_to_pool(self, catalog: str, tasks: Sequence[Task], source: str) -> tuple[LabRun, ...]:
        """The stored runs whose first tools may be pooled for these tasks, newest first: those over exactly these tasks, and those over an
        earlier state of their set.
        """
        same = self.runs.over(catalog, tasks)
        ids = {run.id for run in same}
        earlier = self.store.lab_runs.newest(LISTED, catalog=catalog, tasks=source) if source.startswith(SOURCE) else ()
        return (*same, *(run for run in earlier if run.id not in ids))

    def export(self, catalog: str, set_name: str, form: Format, rule: str) -> str:
        """A set as text. JSON Lines and CSV have every judgment, or those of the judge that `rule` names. qrels and labelled tasks have one
        grade for each tool, settled by `rule`.
        """
        if form == "qrels":
            return qrels_text({query.id: tools for query, tools in self.settled(catalog, set_name, rule).items()})
        if form == "tasks":
            return tasks_text(self.tasks(catalog, set_name, rule)[0])
        found = self.judgments(catalog, set_name)
        if rule.startswith(JUDGE):
            self.settled(catalog, set_name, rule)  # raises for an unknown judge, with the names of the known ones
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
        """Take judgments from a file, all or none. Earlier grades of the same judge no longer count, and stay in the log.

        `judge` owns the judgments of a file without judges. `tasks` give the query ids of qrels a meaning, beside the queries judged in
        this catalog. Raises CatalogError that names file and line, WayfareError.
        """
        name, whose = _name(set_name, "set"), _name(judge, "judge") if judge.strip() else ""
        queries = {one.query.id: one.query for one in self._of(catalog).judgments}
        for task in tasks:
            query = AskedQuery(task.subtask.strip(), task.server_hint.strip())
            queries |= {query.id: query, task.id: query}
        read = read_judgments(text, source=source, judge=whose, queries=queries)
        if len(read) > MOST_AT_ONCE:
            raise WayfareError(f"{source} has {len(read):,} judgments; give at most {MOST_AT_ONCE:,} in one file.")
        now, tool_row = self.now(), self.catalogs.catalog(catalog).tool_row
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
                self._known[catalog] = JudgmentSets.of(self.store.judgments.history(catalog))
            return self._known[catalog]

    def _keep(self, catalog: str, *judgments: Judgment) -> None:
        with self._lock:
            known = self._of(catalog)
            self.store.judgments.append(*judgments)
            self._known[catalog] = JudgmentSets.of((*known.judgments, *judgments))


def _name(text: str, what: str) -> str:
    name = " ".join(text.split())
    if not name:
        raise WayfareError(f"The {what} has no name; give it one.")
    if fault := line_fault(name, MOST_NAME_CHARACTERS):
        raise WayfareError(f"The name of the {what} {fault}.")
    return name


# A model as judge: its grades stay in a set of their own until its agreement with people has been checked -------------

Pair = tuple[AskedQuery, str]


@dataclass(frozen=True, slots=True)
class Checked:
    """The model beside people: their agreement over the pairs that both graded, and each pair on which they differ, as a person's and the
    model's judgment.
    """

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
        """The name of the judge, "" if no model is set."""
        return f"model {self._planner.name}" if self._planner is not None else ""

    def own_set(self, set_name: str) -> str:
        """The set of its grades that do not count yet."""
        return f"{set_name} · model"

    def grades(self, catalog: str, set_name: str) -> Mapping[Pair, Judgment]:
        """All its grades, counting or not."""
        return self._judgments.graded(catalog=catalog, set_name=self.own_set(set_name), judge=self.name)

    def to_check(self, catalog: str, set_name: str) -> tuple[Pair, ...]:
        """The pairs that people graded and the model did not."""
        known = self.grades(catalog, set_name)
        tools = self._catalogs.catalog(catalog).tool_row
        pairs = dict.fromkeys((one.query, one.tool) for one in self._people(catalog, set_name))
        return tuple(pair for pair in pairs if pair not in known and pair[1] in tools)

    def judge(
        self, catalog: str, set_name: str, pairs: Sequence[Pair], progress: Callable[[int], None] = lambda _done: None
    ) -> int:
        """Grade pairs one by one and keep each at once. `progress` gets the number of graded pairs; its exceptions end the loop.
        Raises PlannerError if no model is set or it gives no answer.
        """
        from core.planning.model import ModelPlanner  # pydantic and httpx take a third of a second

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
        """Its agreement with people, None without a pair that both graded."""
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
        """Its grades that count in the set."""
        return self._judgments.graded(catalog=catalog, set_name=set_name, judge=self.name)

    def count(self, catalog: str, set_name: str) -> None:
        """Adds its grades to the set, as a further judge."""
        for one in tuple(self.grades(catalog, set_name).values()):
            self._judgments.judge(
                one.subtask, one.tool, one.grade or 0, judge=self.name, set_name=set_name, catalog=catalog,
                server_hint=one.server_hint, note=one.note, origin="model",
            )  # fmt: skip

    def discount(self, catalog: str, set_name: str) -> None:
        """Stop counting its grades in the set. They stay in its own set."""
        for one in tuple(self.counting(catalog, set_name).values()):
            self._judgments.take_back(one)

    def _people(self, catalog: str, set_name: str) -> tuple[Judgment, ...]:
        if set_name not in self._judgments.sets(catalog):
            return ()
        return tuple(one for one in self._judgments.judgments(catalog, set_name) if one.judge != self.name)
