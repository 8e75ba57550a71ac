"""Runs of the lab: stored with all that repeats them, found and listed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from core.domain.catalog import Catalog
from core.domain.lab_run import LabConditions, LabRun, Sweep, lab_id
from core.domain.params import Parameters
from core.domain.scenario_run import fingerprint
from core.domain.task import Task
from core.importers import read_tasks, tasks_text
from core.lab.catalog_changes import CatalogDigest
from core.lab.execution import Playing
from core.services.catalogs import CatalogService
from core.services.lab import BY_TIERS, LabService
from core.store import Store

COMPUTING = ("wayfare", "numpy", "onnxruntime", "bm25s", "ir_measures", "optuna")
LISTED = 500
DRAWN = "tasks drawn with the testbed"


def drawn_tasks(catalog: str) -> str:
    """The setting that has the fingerprint of the tasks that were drawn with a catalog."""
    return f"drawn tasks: {catalog}"


class LabRunService:
    """Stores what the lab measured. Thread-safe."""

    def __init__(
        self,
        store: Store,
        catalogs: CatalogService,
        lab: LabService,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._lab = lab
        self._now = now

    def open(self, name_or_path: str) -> str:
        """The name of a catalog, opened; one whose prices are by tiers is made again. Raises UnknownNameError."""
        opened = self._catalogs.open(name_or_path.removesuffix(BY_TIERS)).name
        return self._lab.priced_by_tiers(opened) if name_or_path.endswith(BY_TIERS) else opened

    def catalog(self, name: str) -> Catalog:
        """A catalog that is open, by its name. Raises UnknownNameError."""
        return self._catalogs.catalog(name)

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
        playing: Playing | None = None,
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
            played_json="" if playing is None else json.dumps(asdict(playing)),
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

    def over(self, catalog: str, tasks: Sequence[Task]) -> tuple[LabRun, ...]:
        """The newest runs of a catalog over exactly these tasks, wherever they came from, newest first."""
        return self._store.lab_runs.newest(LISTED, catalog=catalog, tasks_fingerprint=fingerprint(tasks_text(tasks)))

    def same_tasks(self, found: LabConditions, tasks: Sequence[Task]) -> bool:
        """Whether a stored run or sweep is over exactly these tasks."""
        return found.tasks_fingerprint == fingerprint(tasks_text(tasks))

    def task_sets(self, catalog: str) -> Mapping[str, str]:
        """The fingerprints of the tasks that were drawn with a catalog, and of those of its stored runs that did not come with it,
        each with where they came from."""
        shipped = {_shipped_fingerprint(path) for path in self._lab.task_sets(catalog).values()}
        drawn = self._store.get_setting(drawn_tasks(catalog))
        known = ({drawn: DRAWN} if drawn else {}) | self._store.lab_runs.task_sets(catalog)
        return {one: source for one, source in known.items() if one not in shipped}

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


@cache
def _shipped_fingerprint(path: Path) -> str:
    return fingerprint(tasks_text(read_tasks(path.read_bytes(), source=str(path))))
