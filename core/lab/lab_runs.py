"""Runs of the lab: a router over labelled tasks, resumed after an interruption, stored with all its inputs, and repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cachetools import LRUCache

from core.catalogs.catalogs import CatalogService
from core.decisions.routing import RoutingService
from core.domain.errors import WayfareError
from core.domain.lab_runs import (
    OPTUNA,
    LabConditions,
    LabRun,
    RunPart,
    Sweep,
    differing,
    fingerprint,
    lab_id,
)
from core.domain.params import Parameters
from core.domain.people import actions
from core.domain.tasks import Task
from core.importers import read_tasks, tasks_text
from core.lab.benchmark import CLOCKED, BenchmarkRun, measured_run
from core.lab.cluster import RaySpread, Work
from core.lab.execution import ExecutionRun, Playing, Routed
from core.lab.gate import CatalogDigest, Change, changes
from core.lab.lab import LabService, parts_of_name, with_tiers
from core.learning.requests import RequestService
from core.routers.context import Same
from core.routers.presets import DEFAULT_PRESET
from core.store import Store

COMPUTING = ("wayfare", "numpy", "onnxruntime", "ir_measures", "optuna")
LISTED = 500
DIGESTS_KEPT = 2
DRAWN, WRITTEN = "tasks drawn with the testbed", "generated"
STORED = "stored:"  # before the fingerprint of tasks in an address of the Lab


def drawn_tasks(catalog: str) -> str:
    return f"drawn tasks: {catalog}"


def written_tasks(catalog: str) -> str:
    return f"written tasks: {catalog}"


def keep_tasks(store: Store, setting: str, tasks: Sequence[Task]) -> str:
    """Keeps tasks as those of a setting. Returns their fingerprint. Raises StoreError."""
    text = tasks_text(tasks)
    store.lab_runs.add_inputs({fingerprint(text): ("tasks", text)})
    store.set_setting(setting, fingerprint(text))
    return fingerprint(text)


def asked_tasks(requests: RequestService, catalog: str) -> list[Task]:
    """The example requests of a catalog as tasks, each labelled with its tool."""
    return [
        Task(f"{tool}:{number}", request.text, relevant=(tool,))
        for tool, of_tool in requests.of_catalog(catalog).items()
        for number, request in enumerate(of_tool)
    ]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A router with parameters over tasks of a catalog. `source` names the origin of the tasks. With `playing` the possible tasks are
    played out, too.
    """

    tasks: Sequence[Task]
    _: KW_ONLY
    source: str
    catalog: str
    router: str
    parameters: Parameters
    preset: str = DEFAULT_PRESET
    hints: bool = True
    seed: int = 0
    playing: Playing | None = None

    @property
    def possible(self) -> list[Task]:
        return [task for task in self.tasks if task.relevant]

    @property
    def decisions(self) -> int:
        return len(self.tasks) + (0 if self.playing is None else len(self.playing.routed(self.possible)))


