"""`Store`: everything that is stored, behind one object.

Calibrations by catalog, and the calibration in force.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shutil import disk_usage
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from core.domain.errors import StoreBusyError, StoreError, UnknownNameError
from core.domain.events import ActivityFilter, DecisionEvent, OutcomeEvent, Override
from core.domain.feedback import Calibration, CalibrationSwitch, Judgment, Label, switched_on
from core.domain.tasks import EqualJudgment, RequestChange
from core.store.activity import Activity, decisions_condition
from core.store.catalogs import Catalogs
from core.store.connection import COMMAND, CONSOLE, Database, Sharing, Table
from core.store.events import Events, Governance
from core.store.journal import Journal
from core.store.log import TABLES, Log, entry
from core.store.results import CommandRuns, LabRuns, ScenarioRuns, Snapshots, Vectors
from core.store.tables import TypedTable, all_tables, fill

if TYPE_CHECKING:
    from filelock import FileLock


class Calibrations:
    """Append-only: saved calibrations and the steps of switching between them stay."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def save(self, calibration: Calibration, switch: CalibrationSwitch | None = None) -> None:
        """Stores a calibration and, with `switch`, switches it on in the same transaction. Raises StoreError."""
        self._log.append(*([calibration] if switch is None else [calibration, switch]))

    def switch(self, switch: CalibrationSwitch) -> None:
        self._log.append(switch)

    def of_catalog(self, catalog: str) -> tuple[Calibration, ...]:
        """The newest calibration of each name of a catalog, newest first."""
        calibrations = tuple(self._log.read(Calibration, "catalog = ?", [catalog]))
        newest = {calibration.name: calibration for calibration in calibrations}
        return tuple(calibration for calibration in reversed(calibrations) if newest[calibration.name] is calibration)

    def find(self, catalog: str, name: str) -> Calibration:
        """The newest calibration of a name. Raises UnknownNameError with the known names."""
        calibrations = self.of_catalog(catalog)
        for calibration in calibrations:
            if calibration.name == name:
                return calibration
        names = ", ".join(calibration.name for calibration in calibrations[:8]) or "none"
        raise UnknownNameError(f"Catalog {catalog!r} has no calibration {name!r}; it has: {names}.")

    def history(self, catalog: str) -> tuple[CalibrationSwitch, ...]:
        return tuple(self._log.read(CalibrationSwitch, "catalog = ?", [catalog]))

    def active(self, catalog: str) -> Calibration | None:
        """The calibration in force. Returns None for the shipped values."""
        id_ = switched_on(self.history(catalog))
        return next(self._log.read(Calibration, "id = ?", [id_]), None) if id_ else None


# Judgments of pairs of tools as equal or different, by catalog.


class EqualJudgments:
    """A later judgment of a pair replaces the earlier judgment."""

    def __init__(self, database: Database) -> None:
        self._table = TypedTable(database, EqualJudgment, "equal_judgments")

    def save(self, judged: Sequence[EqualJudgment]) -> None:
        self._table.put(*judged)

    def remove(self, catalog: str, one: str, other: str) -> None:
        self._table.remove("catalog = ? AND one = ? AND other = ?", [catalog, one, other])

    def of_catalog(self, catalog: str) -> tuple[EqualJudgment, ...]:
        return self._table.select('catalog = ? ORDER BY "at", one, other', [catalog])


# The events of a catalog in order of commit, as a replay reads them.

Happened = DecisionEvent | OutcomeEvent | Override


class History:
    def __init__(self, log: Log) -> None:
        self._log = log

    def of_catalog(self, where: ActivityFilter, *, decisions: int) -> Iterator[Happened]:
        """Every outcome of the filter's catalog, every price set by hand there, and the newest `decisions` decisions that the filter admits.
        Few are in memory at a time."""
        condition, values = decisions_condition(where)
        newest = f"id IN (SELECT d.id FROM decisions d WHERE {condition} ORDER BY d.sequence DESC LIMIT ?)"  # noqa: S608
        happened: list[Iterator[tuple[int, Happened]]] = [
            self._log.numbered(DecisionEvent, newest, [*values, decisions]),
            self._log.numbered(OutcomeEvent, "catalog = ?", [where.catalog]),
            self._log.numbered(Override, "catalog = ?", [where.catalog]),
        ]
        return (record for _, record in heapq.merge(*happened, key=lambda numbered: numbered[0]))


