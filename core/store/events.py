"""Events and the spending of calls: written at once or in the background, events read back in order of commit."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from time import monotonic

from core.domain.errors import StoreError
from core.domain.events import (
    ApprovalChange,
    ClientChange,
    DecisionEvent,
    DefinitionChange,
    OutcomeEvent,
    PolicyChange,
    Spent,
)
from core.store.audit import Audit, Chain, Take
from core.store.connection import Database, NoRoomError
from core.store.journal import Journal, Kept
from core.store.log import Entry, Event, Governing, Log, checked, entry
from core.store.tables import TypedTable


class BackgroundWriter:
    """Calls `write` in a thread of its own, `gather_s` seconds after the first of the calls of `soon` that it serves.

    A transaction for each event costs more than the calls that the events tell of, and it would take the processor from the
    answer that is just being sent. `where` names the store in errors. Thread-safe."""

    def __init__(self, write: Callable[[], object], *, gather_s: float, name: str, where: str) -> None:
        self._write = write
        self._gather_s = gather_s
        self._where = where
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._lock = Lock()
        self._is_waiting, self._closing = False, threading.Event()

    def soon(self) -> None:
        """Have everything written that was queued before. Raises StoreError once it is closed."""
        with self._lock:
            if self._closing.is_set():
                raise StoreError(f"The store {self._where} is closed; open it again.")
            if not self._is_waiting:
                self._is_waiting = True
                self._thread.submit(self._gathered)

    def close(self) -> None:
        """Write at once what waits, and end the thread. A second call does nothing."""
        with self._lock:
            self._closing.set()
        self._thread.shutdown(wait=True)

    def _gathered(self) -> None:
        self._closing.wait(self._gather_s)
        with self._lock:
            self._is_waiting = False
        self._write()


GATHERED_S = 0.2
MOST_WAITING = 1_000
"""Writes that wait for room on the disk. Beyond that the oldest are lost, and the log says so."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, slots=True)
class _Queued:
    """The events of one call: the ids that others may wait for, its entries, and its number in the journal, if any."""

    ids: tuple[str, ...]
    entries: Callable[[], Sequence[Entry]]
    journaled: int | None = None
    at_s: float = field(default_factory=monotonic)


