"""Stored runs of the lab, with all that repeats them, and snapshots of the whole console."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.catalogs.catalogs import CatalogService
from core.domain import documents
from core.domain.catalog import Catalog
from core.domain.errors import CatalogError, WayfareError
from core.domain.lab_runs import OPTUNA, ConsoleState, LabConditions, LabRun, Snapshot, Sweep, fingerprint, lab_id
from core.domain.network_moment import NetworkMoment
from core.domain.params import Parameters
from core.domain.tasks import Task
from core.importers import read_tasks, tasks_text
from core.importers.reading import name_fault
from core.lab.calibrations import CalibrationService
from core.lab.execution import Playing
from core.lab.gate import CatalogDigest
from core.lab.lab import BY_TIERS, UNDER_NETWORK, LabService
from core.network.profiles import NetworkProfiles, read_profile
from core.store import Store

COMPUTING = ("wayfare", "numpy", "onnxruntime", "ir_measures", "optuna")
LISTED = 500
DIGESTS_KEPT = 2
DRAWN = "tasks drawn with the testbed"
STORED = "stored:"  # before the fingerprint of tasks in an address of the Lab


def drawn_tasks(catalog: str) -> str:
    """The name of the setting that holds the fingerprint of the tasks drawn with a catalog."""
    return f"drawn tasks: {catalog}"


@dataclass(eq=False)
class LabRunService:
    """Stores the results of the lab. Thread-safe."""

    store: Store
    catalogs: CatalogService
    lab: LabService
    now: Callable[[], datetime]

    def open(self, name_or_path: str) -> str:
        """Open a catalog and return its name. One with prices by tiers is made again. Raises UnknownNameError."""
        if under := UNDER_NETWORK.fullmatch(name_or_path):
            moment = NetworkMoment(under["network"], float(under["at_s"]))
            return self.lab.under_network(self.open(under["catalog"]), moment)
        opened = self.catalogs.open(name_or_path.removesuffix(BY_TIERS)).name
        return self.lab.priced_by_tiers(opened) if name_or_path.endswith(BY_TIERS) else opened

    def __post_init__(self) -> None:
        self._digests: LRUCache[str, tuple[Catalog, NDArray[np.float64], CatalogDigest]] = LRUCache(DIGESTS_KEPT)

    def digest(self, catalog: str) -> CatalogDigest:
        """The catalog as routing reads it now. The last ones are kept, because a page asks each time and every schema is read."""
        opened, statistics = self.catalogs.catalog(catalog), self.catalogs.statistics(catalog)
        prices = np.concatenate([statistics.servers.ask_usd, statistics.tools.price_usd])
        known = self._digests.get(catalog)
        if known is None or known[0] is not opened or not np.array_equal(known[1], prices, equal_nan=True):
            known = self._digests[catalog] = opened, prices, CatalogDigest.of(opened, statistics)
        return known[2]

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
        """Everything that determines the result of a router over these tasks now. `source` says where the tasks are from."""
        in_force = self.store.calibrations.active(catalog)
        return LabConditions(
            catalog=catalog,
            catalog_fingerprint=self.digest(catalog).fingerprint,
            tasks=source,
            tasks_fingerprint=fingerprint(tasks_text(tasks)),
            hints=hints,
            router=router,
            preset=preset,
            parameters_json=json.dumps(parameters.values()),
            outcomes=self.catalogs.statistics(catalog, parameters).version,
            labels=len(self.store.labels.history(catalog)),
            calibration="" if in_force is None else in_force.id,
            seed=seed,
            versions_json=json.dumps({name: version(name) for name in COMPUTING}),
            played_json="" if playing is None else json.dumps(asdict(playing)),
        )

    def inputs(self, conditions: LabConditions, tasks: Sequence[Task]) -> dict[str, tuple[str, str]]:
        """The documents stored with a run: its tasks, and the digests of its catalog."""
        return {
            conditions.tasks_fingerprint: ("tasks", tasks_text(tasks)),
            conditions.catalog_fingerprint: ("catalog", json.dumps(asdict(self.digest(conditions.catalog)))),
        }

    def keep(self, conditions: LabConditions, tasks: Sequence[Task], result: Mapping[str, Any]) -> str:
        """Store a run by its entry in `wayfare bench --json`. Returns its id. Raises StoreError."""
        run = LabRun(**asdict(conditions), id=lab_id(conditions), at=self.now(), result_json=json.dumps(result))
        self.store.lab_runs.save([run], self.inputs(conditions, tasks))
        return run.id

    def over(self, catalog: str, tasks: Sequence[Task]) -> tuple[LabRun, ...]:
        """The newest runs of a catalog over exactly these tasks, from any source, newest first."""
        return self.store.lab_runs.newest(LISTED, catalog=catalog, tasks_fingerprint=fingerprint(tasks_text(tasks)))

    def same_tasks(self, found: LabConditions, tasks: Sequence[Task]) -> bool:
        """Whether a stored run or sweep is over exactly these tasks."""
        return found.tasks_fingerprint == fingerprint(tasks_text(tasks))

    def task_sets(self, catalog: str) -> Mapping[str, str]:
        """Fingerprints of the tasks drawn with a catalog and of those of its stored runs, each with its source; shipped tasks are left
        out.
        """
        shipped = {_shipped_fingerprint(path) for path in self.lab.task_sets(catalog).values()}
        drawn = self.store.get_setting(drawn_tasks(catalog))
        known = ({drawn: DRAWN} if drawn else {}) | self.store.lab_runs.task_sets(catalog)
        return {one: source for one, source in known.items() if one not in shipped}

    def place(self, found: LabConditions) -> dict[str, str]:
        """Where the Lab shows a run or sweep: the texts of its address."""
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
        """The newest runs, newest first."""
        return self.store.lab_runs.newest(limit)

    def sweeps(self, limit: int = LISTED) -> tuple[Sweep, ...]:
        """The newest sweeps, newest first."""
        return self.store.lab_runs.newest_sweeps(limit)

    def find(self, id_: str) -> LabRun | Sweep:
        """A run or sweep by id or its beginning. Raises UnknownNameError."""
        return self.store.lab_runs.find(id_)

    def tasks(self, run: LabConditions) -> tuple[Task, ...]:
        """The tasks of a stored run. Raises UnknownNameError if the store lacks them."""
        return self.stored_tasks(run.tasks_fingerprint, run.tasks)


@cache
def _shipped_fingerprint(path: Path) -> str:
    return fingerprint(tasks_text(read_tasks(path.read_bytes(), source=str(path))))


# Snapshots of the console: named, compared, restored, exported and imported

KIND = "wayfare snapshot"
MOST_NAME_CHARACTERS = 80
CATALOG, PROFILE = "catalog", "profile"  # parameters of page links


@dataclass(frozen=True, slots=True)
class Returned:
    """The result of a restored snapshot: the pages' texts, and a sentence for each part that could not be restored."""

    pages: Mapping[str, Mapping[str, str]]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SnapshotFile:
    kind: Literal["wayfare snapshot"]
    state: ConsoleState
    name: str = ""