# Judgments of tools, and labels of sub-tasks, by catalog. Later entries replace or take back earlier entries. All stay stored.

R = TypeVar("R", Judgment, Label, RequestChange)


@dataclass(eq=False)
class Appended(Generic[R]):
    log: Log
    kind: type[R]

    def append(self, *records: R) -> None:
        """Commits records together. Raises StoreError, and keeps none of them, if a record cannot be stored."""
        self.log.append(*records)

    def history(self, catalog: str) -> tuple[R, ...]:
        return tuple(self.log.read(self.kind, "catalog = ?", [catalog]))


class Labels(Appended[Label]):
    """Labels. An entry that names a label takes it back."""

    def find(self, id_: str) -> Label:
        label = next(self.log.read(Label, "id = ?", [id_]), None)
        if label is None or label.retracts:
            raise UnknownNameError(f"There is no label {id_!r}; choose one of those that the catalog has.")
        if next(self.log.read(Label, "retracts = ?", [id_]), None) is not None:
            raise UnknownNameError(f"The label {id_} was taken back already; there is nothing left to take back.")
        return label


LEAST_FREE_BYTES = 4 << 20
JOURNAL_LIMIT_S = 2.0
"""A command holds the journal of a killed console only for milliseconds."""


@dataclass(frozen=True, slots=True)
class _Setting:
    name: str
    value: str


