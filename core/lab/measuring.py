"""Making runs of the lab: a router over labelled tasks, resumed after an interruption, repeated from the store; and testbeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.catalogs.catalog_editor import CatalogEditor
from core.catalogs.catalogs import CatalogService
from core.decisions.routing import RoutingService
from core.domain.catalog import Imported
from core.domain.errors import WayfareError
from core.domain.lab_runs import LabConditions, LabRun, RunPart, differing, fingerprint, lab_id
from core.domain.params import Parameters
from core.domain.people import actions
from core.domain.tasks import Task
from core.importers import read_tasks, tasks_text
from core.lab.benchmark import CLOCKED, BenchmarkRun, measured_run, run_entry
from core.lab.cluster import RaySpread, Work
from core.lab.execution import ExecutionRun, Playing, Routed
from core.lab.gate import CatalogDigest, Change, changes
from core.lab.lab import LabService
from core.lab.lab_runs import LabRunService, drawn_tasks
from core.lab.testbed import Selection, Source, Testbed, drawn_testbed
from core.learning.feedback import FeedbackService
from core.store import Store

BLOCK = 32  # tasks committed together; a killed process loses at most so many
RANKED, PLAYED = "ranked", "played"
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """A new run: its conditions, its measures, and the play-out. `asked` has the sub-tasks that were routed without a hint."""

    conditions: LabConditions
    run: BenchmarkRun
    played: ExecutionRun | None
    asked: Mapping[str, Routed]

    @property
    def entry(self) -> dict[str, Any]:
        """The entry in `wayfare bench --json` and in the store."""
        return run_entry(self.run, self.played, self.conditions.preset)


@dataclass(frozen=True, slots=True)
class Repeated:
    """A run made again. `differing` names the changed conditions, `changes` the changes of the catalog, `moved` the tasks whose first right
    tool has another rank, `other` the keys of the result that differ in any byte. Times of decisions are not compared.
    """

    made: Measured
    differing: tuple[str, ...]
    changes: tuple[Change, ...]
    moved: tuple[str, ...]
    other: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The entries of `wayfare runs --repeat --json` beside the result."""
        return {
            "differing": self.differing,
            "changes": [asdict(one) for one in self.changes],
            "moved": self.moved,
            "other": self.other,
        }


@actions("tune", measure="measure", repeat="repeat a measurement")
@dataclass(eq=False)
class MeasuringService:
    """Measures and repeats runs. Thread-safe."""

    store: Store
    lab: LabService
    routing: RoutingService
    runs: LabRunService

    def measure(
        self,
        tasks: Sequence[Task],
        *,
        source: str,
        catalog: str,
        router: str,
        preset: str,
        parameters: Parameters,
        hints: bool = True,
        seed: int = 0,
        playing: Playing | None = None,
        resumable: bool = True,
        progress: Progress = lambda _done: None,
        spread: RaySpread | None = None,
    ) -> Measured:
        """Measure a router over tasks; `LabRunService.keep` stores the result. With `playing` the tasks are played out too.

        `progress` gets the number of known decisions; its exceptions end the run. A `resumable` run keeps its routed tasks, and the next
        call with the same inputs goes on from there. The machines of a `spread` route the rest. Raises WayfareError.
        """
        possible = [task for task in tasks if task.relevant]
        if playing is not None and not possible:
            raise WayfareError("No task names a tool that can do it; give tasks with `relevant`.")
        conditions = self.runs.conditions(
            tasks, source=source, catalog=catalog, router=router, preset=preset, parameters=parameters, hints=hints,
            seed=seed, playing=playing,
        )  # fmt: skip
        run = lab_id(conditions) if resumable else ""
        routed = self._routed(run, RANKED, tasks, conditions, parameters, progress, spread)
        found = measured_run(router, parameters.values(), tasks, routed)
        asked = {task.subtask: one for task, one in zip(tasks, routed, strict=True) if not (hints and task.server_hint)}
        if playing is None:
            return Measured(conditions, found, None, asked)
        deep = parameters.replaced({"n": playing.n})
        parts = playing.routed(possible)
        tried = self._routed(run, PLAYED, parts, conditions, deep, lambda done: progress(len(tasks) + done), spread)
        played = self.lab.play(possible, tried, catalog=catalog, router=router, playing=playing)
        return Measured(conditions, found, played, asked)

    def known(self, conditions: LabConditions) -> int:
        """The number of stored decisions of an unfinished run under these conditions."""
        return sum(len(self.store.lab_runs.parts(lab_id(conditions), phase)) for phase in (RANKED, PLAYED))

    def unfinished(self) -> int:
        """The number of unfinished runs."""
        return self.store.lab_runs.unfinished()

    def repeat(self, run: LabRun, progress: Progress = lambda _done: None) -> Repeated:
        """Make the same run again, over the catalog as it is now. Nothing is stored.

        Raises WayfareError if the catalog or the tasks are gone, or a parameter no longer exists.
        """
        tasks, catalog = self.runs.tasks(run), self.runs.open(run.catalog)
        made = self.measure(
            tasks, source=run.tasks, catalog=catalog, router=run.router, preset=run.preset, hints=run.hints, seed=run.seed,
            parameters=self.routing.parameters(run.router, run.parameters),
            playing=None if run.played is None else Playing.parse(run.played), resumable=False, progress=progress,
        )  # fmt: skip
        before = CatalogDigest.parse(json.loads(self.store.lab_runs.input(run.catalog_fingerprint)))
        if before is None:
            raise WayfareError(f"The catalog of run {run.id} is damaged in the store; make the run anew.")
        ranks: Mapping[str, Any] = run.result["tasks"]
        return Repeated(
            made,
            differing(run, made.conditions),
            changes(before, self.runs.digest(catalog)),
            tuple(task.id for task in made.run.tasks if task.id in ranks and ranks[task.id]["rank"] != task.rank),
            _other(run.result, json.loads(json.dumps(made.entry))),
        )

    def _routed(
        self,
        run: str,
        phase: str,
        tasks: Sequence[Task],
        conditions: LabConditions,
        parameters: Parameters,
        progress: Progress,
        spread: RaySpread | None,
    ) -> list[Routed]:
        """Route every task. A run with an id stores each block of tasks and reads the blocks that are stored."""
        kept = self.store.lab_runs.parts(run, phase) if run else ()
        routed = [Routed.parse(json.loads(part.routed_json)) for part in kept]
        stored = len(routed)
        if spread is None:
            left = self.lab.routed(
                tasks, catalog=conditions.catalog, router=conditions.router, parameters=parameters, known=tuple(routed),
                server_hints=conditions.hints,
            )  # fmt: skip
        else:
            work = Work(self.runs.catalogs.catalog(conditions.catalog), conditions.router, tasks, conditions.hints)
            left = spread.routed(work, parameters, known=stored)
        try:
            for one in left:
                routed.append(one)
                if run and len(routed) - stored >= BLOCK:
                    self._keep(run, phase, routed, stored)
                    stored = len(routed)
                progress(len(routed))
        finally:
            if run:
                self._keep(run, phase, routed, stored)
        return routed

    def _keep(self, run: str, phase: str, routed: Sequence[Routed], stored: int) -> None:
        parts = [RunPart(run, phase, at, json.dumps(routed[at].to_json())) for at in range(stored, len(routed))]
        self.store.lab_runs.add_parts(parts)


