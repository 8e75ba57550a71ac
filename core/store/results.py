"""Costly results: runs and sweeps of the lab, long commands, scenario runs, snapshots, and a cache by the hash of a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from core.domain.errors import StoreError, UnknownNameError
from core.domain.lab_runs import CommandRun, KeptRun, LabRun, RunPart, RunSteps, Snapshot, Sweep, SweepPoint
from core.domain.people import actions
from core.store.connection import Database, Table, pa
from core.store.tables import TypedTable, encode, insert_arrow

NEWEST = 'ORDER BY "at" DESC, rowid DESC LIMIT ?'

Inputs = Mapping[str, tuple[str, str]]
"""Documents that runs share: fingerprint to kind and text."""


@dataclass(frozen=True, slots=True)
class _Input:
    fingerprint: str
    kind: str
    document: str


class LabRuns:
    """A run replaces an earlier run with equal inputs. A sweep that is begun again keeps its points."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._inputs = TypedTable(database, _Input, "lab_inputs")
        self._runs = TypedTable(database, LabRun, "lab_runs")
        self._parts = TypedTable(database, RunPart, "run_parts")
        self._sweeps = TypedTable(database, Sweep, "sweeps")
        self._points = TypedTable(database, SweepPoint, "sweep_points")

    def save(self, runs: Sequence[LabRun], inputs: Inputs) -> None:
        with self._database.transaction() as connection:
            self._put_inputs(connection, inputs)
            self._runs.write(connection, runs)
            for run in runs:
                self._parts.delete(connection, "run = ?", [run.id])

    def add_parts(self, parts: Sequence[RunPart]) -> None:
        self._parts.put(*parts)

    def parts(self, run: str, phase: str) -> tuple[RunPart, ...]:
        return self._parts.select("run = ? AND phase = ? ORDER BY number", [run, phase])

    def add_inputs(self, inputs: Inputs) -> None:
        """Stores shared documents before a run refers to them. Raises StoreError."""
        with self._database.transaction() as connection:
            self._put_inputs(connection, inputs)

    def begin(self, sweep: Sweep, inputs: Inputs) -> dict[int, SweepPoint]:
        """Stores a sweep, if it is new. Returns its stored points by number."""
        with self._database.transaction() as connection:
            self._put_inputs(connection, inputs)
            self._sweeps.write(connection, [sweep])
        return {point.number: point for point in self.points(sweep.id)}

    def add_points(self, points: Sequence[SweepPoint]) -> None:
        """Commits points together. A killed process loses none of them."""
        self._points.put(*points)

    def unfinished(self) -> int:
        return self._parts.count("DISTINCT run")

    def points(self, sweep: str) -> tuple[SweepPoint, ...]:
        return self._points.select("sweep = ? ORDER BY number", [sweep])

    def newest(self, limit: int, **same: str) -> tuple[LabRun, ...]:
        condition = " AND ".join(["true", *(f"{name} = ?" for name in same)])
        return self._runs.select(f"{condition} {NEWEST}", [*same.values(), limit])

    def task_sets(self, catalog: str) -> dict[str, str]:
        """The task sets of the runs and sweeps over a catalog, newest first: fingerprint to source."""
        rows = self._database.read(
            'SELECT tasks_fingerprint, max_by(tasks, "at") AS tasks FROM (SELECT catalog, tasks, tasks_fingerprint, "at" FROM lab_runs'
            ' UNION ALL SELECT catalog, tasks, tasks_fingerprint, "at" FROM sweeps)'
            ' WHERE catalog = ? GROUP BY tasks_fingerprint ORDER BY max("at") DESC',
            [catalog],
        )
        return {row["tasks_fingerprint"]: row["tasks"] for row in rows.to_pylist()}

    def newest_sweeps(self, limit: int) -> tuple[Sweep, ...]:
        return self._sweeps.select(f"true {NEWEST}", [limit])

    def find(self, id_: str) -> LabRun | Sweep:
        """A run or sweep by its id or an unambiguous prefix of it. Raises UnknownNameError."""
        matches = [*self._runs.select("starts_with(id, ?)", [id_]), *self._sweeps.select("starts_with(id, ?)", [id_])]
        if len(matches) != 1 or not id_:
            raise UnknownNameError(
                f"{'More than one run begins' if matches else 'No run begins'} with {id_[:40]!r}; `wayfare runs` lists those there are."
            )
        return matches[0]

    def input(self, fingerprint: str) -> str:
        stored = self._inputs.first("fingerprint = ?", [fingerprint])
        if stored is None:
            raise UnknownNameError(f"The store does not have the input {fingerprint!r} of that run any more.")
        return stored.document

    def _put_inputs(self, connection: DuckDBPyConnection, inputs: Inputs) -> None:
        documents = [_Input(name, kind, document) for name, (kind, document) in inputs.items()]
        self._inputs.write(connection, documents, replace=False)