class Store:
    """Everything that Wayfare stores, in one DuckDB file, or in memory if `path` is None or ":memory:".

    One process owns the file, unless it is opened with `sharing`. Any thread of a process may use its one Store. Raises
    StoreError, with a sentence that says what to do, if the file is a directory, corrupt, in use, newer than this version, or
    cannot be made.

    >>> with Store() as store:
    ...     store.set_setting("catalog", "demo")
    ...     store.get_setting("catalog"), store.catalogs.list_catalogs(), store.activity.latest_sequence()
    ('demo', (), 0)
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        sharing: Sharing | None = None,
    ) -> None:
        self._database = Database(None if str(path) == ":memory:" else path, sharing=sharing)
        log = self._log = Log(self._database)
        self._journal = Journal(self._database.path if sharing is None or sharing.stays else None)
        self.events = Events(self._database, log, self._journal)
        self.activity = Activity(self._database, log)
        self.catalogs = Catalogs(self._database, log, clock)
        self.vectors = Vectors(self._database)
        self.scenario_runs = ScenarioRuns(self._database)
        self.history = History(log)
        self.lab_runs = LabRuns(self._database)
        self.command_runs = CommandRuns(self._database)
        self.snapshots = Snapshots(self._database)
        self.equal_judgments = EqualJudgments(self._database)
        self.labels = Labels(log, Label)
        self.judgments = Appended(log, Judgment)
        self.requests = Appended(log, RequestChange)
        self.governance = Governance(self._database, log, self._journal)
        self.calibrations = Calibrations(log)
        self._settings = TypedTable(self._database, _Setting, "settings")
        self._sharing = sharing
        self._read: dict[Callable[[], None], int] = {}
        """The number of openings at which a service read the store last."""
        self._taken: FileLock | None = None
        try:
            self._take_over(sharing)
        except BaseException:
            self._release()
            raise

    @property
    def path(self) -> Path | None:
        return self._database.path

    @property
    def problem(self) -> str:
        """The reason why nothing can be stored now, or ""."""
        if self.path is not None and disk_usage(self.path.parent).free < LEAST_FREE_BYTES:
            return f"The disk of the store {self.path} is full; make room on it."
        self.events.try_again()
        return self.events.problem

    @property
    def on_return(self) -> Callable[[], None]:
        return self._database.on_return

    @on_return.setter
    def on_return(self, work: Callable[[], None]) -> None:
        self._database.on_return = work

    def lend(self) -> None:
        self._database.lend()

    @contextmanager
    def kept(self, read_anew: Callable[[], None] = lambda: None) -> Generator[None]:
        """Keeps the file of a command, so that no other process writes meanwhile. `read_anew` runs first if one may have written since
        it ran. A console has its file all the time, and `on_return` instead."""
        if self._sharing != COMMAND:
            yield
            return
        with self._database.cursor():
            if self._read.get(read_anew, 1) != self._database.openings:
                read_anew()
                self._read[read_anew] = self._database.openings
            yield

    @property
    def copies(self) -> Path | None:
        return self._database.copies

    def copy(self, file: Path) -> None:
        """Writes everything that is stored to a new file in `copies`. Raises StoreError."""
        self.events.flush()
        self.governance.flush()
        self._database.copy(file)

    def tables(self, *names: str) -> dict[str, Table]:
        """Writes the queue and returns the named tables (none: all tables) by name. Raises StoreError."""
        self.events.flush()
        return all_tables(self._database, names)

    @classmethod
    def of_tables(cls, tables: Mapping[str, Table]) -> Self:
        """A store in memory with the `tables` of another store. Raises StoreError."""
        store = cls(None)
        fill(store._database, tables)
        return store

    def merge(self, made: Self, since: int, *, catalogs: Sequence[str], settings: Sequence[str]) -> None:
        """Takes the records after number `since`, these catalogs and these settings from a copy of this store, all or nothing. Raises
        StoreError."""
        records = heapq.merge(*(made._log.numbered(kind, "sequence > ?", [since]) for kind in TABLES), key=lambda pair: pair[0])  # fmt: skip
        sources = {row.name: row.source for row in made.catalogs.list_catalogs()}
        with self._database.lock:
            self._log.write_queued()  # not in the transaction, because its failure would lose these records
            with self._database.transaction():
                for name in catalogs:
                    if (catalog := made.catalogs.load_catalog(name)) is not None:
                        self.catalogs.save_catalog(catalog, sources[name])
                for name in settings:
                    if (value := made.get_setting(name)) is not None:
                        self.set_setting(name, value)
                self._log.commit([entry(record) for _, record in records])

    def get_setting(self, name: str, default: Any = None) -> Any:
        """The last value of a setting, for example the last catalog."""
        setting = self._settings.first("name = ?", [name])
        return default if setting is None else json.loads(setting.value)

    def set_setting(self, name: str, value: Any) -> None:
        """Stores a JSON value. Raises StoreError for a value without a JSON form."""
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise StoreError(f"The setting {name} cannot be stored: {error}.") from error
        self._settings.put(_Setting(name, text))

    def close(self) -> None:
        """Writes the queue and releases the file. A second call does nothing.

        Raises StoreError for queued events that could not be written, and releases the file.
        """
        try:
            self.governance.close()
            self.events.close()
        finally:
            self._journal.close()  # first, because another process may take the file after the release
            self._release()

    def _release(self) -> None:
        self._database.close()
        if self._taken is not None:
            self._taken.release()

    def _take_over(self, sharing: Sharing | None) -> None:
        """Writes the journal of a killed process to the database. Raises StoreError, and keeps the journal as it is. A console
        holds the journal as long as it runs. A command leaves a running console's journal alone."""
        journal = Journal(self._database.path)
        if journal.path is None or not (journal.path.exists() or sharing == CONSOLE):
            return
        from filelock import FileLock, Timeout

        lock = FileLock(f"{journal.path}.lock", timeout=JOURNAL_LIMIT_S if sharing == CONSOLE else 0, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            if sharing == COMMAND:
                return
            raise StoreBusyError(
                f"The store {self._database.path} is in use by a console; stop it with `wayfare stop`."
            ) from None
        self._taken = lock
        try:
            if records := journal.left():
                self.events.take_over(records)
                self.governance.take_over(records)
            journal.clear()
        except (OSError, StoreError) as error:
            raise StoreError(f"The calls in {journal.path} cannot be stored: {error}") from error
        if sharing == COMMAND:
            lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
