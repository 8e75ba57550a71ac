"""Runs of the lab: stored with all that repeats them, listed, and made again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from core.domain.lab_run import LabConditions, LabRun, Sweep, differing, lab_id
from core.domain.params import Parameters
from core.domain.scenario_run import fingerprint
from core.domain.task import Task
from core.importers import read_tasks, tasks_text
from core.lab.benchmark import BenchmarkRun, run_entry
from core.lab.catalog_changes import CatalogDigest, Change, changes
from core.services.catalogs import CatalogService
from core.services.lab import BY_TIERS, LabService
from core.services.routing import RoutingService
from core.shared.errors import WayfareError
from core.store import Store


@dataclass(frozen=True, slots=True)
class Repeated:
    """A run made again: `differing` names the conditions that are others now, `changes` what changed in the catalog, `moved` the
    tasks whose first right tool has another rank."""

    run: BenchmarkRun
    differing: tuple[str, ...]
    changes: tuple[Change, ...]
    moved: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """What `wayfare runs --repeat --json` says beside the result."""
        return {"differing": self.differing, "changes": [asdict(one) for one in self.changes], "moved": self.moved}


COMPUTING = ("wayfare", "numpy", "onnxruntime", "bm25s", "ir_measures", "optuna")
LISTED = 500


class LabRunService:
    """Stores what the lab measured. Thread-safe."""

    def __init__(
        self,
        store: Store,
        catalogs: CatalogService,
        lab: LabService,
        routing: RoutingService,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._lab = lab
        self._routing = routing
        self._now = now

    def open(self, name_or_path: str) -> str:
        """The name of a catalog, opened; one whose prices are by tiers is made again. Raises UnknownNameError."""
        opened = self._catalogs.open(name_or_path.removesuffix(BY_TIERS)).name
        return self._lab.priced_by_tiers(opened) if name_or_path.endswith(BY_TIERS) else opened

    def digest(self, catalog: str) -> CatalogDigest:
        """What routing reads of a catalog now."""
        return CatalogDigest.of(self._catalogs.catalog(catalog), self._catalogs.statistics(catalog))

    def conditions(
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
    ) -> LabConditions:
        """All that a result of a router over these tasks follows from, as it is now; `source` says where the tasks are from."""
        in_force = self._store.calibrations.active(catalog)
        return LabConditions(
            catalog=catalog,
            catalog_fingerprint=self.digest(catalog).fingerprint,
            tasks=source,
            tasks_fingerprint=fingerprint(tasks_text(tasks)),
            hints=hints,
            router=router,
            preset=preset,
            parameters_json=json.dumps(parameters.values()),
            outcomes=self._catalogs.statistics(catalog, parameters).version,
            labels=len(self._store.labels.history(catalog)),
            calibration="" if in_force is None else in_force.id,
            seed=seed,
            versions_json=json.dumps({name: version(name) for name in COMPUTING}),
        )

    def inputs(self, conditions: LabConditions, tasks: Sequence[Task]) -> dict[str, tuple[str, str]]:
        """The documents that a run is stored with: its tasks, and the digests of its catalog."""
        return {
            conditions.tasks_fingerprint: ("tasks", tasks_text(tasks)),
            conditions.catalog_fingerprint: ("catalog", json.dumps(asdict(self.digest(conditions.catalog)))),
        }

    def keep(self, conditions: LabConditions, tasks: Sequence[Task], result: Mapping[str, Any]) -> str:
        """Store a run by its entry in `wayfare bench --json`; its id. Raises StoreError."""
        run = LabRun(**asdict(conditions), id=lab_id(conditions), at=self._now(), result_json=json.dumps(result))
        self._store.lab_runs.save([run], self.inputs(conditions, tasks))
        return run.id

    def measure(
        self,
        tasks: Sequence[Task],
        *,
        source: str,
        catalog: str,
        router: str,
        preset: str,
        parameters: Parameters,
        played: Parameters | None = None,
        progress: Callable[[int], None] = lambda _done: None,
    ) -> str:
        """Measure a router over tasks and keep the run; its id. With `played` the tasks are played out too, under these parameters.

        `progress` is told how many decisions are made; what it raises ends the run, and nothing is kept. Raises WayfareError.
        """
        conditions = self.conditions(
            tasks, source=source, catalog=catalog, router=router, preset=preset, parameters=parameters
        )
        run = self._lab.benchmark(tasks, catalog=catalog, router=router, parameters=parameters, progress=progress)
        outcome = played and self._lab.execute(
            tasks, catalog=catalog, router=router, parameters=played, progress=lambda done: progress(len(tasks) + done)
        )
        return self.keep(conditions, tasks, run_entry(run, outcome, preset))

    def over(self, catalog: str, tasks: Sequence[Task]) -> tuple[LabRun, ...]:
        """The newest runs of a catalog over exactly these tasks, wherever they came from, newest first."""
        return self._store.lab_runs.newest(LISTED, catalog=catalog, tasks_fingerprint=fingerprint(tasks_text(tasks)))

    def same_tasks(self, found: LabConditions, tasks: Sequence[Task]) -> bool:
        """Whether a stored run or sweep is over exactly these tasks."""
        return found.tasks_fingerprint == fingerprint(tasks_text(tasks))

    def task_sets(self, catalog: str) -> Mapping[str, str]:
        """The fingerprints of the tasks of stored runs of a catalog that did not come with it, each with where they came from."""
        shipped = {_shipped_fingerprint(path) for path in self._lab.task_sets(catalog).values()}
        return {one: source for one, source in self._store.lab_runs.task_sets(catalog).items() if one not in shipped}

    def stored_tasks(self, tasks_fingerprint: str, source: str) -> tuple[Task, ...]:
        """Tasks that a run was stored with. Raises UnknownNameError where the store does not have them."""
        return read_tasks(self._store.lab_runs.input(tasks_fingerprint), source=source)

    def expected_s(self, catalog: str, router: str, tasks: int) -> float | None:
        """About how long so many tasks take, by the middle decision of the router's newest run; None where it has none."""
        runs = self._store.lab_runs.newest(1, catalog=catalog, router=router)
        return float(runs[0].result["latency_ms_p50"]) * tasks / 1000 if runs else None

    def runs(self, limit: int = LISTED) -> tuple[LabRun, ...]:
        """The newest runs, newest first."""
        return self._store.lab_runs.newest(limit)

    def sweeps(self, limit: int = LISTED) -> tuple[Sweep, ...]:
        """The newest sweeps, newest first."""
        return self._store.lab_runs.newest_sweeps(limit)

    def find(self, id_: str) -> LabRun | Sweep:
        """A run or sweep by id or its beginning. Raises UnknownNameError."""
        return self._store.lab_runs.find(id_)

    def tasks(self, run: LabConditions) -> tuple[Task, ...]:
        """The tasks of a stored run. Raises UnknownNameError where the store does not have them."""
        return self.stored_tasks(run.tasks_fingerprint, run.tasks)

    def repeat(self, run: LabRun) -> Repeated:
        """The same run again, over the catalog as it is now.

        Raises WayfareError where the catalog or the tasks are gone, or a parameter does not exist any more.
        """
        tasks, catalog = self.tasks(run), self.open(run.catalog)
        parameters = self._routing.parameters(run.router, run.parameters)
        now = self.conditions(
            tasks, source=run.tasks, catalog=catalog, router=run.router, preset=run.preset, parameters=parameters,
            hints=run.hints, seed=run.seed,
        )  # fmt: skip
        made = self._lab.benchmark(
            tasks, catalog=catalog, router=run.router, parameters=parameters, server_hints=run.hints
        )
        before = CatalogDigest.parse(json.loads(self._store.lab_runs.input(run.catalog_fingerprint)))
        if before is None:
            raise WayfareError(f"The catalog of run {run.id} is damaged in the store; make the run anew.")
        ranks: Mapping[str, Any] = run.result["tasks"]
        return Repeated(
            made,
            differing(run, now),
            changes(before, self.digest(catalog)),
            tuple(task.id for task in made.tasks if task.id in ranks and ranks[task.id]["rank"] != task.rank),
        )


@cache
def _shipped_fingerprint(path: Path) -> str:
    return fingerprint(tasks_text(read_tasks(path.read_bytes(), source=str(path))))
