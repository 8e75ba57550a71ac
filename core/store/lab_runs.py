"""Runs and sweeps of the lab, each stored once, with what they share stored once beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from duckdb import DuckDBPyConnection

from core.domain.lab_runs import KeptRun, LabRun, RunPart, RunSteps, Snapshot, Sweep, SweepPoint
from core.shared.errors import StoreError, UnknownNameError
from core.store.connection import Database, Table, encode, insert_arrow, pa

R = TypeVar("R", LabRun, Sweep, SweepPoint, RunPart)
TABLES: Mapping[type[LabRun | Sweep | SweepPoint | RunPart], str] = {
    LabRun: "lab_runs",
    Sweep: "sweeps",
    SweepPoint: "sweep_points",
    RunPart: "run_parts",
}


class LabRuns:
    """A run with the same inputs replaces the earlier one; a sweep that is taken up again keeps its points."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, runs: Sequence[LabRun], inputs: Mapping[str, tuple[str, str]]) -> None:
        """Keep runs, all or none. `inputs` are shared documents: fingerprint to kind and text. Raises StoreError."""
        with self._database.transaction() as connection:
            _put_inputs(connection, inputs)
            for run in runs:
                _put(connection, run)
                connection.execute("DELETE FROM run_parts WHERE run = ?", [run.id])

    def add_parts(self, parts: Sequence[RunPart]) -> None:
        """Commit tasks of a run that is under way."""
        with self._database.transaction() as connection:
            for part in parts:
                _put(connection, part)

    def parts(self, run: str, phase: str) -> tuple[RunPart, ...]:
        """The tasks that are known of a run that is under way, in their order; none where it is not."""
        return self._read(RunPart, "run = ? AND phase = ? ORDER BY number", [run, phase])

    def add_inputs(self, inputs: Mapping[str, tuple[str, str]]) -> None:
        """Keep shared documents, fingerprint to kind and text, before anything refers to them. Raises StoreError."""
        with self._database.transaction() as connection:
            _put_inputs(connection, inputs)

    def begin(self, sweep: Sweep, inputs: Mapping[str, tuple[str, str]]) -> dict[int, SweepPoint]:
        """Keep a sweep, or find it again; the points that it has, by number."""
        with self._database.transaction() as connection:
            _put_inputs(connection, inputs)
            _put(connection, sweep)
        return {point.number: point for point in self.points(sweep.id)}

    def add_points(self, points: Sequence[SweepPoint]) -> None:
        """Commit points together: a killed process loses nothing of them."""
        with self._database.transaction() as connection:
            for point in points:
                _put(connection, point)

    def unfinished(self) -> int:
        """How many runs are under way, or were ended before they were over."""
        return self._database.read("SELECT count(DISTINCT run) FROM run_parts")[0][0].as_py()

    def points(self, sweep: str) -> tuple[SweepPoint, ...]:
        """The points of a sweep in their order."""
        return self._read(SweepPoint, "sweep = ? ORDER BY number", [sweep])

    def newest(self, limit: int, **same: str) -> tuple[LabRun, ...]:
        """The newest runs, newest first; of those whose columns are the `same` as these."""
        condition = " AND ".join(["true", *(f"{name} = ?" for name in same)])
        return self._read(LabRun, f'{condition} ORDER BY "at" DESC, rowid DESC LIMIT ?', [*same.values(), limit])

    def task_sets(self, catalog: str) -> dict[str, str]:
        """The fingerprints of the tasks that were run over a catalog, the newest first, each with where they came from."""
        rows = self._database.read(
            'SELECT tasks_fingerprint, max_by(tasks, "at") AS tasks FROM lab_runs WHERE catalog = ?'
            ' GROUP BY tasks_fingerprint ORDER BY max("at") DESC',
            [catalog],
        )
        return {row["tasks_fingerprint"]: row["tasks"] for row in rows.to_pylist()}

    def newest_sweeps(self, limit: int) -> tuple[Sweep, ...]:
        """The newest sweeps, newest first."""
        return self._read(Sweep, 'true ORDER BY "at" DESC, rowid DESC LIMIT ?', [limit])

    def find(self, id_: str) -> LabRun | Sweep:
        """A run or sweep by id, or by as much of it as tells it apart. Raises UnknownNameError."""
        found = [*self._read(LabRun, "starts_with(id, ?)", [id_]), *self._read(Sweep, "starts_with(id, ?)", [id_])]
        if len(found) != 1 or not id_:
            raise UnknownNameError(
                f"{'More than one run begins' if found else 'No run begins'} with {id_[:40]!r}; `wayfare runs` lists those there are."
            )
        return found[0]

    def input(self, fingerprint: str) -> str:
        """A shared document. Raises UnknownNameError where it is not there."""
        rows = self._database.read("SELECT document FROM lab_inputs WHERE fingerprint = ?", [fingerprint])
        if not rows.num_rows:
            raise UnknownNameError(f"The store does not have the input {fingerprint!r} of that run any more.")
        return rows[0][0].as_py()

    def _read(self, kind: type[R], condition: str, parameters: Sequence[object]) -> tuple[R, ...]:
        names = ", ".join(f'"{field.name}"' for field in dataclasses.fields(kind))
        rows = self._database.read(f"SELECT {names} FROM {TABLES[kind]} WHERE {condition}", parameters)  # noqa: S608
        return tuple(kind(**row) for row in rows.to_pylist())


def _put_inputs(connection: DuckDBPyConnection, inputs: Mapping[str, tuple[str, str]]) -> None:
    for name, (kind, document) in inputs.items():
        connection.execute("INSERT OR IGNORE INTO lab_inputs VALUES (?, ?, ?)", [name, kind, document])