@actions("tune", keep="keep a run")
@dataclass(eq=False)
class LabRunService:
    """Stores the results of the lab. Thread-safe."""

    store: Store
    catalogs: CatalogService
    lab: LabService
    now: Callable[[], datetime]

    def open(self, name_or_path: str) -> str:
        """Open a catalog and return its name, with its prices by tiers and its network. Raises UnknownNameError."""
        name = parts_of_name(name_or_path)[0]
        return f"{self.catalogs.open(name).name}{name_or_path.removeprefix(name)}"

    def __post_init__(self) -> None:
        self._digests: LRUCache[tuple[object, ...], CatalogDigest] = LRUCache(DIGESTS_KEPT)
        self._unchanged: LRUCache[tuple[str, str], bool] = LRUCache(1_000)

    def digest(self, catalog: str) -> CatalogDigest:
        """The catalog as routing reads it now. Keeps the last digests, because a page asks each time and every schema is read."""
        name, by_tiers, _ = parts_of_name(catalog)
        opened, statistics = self.catalogs.catalog(name), self.catalogs.statistics(name)
        statistics = with_tiers(opened, statistics) if by_tiers else statistics
        requests = self.lab.equal_sets.learnt.requests.of(opened)
        judgments = self.store.equal_judgments.of_catalog(name)
        prices = statistics.servers.ask_usd.tobytes(), statistics.tools.price_usd.tobytes()
        key = catalog, Same(opened), Same(requests), judgments, prices
        digest = self._digests.get(key)
        if digest is None:
            digest = replace(CatalogDigest.of(opened, statistics, requests, judgments), name=catalog)
            self._digests[key] = digest
        return digest

    def stored_digest(self, catalog_fingerprint: str) -> CatalogDigest | None:
        """The catalog of a stored run. None if it is damaged. Raises UnknownNameError if the store lacks it."""
        return CatalogDigest.parse(json.loads(self.store.lab_runs.input(catalog_fingerprint)))

    def unchanged(self, catalog_fingerprint: str, catalog: str) -> bool:
        """Whether routing reads a catalog as a stored run did. Fields that the run's version of Wayfare did not store do not count."""
        now = self.digest(catalog)
        if catalog_fingerprint == now.fingerprint:
            return True
        key = catalog_fingerprint, now.fingerprint
        if key not in self._unchanged:
            stored = self.stored_digest(catalog_fingerprint)
            self._unchanged[key] = stored is not None and not changes(stored, now)
        return self._unchanged[key]

    def conditions(self, asked: Experiment) -> LabConditions:
        """Everything that determines the result of an experiment now."""
        name, _, moment = parts_of_name(asked.catalog)
        in_force = self.store.calibrations.active(name)
        versions = {package: version(package) for package in COMPUTING}
        versions |= {"encoder": self.lab.equal_sets.learnt.encoder.model, "reranker": self.catalogs.cross_encoder}
        if moment.has_profile:
            versions["network"] = fingerprint(self.lab.routing.networks.profiles.load(moment.network).text())
        return LabConditions(
            catalog=asked.catalog,
            catalog_fingerprint=self.digest(asked.catalog).fingerprint,
            tasks=asked.source,
            tasks_fingerprint=fingerprint(tasks_text(asked.tasks)),
            hints=asked.hints,
            router=asked.router,
            preset=asked.preset,
            parameters_json=json.dumps(asked.parameters.values()),
            outcomes=self.catalogs.statistics(name, asked.parameters).version,
            labels=len(self.store.labels.history(name)),
            calibration="" if in_force is None else in_force.id,
            seed=asked.seed,
            versions_json=json.dumps(versions),
            played_json="" if asked.playing is None else json.dumps(asdict(asked.playing)),
        )

    def inputs(self, conditions: LabConditions, tasks: Sequence[Task]) -> dict[str, tuple[str, str]]:
        """The documents stored with a run: its tasks, and the digests of its catalog."""
        return {
            conditions.tasks_fingerprint: ("tasks", tasks_text(tasks)),
            conditions.catalog_fingerprint: ("catalog", json.dumps(asdict(self.digest(conditions.catalog)))),
        }

    def keep(self, conditions: LabConditions, tasks: Sequence[Task], result: Mapping[str, Any]) -> str:
        run = LabRun(**asdict(conditions), id=lab_id(conditions), at=self.now(), result_json=json.dumps(result))
        self.store.lab_runs.save([run], self.inputs(conditions, tasks))
        return run.id

    def over(self, catalog: str, tasks: Sequence[Task]) -> tuple[LabRun, ...]:
        """The newest runs of a catalog over exactly these tasks, from any source, newest first."""
        return self.store.lab_runs.newest(LISTED, catalog=catalog, tasks_fingerprint=fingerprint(tasks_text(tasks)))

    def task_sets(self, catalog: str) -> Mapping[str, str]:
        """Fingerprints of the tasks drawn with a catalog, written for it, and of its stored runs, each with its source. Shipped tasks are
        left out.
        """
        shipped = {_shipped_fingerprint(path) for path in self.lab.task_sets(catalog).values()}
        sources = {drawn_tasks(catalog): DRAWN, written_tasks(catalog): WRITTEN}
        new_sets = {key: source for name, source in sources.items() if (key := self.store.get_setting(name))}
        task_sets = new_sets | self.store.lab_runs.task_sets(catalog) | new_sets
        return {key: source for key, source in task_sets.items() if key not in shipped}

    def place(self, found: LabConditions) -> dict[str, str]:
        """The texts of the Lab's address that shows a run or sweep."""
        shipped = {_shipped_fingerprint(path): name for name, path in self.lab.task_sets(found.catalog).items()}
        tasks = shipped.get(found.tasks_fingerprint, f"{STORED}{found.tasks_fingerprint}")
        texts = {"catalog": found.catalog, "router": found.router, "tasks": tasks}
        if not isinstance(found, Sweep):
            return texts
        view = "Search" if json.loads(found.plan_json)["method"] == OPTUNA else "Sweep"
        return texts | {"view": view, view.lower(): found.id}

    def stored_tasks(self, tasks_fingerprint: str, source: str) -> tuple[Task, ...]:
        """Tasks that a run was stored with. Raises UnknownNameError if the store lacks them."""
        return read_tasks(self.store.lab_runs.input(tasks_fingerprint), source=source)

    def expected_s(self, catalog: str, router: str, tasks: int) -> float | None:
        """About how long so many tasks take, by the median decision of the router's newest run. None without a run."""
        runs = self.store.lab_runs.newest(1, catalog=catalog, router=router)
        return float(runs[0].result["latency_ms_p50"]) * tasks / 1000 if runs else None

    def runs(self, limit: int = LISTED) -> tuple[LabRun, ...]:
        return self.store.lab_runs.newest(limit)

    def sweeps(self, limit: int = LISTED) -> tuple[Sweep, ...]:
        return self.store.lab_runs.newest_sweeps(limit)

    def find(self, id_: str) -> LabRun | Sweep:
        return self.store.lab_runs.find(id_)

    def tasks(self, run: LabConditions) -> tuple[Task, ...]:
        """The tasks of a stored run. Raises UnknownNameError if the store lacks them."""
        return self.stored_tasks(run.tasks_fingerprint, run.tasks)