@dataclass(eq=False)
class SnapshotService:
    """Takes and restores snapshots. The calling page gives and takes what pages show."""

    store: Store
    catalogs: CatalogService
    runs: LabRunService
    calibrations: CalibrationService
    networks: NetworkProfiles
    now: Callable[[], datetime]

    def state(self, pages: Mapping[str, Mapping[str, str]], catalog: str) -> ConsoleState:
        """The state now: what pages show. Pages without a catalog show `catalog`."""
        wanted = [catalog, *(texts[CATALOG] for texts in pages.values() if texts.get(CATALOG))]
        known = {info.name for info in self.catalogs.infos()}
        names = [name for name in dict.fromkeys(wanted) if name in known]
        profiles = dict.fromkeys(texts[PROFILE] for texts in pages.values() if texts.get(PROFILE))
        saved = self.networks.saved()
        return ConsoleState(
            {page: dict(texts) for page, texts in pages.items()},
            {name: self.runs.digest(name).fingerprint for name in names},
            {name: self._calibration(name) for name in names},
            {name: self.networks.load(name).text() for name in profiles if name in saved},
        )

    def save(self, name: str, state: ConsoleState) -> Snapshot:
        """Keep a state under a name, in place of an older one. Raises CatalogError for an invalid name."""
        fault = name_fault(name)
        if not fault and len(name) > MOST_NAME_CHARACTERS:
            fault = f"has {len(name)} characters; give at most {MOST_NAME_CHARACTERS}"
        if fault:
            raise CatalogError(f"The snapshot's name {fault}.")
        snapshot = Snapshot(name.strip(), self.now(), json.dumps(state.to_json()))
        self.store.snapshots.save(snapshot)
        return snapshot

    def all(self) -> tuple[Snapshot, ...]:
        """All snapshots, newest first."""
        return self.store.snapshots.all()

    def remove(self, name: str) -> None:
        """Delete a snapshot."""
        self.store.snapshots.remove(name)

    def restore(self, name: str) -> Returned:
        """Apply the calibrations of then, save networks that are gone, and return what the pages showed.

        Catalogs stay as they are; a remark names each that has changed. Raises UnknownNameError.
        """
        state = self.store.snapshots.find(name).state
        known, remarks = {info.name for info in self.catalogs.infos()}, list[str]()
        for catalog, stored in state.catalogs.items():
            if catalog not in known:
                remarks.append(f"Catalog {catalog} is not there any more; import it again.")
                continue
            if self.runs.digest(catalog).fingerprint != stored:
                remarks.append(f"Catalog {catalog} has changed since; it stays as it is now.")
            remarks += self._restore_calibration(catalog, state.calibrations.get(catalog, ""))
        for network, text in state.networks.items():
            remarks += self._restore_network(network, text)
        return Returned(state.pages, tuple(remarks))

    def export(self, name: str) -> str:
        """A snapshot as the text of a file. Raises UnknownNameError."""
        found = self.store.snapshots.find(name)
        document = {"kind": KIND, "name": found.name, "at": found.at.isoformat(), "state": found.state.to_json()}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def import_file(self, data: bytes, *, source: str) -> Snapshot:
        """Keep a snapshot that `export` wrote, under its name. Raises CatalogError that says what is wrong."""
        advice = "give a file that Export wrote"
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            raise CatalogError(f"{source}: it is not JSON; {advice}.") from None
        found = documents.read(_SnapshotFile, document, source, advice=advice)
        return self.save(found.name, found.state)

    def _calibration(self, catalog: str, name: str = "") -> str:
        """The file of a calibration, by default of the one in force, without its date. "" without one."""
        if not name and self.calibrations.active(catalog) is None:
            return ""
        document = json.loads(self.calibrations.export(catalog, name))
        return json.dumps({key: value for key, value in document.items() if key != "at"})

    def _restore_calibration(self, catalog: str, text: str) -> list[str]:
        if text == self._calibration(catalog):
            return []
        try:
            if text:
                known = [one.name for one in self.calibrations.of_catalog(catalog)]
                same = [name for name in known if self._calibration(catalog, name) == text]
                if same:
                    self.calibrations.apply(same[0], catalog=catalog)
                else:
                    self.calibrations.import_file(text, source="the snapshot", catalog=catalog, apply=True)
            else:
                self.calibrations.apply("", catalog=catalog)
        except WayfareError as error:
            return [f"The calibration of {catalog} stays as it is: {error}"]
        return []

    def _restore_network(self, name: str, text: str) -> list[str]:
        if name in self.networks.saved() and self.networks.load(name).text() == text:
            return []
        try:
            self.networks.save(read_profile(text.encode(), "the snapshot"))
        except WayfareError as error:
            return [f"The network {name} stays as it is: {error}"]
        return []