def _put(connection: DuckDBPyConnection, record: LabRun | Sweep | SweepPoint | RunPart) -> None:
    names = [field.name for field in dataclasses.fields(record)]
    table, marks, columns = TABLES[type(record)], ", ".join("?" * len(names)), ", ".join(f'"{name}"' for name in names)
    values = [getattr(record, name) for name in names]
    connection.execute(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", values)  # noqa: S608


# ----------------------------------------------------------------------------------------------------------------------
# Scenario runs, each stored once: a run with the same inputs replaces the earlier one.

RUN = [field.name for field in dataclasses.fields(KeptRun)]
NAMES = ("servers", "tools")
COLUMNS = {
    "task": pa.int32(),
    "server": pa.int32(),
    "tool": pa.int32(),
    "network_s": pa.float64(),
    "price_usd": pa.float64(),
    "ok": pa.bool_(),
}
FIELDS = ", ".join(f'"{name}"' for name in RUN)
CHOSEN = "id IN (SELECT unnest(?::VARCHAR[]))"


class ScenarioRuns:
    """Runs are listed without their steps, which are read one run at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, runs: Sequence[tuple[KeptRun, RunSteps]]) -> None:
        """Keep runs, all or none, in place of those of the same id. Raises StoreError."""
        with self._database.transaction() as connection:
            for run, steps in runs:
                insert_arrow(connection, "INSERT OR REPLACE INTO scenario_runs BY NAME FROM incoming", _row(run, steps))

    def newest(self, limit: int) -> tuple[KeptRun, ...]:
        """The newest runs, newest first; those saved together in the order in which they were saved."""
        found = self._database.read(
            f'SELECT {FIELDS} FROM scenario_runs ORDER BY "at" DESC, rowid LIMIT ?',  # noqa: S608
            [limit],
        )
        return tuple(KeptRun(**row) for row in found.to_pylist())

    def count(self) -> int:
        """How many there are."""
        return self._database.read("SELECT count(*) FROM scenario_runs")[0][0].as_py()

    def steps(self, id_: str) -> RunSteps:
        """The steps of a run. Raises UnknownNameError where there is none of that id, StoreError where they are damaged."""
        found = self._database.read(f"SELECT {', '.join((*NAMES, *COLUMNS))} FROM scenario_runs WHERE id = ?", [id_])  # noqa: S608
        if not found.num_rows:
            raise UnknownNameError(f"There is no run {id_!r} in the store; choose one of those it lists.")
        steps = _steps(found)
        if not _whole(steps):
            raise StoreError(f"The steps of run {id_} are damaged; delete the run and make it again.")
        return steps

    def remove(self, ids: Sequence[str]) -> int:
        """Delete runs; how many there were."""
        with self._database.transaction() as connection:
            return len(connection.execute(f"DELETE FROM scenario_runs WHERE {CHOSEN} RETURNING id", [ids]).fetchall())  # noqa: S608

    def export(self, ids: Sequence[str]) -> bytes:
        """Runs as CSV, newest first, without their steps; all where none is named."""
        chosen = "true" if not ids else CHOSEN
        return encode(
            self._database.read(
                f'SELECT {FIELDS} FROM scenario_runs WHERE {chosen} ORDER BY "at" DESC, rowid',  # noqa: S608
                [list(ids)] if ids else [],
            ),
            "csv",
        )


def _row(run: KeptRun, steps: RunSteps) -> Table:
    values: dict[str, Any] = {name: [getattr(run, name)] for name in RUN}
    values |= {name: pa.array([getattr(steps, name)], pa.list_(pa.string())) for name in NAMES}
    values |= {name: pa.array([getattr(steps, name)], pa.list_(kind)) for name, kind in COLUMNS.items()}
    values["utility"] = pa.array(values["utility"], pa.float64())
    try:
        return pa.table(values)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise StoreError(f"The run of {run.router} cannot be stored: {error}.") from error


def _steps(found: Table) -> RunSteps:
    names = {name: tuple(found[name][0].as_py()) for name in NAMES}
    columns = {name: found[name].combine_chunks().values.to_numpy(zero_copy_only=False) for name in COLUMNS}
    return RunSteps(**names, **columns)


def _whole(steps: RunSteps) -> bool:
    """Whether all columns are of one length, and what they point to is there."""
    columns = [getattr(steps, name) for name in COLUMNS]
    if len({len(column) for column in columns}) != 1 or any(column.dtype == object for column in columns):
        return False
    places = ((steps.server, steps.servers), (steps.tool, steps.tools))
    return all(bool(np.all((place >= -1) & (place < len(names)))) for place, names in places)


# ----------------------------------------------------------------------------------------------------------------------
# Snapshots of the console's state by name.


class Snapshots:
    """One of the same name takes the place of the earlier one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, snapshot: Snapshot) -> None:
        """Keep it. Raises StoreError."""
        with self._database.transaction() as connection:
            values = [snapshot.name, snapshot.at, snapshot.state_json]
            connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", values)

    def remove(self, name: str) -> None:
        """Forget one; nothing where there is none of that name."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM snapshots WHERE name = ?", [name])

    def all(self) -> tuple[Snapshot, ...]:
        """Every one, newest first."""
        rows = self._database.read('SELECT name, "at", state_json FROM snapshots ORDER BY "at" DESC, name')
        return tuple(Snapshot(**row) for row in rows.to_pylist())

    def find(self, name: str) -> Snapshot:
        """The one of a name. Raises UnknownNameError that names those there are."""
        known = self.all()
        for snapshot in known:
            if snapshot.name == name:
                return snapshot
        names = ", ".join(one.name for one in known[:8]) or "none"
        raise UnknownNameError(f"There is no snapshot {name[:60]!r}; there are: {names}.")