@dataclass(eq=False)
class Events:
    """Append-only: a written event never changes.

    `append` returns when its events are on the disk. `append_later` returns at once (decisions while a slider is
    dragged, calls of agents), `make_later` even before its events are made (decisions for agents, whose JSON takes longer than
    the rest of their record); one background thread writes what has gathered in 0.2 s. The order of the calls is the order of
    commit. Outcomes are in the journal before `append_later` returns, or in the database where there is no journal: a killed process
    loses what else is queued, and no call.
    """

    database: Database
    log: Log
    journal: Journal

    def __post_init__(self) -> None:
        self._pending: deque[_Queued] = deque()
        self._failed: list[Exception] = []
        self.problem = ""
        """Why the newest events could not be stored, or ""."""
        self.log.write_queued = self._drain
        self._chain = Chain(self.database, self.log)
        self._background = BackgroundWriter(
            self._drain, gather_s=GATHERED_S, name="wayfare-store", where=self.database.where
        )

    def append(self, *events: Event) -> None:
        """Write all events in one transaction, after everything queued before.

        Raises StoreError, and keeps none of them, where one cannot be stored.
        """
        self.log.append(*events)

    def append_later(self, *events: Event) -> None:
        """Queue events; those of one call are committed together. What fails on the disk is raised by `flush`.

        Raises StoreError at once for an event that cannot be stored, and for an outcome that the journal does not take.
        """
        has_outcome = any(isinstance(event, OutcomeEvent) for event in events)
        if has_outcome and self.journal.path is None and self.database.path is not None:
            self.append(*events)
            return
        entries = tuple(map(entry, events))
        ids = tuple(event.id for event in events if isinstance(event, DecisionEvent | OutcomeEvent))
        self._queue(_Queued(ids, lambda: entries, self.journal.add(*entries) if has_outcome else None))

    def take_over(self, left: Sequence[Sequence[Kept]]) -> None:
        """Commit the outcomes that a killed process left in the journal, each with its statistics, where the log does not have
        them. Raises StoreError, and keeps none of them."""
        units = {record.id: unit for unit in left for record in unit if isinstance(record, OutcomeEvent)}
        known = self.database.read("SELECT id FROM outcomes WHERE list_contains(?::VARCHAR[], id)", [list(units)])
        for id_ in known["id"].to_pylist():
            del units[id_]
        self.log.commit([entry(record) for unit in units.values() for record in unit if not isinstance(record, Spent)])

    def make_later(self, id_: str, events: Callable[[], Sequence[Event]]) -> None:
        """Queue events that are made when they are written. Others may wait for `id_`. `flush` raises their errors."""
        self._queue(_Queued((id_,), lambda: tuple(map(entry, events()))))

    def flush(self) -> None:
        """Wait until everything queued is committed. Raises StoreError, once, for what could not be, and as long as the disk is full."""
        with self.database.lock:
            done = self._drain()
            failed, self._failed = self._failed, []
        if failed:
            raise StoreError(f"{len(failed)} queued writes were lost; the first: {failed[0]}") from failed[0]
        if not done:
            raise StoreError(self.problem)

    @property
    def unwritten_s(self) -> float:
        oldest = next(iter(self._pending.copy()), None)
        return 0.0 if oldest is None else monotonic() - oldest.at_s

    def try_again(self) -> None:
        if self._pending:
            with suppress(StoreError):  # it is closed
                self._background.soon()

    def wait_for(self, id_: str | None) -> None:
        """Wait until a queued event with this id is committed. Raises as `flush`."""
        queued = id_ is not None and any(id_ in unit.ids for unit in self._pending.copy())
        if queued or self._failed:
            self.flush()

    def audit(self, take: Take = lambda _line: None) -> Audit:
        """Verify the log's chain of hashes; `take` is given every record as JSON. Raises as `flush`."""
        self.flush()
        return self._chain.audit(take)

    def remove_traces(self, before: datetime, now: datetime) -> int:
        return self._chain.remove_traces(before, now)

    def outcomes(self, catalog: str) -> Iterator[OutcomeEvent]:
        """Every outcome of a catalog in order of commit, queued ones included. Statistics are folded from them."""
        self._drain()
        return self.log.read(OutcomeEvent, "catalog = ?", [catalog])

    def close(self) -> None:
        """Write the queue and end the background thread. Raises as `flush`; a second call does nothing."""
        self._background.close()
        self.flush()

    def _drain(self) -> bool:
        """Write what has gathered in one transaction; where that fails, call by call, so that one loses no other. Returns whether
        nothing of it waits for room on the disk."""
        with self.database.lock:
            units = self._pending.copy()
            written, settled = list(units), len(units)
            try:
                self.log.commit([entry for unit in units for entry in unit.entries()])
                self.problem = "" if units else self.problem
            except Exception:  # noqa: BLE001 - each is tried again, and flush() raises what fails then
                written, settled = self._one_by_one(units)
            self.journal.done(unit.journaled for unit in written if unit.journaled is not None)
            for _ in range(settled):  # only now: `wait_for` finds them here until they are on the disk
                self._pending.popleft()
            return settled == len(units)

    def _queue(self, unit: _Queued) -> None:
        self._pending.append(unit)
        try:
            self._background.soon()
        except StoreError:
            with self.database.lock, suppress(ValueError):
                self._pending.remove(unit)
            raise

    def _one_by_one(self, units: Collection[_Queued]) -> tuple[list[_Queued], int]:
        """Returns those that were written, and the number of all before the first that waits for room on the disk."""
        written = list[_Queued]()
        for number, unit in enumerate(units):
            try:
                self.log.commit(unit.entries())
                written.append(unit)
            except Exception as error:  # noqa: BLE001 - raised by flush()
                waits = isinstance(error, NoRoomError) and len(units) - number <= MOST_WAITING
                if not waits:
                    self._failed.append(error)
                    _log.error("%s were not stored: %s", " and ".join(unit.ids) or "Changed parameters", error)
                elif self.problem != str(error):
                    _log.error("Decisions and calls wait until they can be stored: %s", error)
                self.problem = str(error)
                if waits:
                    return written, number
        return written, len(units)