def decisions(tasks: Sequence[Task], playing: Playing | None) -> int:
    """Returns the number of decisions that `MeasuringService.measure` makes for a run."""
    return len(tasks) + (0 if playing is None else len(playing.routed([task for task in tasks if task.relevant])))


def missing_labels(tasks: Sequence[Task], known: Collection[str]) -> dict[str, Any]:
    """The labels of tools that a catalog lacks: their number and share among all labels, and the tools. No router can find these.

    >>> missing_labels([Task("1", "q", relevant=("a::x", "b::y")), Task("2", "q", relevant=("b::y",))], {"a::x"})
    {'labels': 3, 'missing': 2, 'share': 0.6666666666666666, 'tools': ['b::y']}
    """
    labels = [tool for task in tasks for tool in dict.fromkeys((*task.relevant, *task.grades))]
    lacking = [tool for tool in labels if tool not in known]
    share = len(lacking) / len(labels) if labels else 0.0
    return {"labels": len(labels), "missing": len(lacking), "share": share, "tools": sorted(set(lacking))}


def _other(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of a result whose values differ."""
    names = dict.fromkeys((*then, *now))
    return tuple(name for name in names if name not in CLOCKED and then.get(name) != now.get(name))


# Testbeds: drawn from catalogs and registry files, kept as a catalog with its tasks


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry file: its name, and its servers with the secrets in them."""

    name: str
    imported: Imported


@actions("administer", keep="keep a test bed")
@dataclass(eq=False)
class TestbedService:
    """Draws and keeps testbeds. Thread-safe."""

    __test__ = False  # not a class of tests

    store: Store
    catalogs: CatalogService
    editor: CatalogEditor
    lab: LabService
    feedback: FeedbackService

    def draw(
        self,
        catalogs: Sequence[str],
        selection: Selection,
        *,
        registries: Sequence[Registry] = (),
        tasks: Sequence[Task] | None = None,
    ) -> Testbed:
        """A testbed from stored catalogs and registry files. `tasks` are labelled with tools of the first catalog; None stands for the
        shipped tasks and labels of each catalog. Raises WayfareError without a source.
        """
        sources = [
            Source(
                name,
                self.catalogs.catalog(name).servers,
                self._tasks(name) if tasks is None else tuple(tasks) if not at else (),
            )
            for at, name in enumerate(dict.fromkeys(catalogs))
        ]
        sources += [Source(one.name, one.imported.servers) for one in registries]
        if not sources:
            raise WayfareError("There is nothing to choose servers from; give a catalog or a registry file.")
        return drawn_testbed(sources, selection)

    def keep(self, testbed: Testbed, name: str, *, registries: Sequence[Registry] = ()) -> None:
        """Keep it as a catalog with its tasks, which the Lab then lists. Raises WayfareError."""
        if not testbed.chosen:
            raise WayfareError("No server is chosen: use fewer or other words, or other sizes.")
        servers = testbed.catalog(name).servers
        sources = ", ".join(dict.fromkeys(one.source for one in testbed.chosen))
        self.editor.keep(Imported("testbed", servers), name, f"testbed from {sources}")
        for registry in registries:
            its_own = [one.server for one in testbed.chosen if one.source == registry.name]
            self.editor.keep_secrets(name, its_own, registry.imported.secrets)
        self._keep_tasks(name, testbed.tasks)

    def _keep_tasks(self, name: str, tasks: Sequence[Task]) -> None:
        if tasks:
            text = tasks_text(tasks)
            self.store.lab_runs.add_inputs({fingerprint(text): ("tasks", text)})
            self.store.set_setting(drawn_tasks(name), fingerprint(text))

    def _tasks(self, catalog: str) -> tuple[Task, ...]:
        shipped = [task for path in self.lab.task_sets(catalog).values() for task in self.lab.read_tasks(path)]
        labelled = self.feedback.export(catalog) if self.feedback.queries(catalog) else ""
        return (*shipped, *(read_tasks(labelled.encode(), source=f"labels of {catalog}") if labelled else ()))
