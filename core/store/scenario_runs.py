"""Scenario runs, each stored once: a run with the same inputs replaces the earlier one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from core.domain.scenario_run import KeptRun, RunSteps
from core.shared.errors import StoreError, UnknownNameError
from core.store.arrow import Table, pa
from core.store.connection import Database, insert_arrow
from core.store.export import encode

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