@dataclass(eq=False)
class Governance:
    """Changes are append-only and sealed; a call's spending is one row, which is settled in place."""

    database: Database
    log: Log
    journal: Journal

    def __post_init__(self) -> None:
        self._spending = TypedTable(self.database, Spent, "spending")
        self._pending: deque[tuple[int, Spent]] = deque()
        self._background = BackgroundWriter(
            self.flush, gather_s=GATHERED_S, name="wayfare-spending", where=self.database.where
        )

    def append(self, *changes: Governing) -> None:
        """Commit changes together. Raises StoreError, and keeps none of them, where one cannot be stored."""
        self.log.append(*changes)

    def clients(self) -> tuple[ClientChange, ...]:
        return tuple(self.log.read(ClientChange, "true", []))

    def policies(self) -> tuple[PolicyChange, ...]:
        return tuple(self.log.read(PolicyChange, "true", []))

    def definitions(self) -> tuple[DefinitionChange, ...]:
        return tuple(self.log.read(DefinitionChange, "true", []))

    def approvals(self) -> tuple[ApprovalChange, ...]:
        return tuple(self.log.read(ApprovalChange, "true", []))

    def keep(self, spent: Spent) -> None:
        """Keep a reservation, or the amount that a call used in its place. Once this returns, a kill does not lose it. Does not wait
        for the database, unless the store has no journal. Raises StoreError."""
        if self.journal.path is None and self.database.path is not None:
            self._spending.put(spent)
            return
        self._pending.append((self.journal.add((Spent, checked(spent))), spent))
        self._background.soon()

    def take_over(self, left: Sequence[Sequence[Kept]]) -> None:
        """Write the spending that a killed process left in the journal, where the database does not have it settled already.
        Raises StoreError, and keeps none of it."""
        spent = {record.id: record for unit in left for record in unit if isinstance(record, Spent)}
        settled = "SELECT id FROM spending WHERE settled AND list_contains(?::VARCHAR[], id)"
        for id_ in self.database.read(settled, [list(spent)])["id"].to_pylist():
            del spent[id_]
        self._spending.put_distinct(spent.values())

    def close(self) -> None:
        self._background.close()
        self.flush()

    def flush(self) -> None:
        with self.database.lock:
            pending = [self._pending.popleft() for _ in range(len(self._pending))]
            try:
                self._spending.put_distinct(
                    {spent.id: spent for _, spent in pending}.values()
                )  # the newest record of each call
            except StoreError:
                _log.exception("%d records of spending are in the journal alone and are written again", len(pending))
                self._pending.extendleft(reversed(pending))
            else:
                self.journal.done(number for number, _ in pending)

    def settle_left_over(self) -> int:
        """Settle the calls of a killed process at their reserved amounts, because their outcome is unknown."""
        left = self._spending.count(condition="NOT settled")
        if left:
            with self.database.transaction() as connection:
                connection.execute("UPDATE spending SET settled = true WHERE NOT settled")
        return left

    def spending(self, day: str) -> tuple[Spent, ...]:
        """The settled spending of a day, oldest first."""
        self.flush()
        rows = self._spending.select('day = ? AND settled ORDER BY "at"', [day])
        return tuple(replace(row, at=row.at.astimezone(UTC)) for row in rows)