class CommandRuns:
    def __init__(self, database: Database) -> None:
        self._table = TypedTable(database, CommandRun, "command_runs")

    def add(self, run: CommandRun) -> None:
        self._table.put(run)

    def newest(self, limit: int) -> tuple[CommandRun, ...]:
        return self._table.select('true ORDER BY "at" DESC LIMIT ?', [limit])


# Scenario runs. A run replaces an earlier run with equal inputs.

RUN = [field.name for field in fields(KeptRun)]
NAMES = ("servers", "tools")
COLUMNS = {
    "task": pa.int32(),
    "server": pa.int32(),
    "tool": pa.int32(),
    "network_s": pa.float64(),
    "price_usd": pa.float64(),
    "ok": pa.bool_(),
}
CHOSEN = "id IN (SELECT unnest(?::VARCHAR[]))"


@actions("tune", remove="delete network runs")
class ScenarioRuns:
    """Runs are listed without their steps. Steps are read one run at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._table = TypedTable(database, KeptRun, "scenario_runs")

    def save(self, runs: Sequence[tuple[KeptRun, RunSteps]]) -> None:
        """Stores all runs or none. A run replaces the run with its id. Raises StoreError."""
        with self._database.transaction() as connection:
            for run, steps in runs:
                insert_arrow(connection, "INSERT OR REPLACE INTO scenario_runs BY NAME FROM incoming", _row(run, steps))

    def newest(self, limit: int) -> tuple[KeptRun, ...]:
        """The newest runs, newest first. Runs that were saved together keep their order."""
        return self._table.select('true ORDER BY "at" DESC, rowid LIMIT ?', [limit])

    def count(self) -> int:
        return self._table.count()

    def steps(self, id_: str) -> RunSteps:
        """The steps of a run. Raises UnknownNameError for an unknown run, StoreError for damaged steps."""
        table = self._database.read(f"SELECT {', '.join((*NAMES, *COLUMNS))} FROM scenario_runs WHERE id = ?", [id_])  # noqa: S608
        if not table.num_rows:
            raise UnknownNameError(f"There is no run {id_!r} in the store; choose one of those it lists.")
        steps = _steps(table)
        if not _whole(steps):
            raise StoreError(f"The steps of run {id_} are damaged; delete the run and make it again.")
        return steps

    def remove(self, ids: Sequence[str]) -> int:
        return self._table.remove(CHOSEN, [ids])

    def export(self, ids: Sequence[str]) -> bytes:
        """Runs (no ids: all runs) as CSV, newest first, without their steps."""
        condition = "true" if not ids else CHOSEN
        return encode(
            self._database.read(
                f'SELECT {self._table.columns} FROM scenario_runs WHERE {condition} ORDER BY "at" DESC, rowid',  # noqa: S608
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


def _steps(table: Table) -> RunSteps:
    names = {name: tuple(table[name][0].as_py()) for name in NAMES}
    columns = {name: table[name].combine_chunks().values.to_numpy(zero_copy_only=False) for name in COLUMNS}
    return RunSteps(**names, **columns)


def _whole(steps: RunSteps) -> bool:
    columns = [getattr(steps, name) for name in COLUMNS]
    if len({len(column) for column in columns}) != 1 or any(column.dtype == object for column in columns):
        return False
    places = ((steps.server, steps.servers), (steps.tool, steps.tools))
    return all(bool(np.all((place >= -1) & (place < len(names)))) for place, names in places)


# Snapshots of the console's state by name.


class Snapshots:
    """A snapshot replaces the snapshot of its name."""

    def __init__(self, database: Database) -> None:
        self._table = TypedTable(database, Snapshot, "snapshots")

    def save(self, snapshot: Snapshot) -> None:
        self._table.put(snapshot)

    def remove(self, name: str) -> None:
        self._table.remove("name = ?", [name])

    def all(self) -> tuple[Snapshot, ...]:
        return self._table.select('true ORDER BY "at" DESC, name')

    def find(self, name: str) -> Snapshot:
        """The snapshot of a name. Raises UnknownNameError with the known names."""
        snapshots = self.all()
        for snapshot in snapshots:
            if snapshot.name == name:
                return snapshot
        names = ", ".join(snapshot.name for snapshot in snapshots[:8]) or "none"
        raise UnknownNameError(f"There is no snapshot {name[:60]!r}; there are: {names}.")


# Embeddings, token counts and Lint's errors by the hash of their text, for a warm start without computing them again.

MANY = 1_000
WANTED = "SELECT unnest(?::VARCHAR[])"


class Vectors:
    """A cache on disk. Its results leave out unknown hashes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load_vectors(self, model: str, hashes: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """Hash to stored vector of this model. The arrays are read-only."""
        table = self._database.read(
            f"SELECT hash, vector FROM vectors WHERE model = ? AND hash IN ({WANTED})",  # noqa: S608
            [model, list(hashes)],
        )
        if len(table) > MANY:  # the arrays stay in memory, and the pages that were read for them would, too
            self._database.release_pages()
        blobs = (np.frombuffer(blob, dtype="<f4") for blob in table["vector"].to_pylist())
        return dict(zip(table["hash"].to_pylist(), blobs, strict=True))

    def save_vectors(self, model: str, mapping: Mapping[str, NDArray[np.float32]]) -> None:
        """Stores vectors by hash, in place of earlier vectors.

        Raises StoreError, and stores none, if a vector is not one-dimensional or has NaN or infinity.
        """
        arrays = {hash_: np.asarray(vector, dtype="<f4") for hash_, vector in mapping.items()}
        for hash_, array in arrays.items():
            if array.ndim != 1 or not np.isfinite(array).all():
                raise StoreError(f"The vector of {hash_} is not a row of finite numbers; compute it again.")
        blobs = {hash_: array.tobytes() for hash_, array in arrays.items()}
        self._save("vectors", blobs, pa.binary(), model=pa.array([model] * len(blobs), pa.string()))

    def load_token_counts(self, hashes: Iterable[str]) -> dict[str, int]:
        return self._known("token_counts", "tokens", hashes)

    def save_token_counts(self, mapping: Mapping[str, int]) -> None:
        self._save("token_counts", mapping, pa.int64())

    def load_lint_errors(self, hashes: Iterable[str]) -> dict[str, str]:
        return self._known("lint_errors", "found_json", hashes)

    def save_lint_errors(self, mapping: Mapping[str, str]) -> None:
        self._save("lint_errors", mapping, pa.string())

    def _known(self, table: str, column: str, hashes: Iterable[str]) -> dict[str, Any]:
        rows = self._database.read(f"SELECT hash, {column} FROM {table} WHERE hash IN ({WANTED})", [list(hashes)])  # noqa: S608
        return dict(zip(rows["hash"].to_pylist(), rows[column].to_pylist(), strict=True))

    def _save(self, table: str, mapping: Mapping[str, object], kind: Any, **first: Any) -> None:
        """Writes keys and values after the columns `first`, in place of rows with equal keys."""
        if mapping:
            columns = {"hash": pa.array(list(mapping), pa.string()), "value": pa.array(list(mapping.values()), kind)}
            with self._database.transaction() as connection:
                insert_arrow(
                    connection,
                    f"INSERT OR REPLACE INTO {table} SELECT * FROM incoming",  # noqa: S608
                    pa.table(first | columns),
                )