@cache
def _shipped_fingerprint(path: Path) -> str:
    return fingerprint(tasks_text(read_tasks(path.read_bytes(), source=str(path))))


BLOCK = 32  # tasks committed together; a killed process loses at most so many
RANKED, PLAYED = "ranked", "played"
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """A new run: its conditions, its measures, and the play-out. `asked` has the sub-tasks routed without a hint."""

    conditions: LabConditions
    run: BenchmarkRun
    played: ExecutionRun | None
    asked: Mapping[str, Routed]

    @property
    def entry(self) -> dict[str, Any]:
        """The entry of a run in `wayfare bench --json` and in the store: its measures, and the measures of its play-out."""
        entry: dict[str, Any] = {**self.run.to_json(self.conditions.seed), "preset": self.conditions.preset}
        if self.played is None:
            return entry
        outcome: dict[str, Any] = self.played.to_json()
        return entry | outcome | {"intervals": {**entry["intervals"], **outcome["intervals"]}}


@dataclass(frozen=True, slots=True)
class Repeated:
    """A run made again. `differing` names the changed conditions, `changes` the changes of the catalog, `moved` the tasks whose first right
    tool has another rank, `other` the keys of the result that differ in a byte. Decision times are not compared.
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
            "changes": [asdict(change) for change in self.changes],
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
        asked: Experiment,
        *,
        resumable: bool = True,
        progress: Progress = lambda _done: None,
        spread: RaySpread | None = None,
    ) -> Measured:
        """Run an experiment; `LabRunService.keep` stores the result.

        `progress` gets the number of known decisions; its exceptions end the run. A `resumable` run keeps its routed tasks, and the next
        call with the same inputs goes on from there. The machines of a `spread` route the other tasks. Raises WayfareError.
        """
        if asked.playing is not None and not asked.possible:
            raise WayfareError("No task names a tool that can do it; give tasks with `relevant`.")
        conditions = self.runs.conditions(asked)
        run = lab_id(conditions) if resumable else ""
        routed = self._routed(run, RANKED, asked, progress, spread)
        benchmark = measured_run(asked.router, asked.parameters.values(), asked.tasks, routed)
        unhinted = {
            task.subtask: decision
            for task, decision in zip(asked.tasks, routed, strict=True)
            if not (asked.hints and task.server_hint)
        }
        if asked.playing is None:
            return Measured(conditions, benchmark, None, unhinted)
        deep = replace(
            asked,
            tasks=asked.playing.routed(asked.possible),
            parameters=asked.parameters.replaced({"n": asked.playing.n}),
        )
        parts = self._routed(run, PLAYED, deep, lambda done: progress(len(asked.tasks) + done), spread)
        played = self.lab.play(asked.possible, parts, catalog=asked.catalog, router=asked.router, playing=asked.playing)
        return Measured(conditions, benchmark, played, unhinted)

    def known(self, asked: Experiment) -> int:
        """The number of stored decisions of an experiment's unfinished run."""
        run = lab_id(self.runs.conditions(asked))
        return sum(len(self.store.lab_runs.parts(run, phase)) for phase in (RANKED, PLAYED))

    def unfinished(self) -> int:
        return self.store.lab_runs.unfinished()

    def again(self, run: LabRun) -> Experiment:
        """The experiment of a stored run. Raises WayfareError if the catalog or the tasks are gone, or a parameter no longer exists."""
        return Experiment(
            self.runs.tasks(run), source=run.tasks, catalog=self.runs.open(run.catalog), router=run.router, preset=run.preset,
            parameters=self.routing.parameters(run.router, run.parameters), hints=run.hints, seed=run.seed,
            playing=None if run.played is None else Playing.parse(run.played),
        )  # fmt: skip

    def repeat(self, run: LabRun, progress: Progress = lambda _done: None) -> Repeated:
        """Repeat a run over the present catalog. Stores nothing.

        Raises WayfareError if the catalog or the tasks are gone, or a parameter no longer exists.
        """
        experiment = self.again(run)
        repeated = self.measure(experiment, resumable=False, progress=progress)
        old_catalog = self.runs.stored_digest(run.catalog_fingerprint)
        if old_catalog is None:
            raise WayfareError(f"The catalog of run {run.id} is damaged in the store; make the run anew.")
        ranks: Mapping[str, Any] = run.result["tasks"]
        entry: Mapping[str, Any] = json.loads(json.dumps(repeated.entry))
        return Repeated(
            repeated,
            differing(run, repeated.conditions),
            changes(old_catalog, self.runs.digest(experiment.catalog)),
            tuple(task.id for task in repeated.run.tasks if task.id in ranks and ranks[task.id]["rank"] != task.rank),
            tuple(
                name
                for name, figure in run.result.items()  # an earlier version of Wayfare stored fewer
                if name not in CLOCKED and figure != entry.get(name)
            ),
        )

    def _routed(
        self, run: str, phase: str, setup: Experiment, progress: Progress, spread: RaySpread | None
    ) -> list[Routed]:
        """Route every task. A run with an id stores each block of tasks and reads the stored blocks."""
        parts = self.store.lab_runs.parts(run, phase) if run else ()
        routed = [Routed.parse(json.loads(part.routed_json)) for part in parts]
        stored = len(routed)
        if spread is None:
            rest = self.lab.routed(
                setup.tasks, catalog=setup.catalog, router=setup.router, parameters=setup.parameters, known=tuple(routed),
                server_hints=setup.hints,
            )  # fmt: skip
        else:
            catalog = self.runs.catalogs.catalog(parts_of_name(setup.catalog)[0])
            work = Work(replace(catalog, name=setup.catalog), setup.router, setup.tasks, setup.hints)
            rest = spread.routed(work, setup.parameters, known=stored)
        try:
            for decision in rest:
                routed.append(decision)
                if run and len(routed) - stored >= BLOCK:
                    self._keep(run, phase, routed, stored)
                    stored = len(routed)
                progress(len(routed))
        finally:
            if run:
                self._keep(run, phase, routed, stored)
        return routed

    def _keep(self, run: str, phase: str, routed: Sequence[Routed], stored: int) -> None:
        parts = [RunPart(run, phase, i, json.dumps(routed[i].to_json())) for i in range(stored, len(routed))]
        self.store.lab_runs.add_parts(parts)
