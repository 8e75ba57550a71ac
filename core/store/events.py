"""Events and the spending of calls: written at once or in the background, events read back in order of commit."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from time import monotonic

from core.domain.errors import StoreBusyError, StoreError
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
    """Calls `write` in its own thread, `gather_s` seconds after the first call of `soon` that it serves.

    A transaction for each event would cost more than its call, and would take the processor from the answer that is being
    sent. `where` names the store in errors. Thread-safe."""

    def __init__(self, write: Callable[[], object], *, gather_s: float, name: str, where: str) -> None:
        self._write = write
        self._gather_s = gather_s
        self._where = where
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._lock = Lock()
        self._is_waiting, self._closing = False, threading.Event()

    def soon(self) -> None:
        """Schedules a write of everything that was queued before. Raises StoreError once it is closed."""
        with self._lock:
            if self._closing.is_set():
                raise StoreError(f"The store {self._where} is closed; open it again.")
            if not self._is_waiting:
                self._is_waiting = True
                self._thread.submit(self._gathered)

    def close(self) -> None:
        """Writes everything that waits at once, and ends the thread. A second call does nothing."""
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
"""The most writes that wait for room on the disk, or for another process. The oldest beyond that are lost and logged."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, slots=True)
class _Queued:
    """The events of a call: the ids that others may wait for, the entries, and the number in the journal, or 0."""

    ids: tuple[str, ...]
    entries: Callable[[], Sequence[Entry]]
    journaled: int = 0
    at_s: float = field(default_factory=monotonic)


@dataclass(eq=False)
class Events:
    """Append-only: a written event never changes.

    `append` returns when its events are on the disk. `append_later` returns at once (decisions while a slider is dragged,
    calls of agents). `make_later` returns even before its events are made (decisions for agents, because their JSON takes
    time). A background thread writes the events of each 0.2 s. The order of the calls is the order of commit. Outcomes are in
    the journal before `append_later` returns, or in the database if there is no journal. A killed process loses other queued
    events, and no call, unless the disk was full when the call ended.
    """

    database: Database
    log: Log
    journal: Journal

    def __post_init__(self) -> None:
        self._pending: deque[_Queued] = deque()
        self._failed: list[Exception] = []
        self.problem = ""
        """The reason why the newest events could not be stored, or ""."""
        self.log.write_queued = self._drain
        self._chain = Chain(self.database, self.log)
        self._background = BackgroundWriter(
            self._drain, gather_s=GATHERED_S, name="wayfare-store", where=self.database.where
        )

    def append(self, *events: Event) -> None:
        """Writes all events in one transaction, after all queued events.

        Raises StoreError, and keeps none of them, if an event cannot be stored.
        """
        self.log.append(*events)

    def append_later(self, *events: Event) -> None:
        """Queues events. The events of one call are committed together. `flush` raises errors of the disk.

        Raises StoreError at once for an event that cannot be stored.
        """
        has_outcome = any(isinstance(event, OutcomeEvent) for event in events)
        if has_outcome and self.journal.path is None and self.database.path is not None:
            self.append(*events)
            return
        entries = tuple(map(entry, events))
        ids = tuple(event.id for event in events if isinstance(event, DecisionEvent | OutcomeEvent))
        self._queue(_Queued(ids, lambda: entries, self.journal.add_if_room(*entries) if has_outcome else 0))

    def take_over(self, left: Sequence[Sequence[Kept]]) -> None:
        """Commits the outcomes that a killed process left in the journal, with their statistics, unless the log has them
        already. Raises StoreError, and keeps none of them."""
        outcomes = ([record.id for record in unit if isinstance(record, OutcomeEvent)] for unit in left)
        units = {ids[0]: unit for ids, unit in zip(outcomes, left, strict=True) if ids}
        stored = self.database.read("SELECT id FROM outcomes WHERE list_contains(?::VARCHAR[], id)", [list(units)])
        for id_ in stored["id"].to_pylist():
            del units[id_]
        self.log.commit([entry(record) for unit in units.values() for record in unit if not isinstance(record, Spent)])

    def make_later(self, id_: str, events: Callable[[], Sequence[Event]]) -> None:
        """Queues events that are made when they are written. Others may wait for `id_`. `flush` raises their errors."""
        self._queue(_Queued((id_,), lambda: tuple(map(entry, events()))))

    def flush(self) -> None:
        """Waits until all queued events are committed. Raises StoreError once for lost writes, and as long as they have to wait."""
        with self.database.lock:
            done = self._drain()
            errors, self._failed = self._failed, []
        if errors:
            raise StoreError(f"{len(errors)} queued writes were lost; the first: {errors[0]}") from errors[0]
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
        """Waits until a queued event with this id is committed. Raises as `flush`."""
        is_queued = id_ is not None and any(id_ in unit.ids for unit in self._pending.copy())
        if is_queued or self._failed:
            self.flush()

    def audit(self, take: Take = lambda _line: None) -> Audit:
        """Verifies the log's chain of hashes. `take` gets every record as JSON. Raises as `flush`."""
        self.flush()
        return self._chain.audit(take)

    def remove_traces(self, before: datetime, now: datetime) -> int:
        return self._chain.remove_traces(before, now)

    def outcomes(self, catalog: str) -> Iterator[OutcomeEvent]:
        """Every outcome of a catalog in order of commit, with the queued outcomes. Statistics are folded from them."""
        self._drain()
        return self.log.read(OutcomeEvent, "catalog = ?", [catalog])

    def close(self) -> None:
        """Writes the queue and ends the background thread. Raises as `flush`. A second call does nothing."""
        self._background.close()
        self.flush()

    def _drain(self) -> bool:
        """Writes the queue in one transaction. If that fails, writes call by call, so that a bad call loses no other. Returns
        whether no call has to wait."""
        with self.database.lock:
            units = self._pending.copy()
            written_units, count = list(units), len(units)
            try:
                self.log.commit([entry for unit in units for entry in unit.entries()])
                self.problem = "" if units else self.problem
            except Exception:  # noqa: BLE001 - each is tried again, and flush() raises what fails then
                written_units, count = self._one_by_one(units)
            self.journal.done(unit.journaled for unit in written_units)
            for _ in range(count):  # only now, because `wait_for` looks for units here until they are on the disk
                self._pending.popleft()
            return count == len(units)

    def _queue(self, unit: _Queued) -> None:
        self._pending.append(unit)
        try:
            self._background.soon()
        except StoreError:
            with self.database.lock, suppress(ValueError):
                self._pending.remove(unit)
            raise

    def _one_by_one(self, units: Collection[_Queued]) -> tuple[list[_Queued], int]:
        """Returns the written units, and the number of units before the first that has to wait."""
        written_units = list[_Queued]()
        for number, unit in enumerate(units):
            try:
                self.log.commit(unit.entries())
                written_units.append(unit)
            except Exception as error:  # noqa: BLE001 - raised by flush()
                waits = isinstance(error, NoRoomError | StoreBusyError) and len(units) - number <= MOST_WAITING
                if not waits:
                    self._failed.append(error)
                    _log.error("%s were not stored: %s", " and ".join(unit.ids) or "Changed parameters", error)
                elif self.problem != str(error):
                    _log.error("Decisions and calls wait until they can be stored: %s", error)
                self.problem = str(error)
                if waits:
                    return written_units, number
        return written_units, len(units)


SPENDING = """
SELECT CASE WHEN list_contains($2::VARCHAR[], id) THEN id ELSE '' END AS id, min("at") AS "at", day, client, catalog, server,
    '' AS tool, sum(usd) AS usd, sum(calls)::BIGINT AS calls, sum(tokens)::BIGINT AS tokens, "over", true AS settled
FROM spending WHERE day = $1 GROUP BY ALL ORDER BY min("at")
"""


@dataclass(eq=False)
class Governance:
    """Changes are append-only and sealed. A call's spending is one row that is settled in place."""

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
        """Commits changes together. Raises StoreError, and keeps none of them, if a change cannot be stored."""
        self.log.append(*changes)

    def clients(self) -> tuple[ClientChange, ...]:
        return tuple(self.log.read(ClientChange, "true", []))

    def policies(self) -> tuple[PolicyChange, ...]:
        return tuple(self.log.read(PolicyChange, "true", []))

    def definitions(self) -> tuple[DefinitionChange, ...]:
        return tuple(self.log.read(DefinitionChange, "true", []))

    def approvals(self) -> tuple[ApprovalChange, ...]:
        return tuple(self.log.read(ApprovalChange, "true", []))

    def keep(self, spent: Spent, *, has_run: bool = False) -> None:
        """Stores a reservation, or in its place the amount that a call used. After this a killed process does not lose it. Does not
        wait for the database, unless the store has no journal. Raises StoreError, but not for a full disk if the call `has_run`."""
        if self.journal.path is None and self.database.path is not None:
            self._spending.put(spent)
            return
        add = self.journal.add_if_room if has_run else self.journal.add
        self._pending.append((add((Spent, checked(spent))), spent))
        self._background.soon()

    def take_over(self, left: Sequence[Sequence[Kept]]) -> None:
        """Writes the spending that a killed process left in the journal, unless the database has it as settled already.
        Raises StoreError, and keeps none of it."""
        records = {record.id: record for unit in left for record in unit if isinstance(record, Spent)}
        query = "SELECT id FROM spending WHERE settled AND list_contains(?::VARCHAR[], id)"
        for id_ in self.database.read(query, [list(records)])["id"].to_pylist():
            del records[id_]
        self._spending.put_distinct(records.values())

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
                _log.exception("%d records of spending are not stored yet and are written again", len(pending))
                self._pending.extendleft(reversed(pending))
            else:
                self.journal.done(number for number, _ in pending)

    def settle_left_over(self) -> int:
        """Settles the calls of a killed process at their reserved amounts, because their outcome is unknown."""
        count = self._spending.count(condition="NOT settled")
        if count:
            with self.database.transaction() as connection:
                connection.execute("UPDATE spending SET settled = true WHERE NOT settled")
        return count

    def spending(self, day: str, apart: Collection[str] = ()) -> tuple[Spent, ...]:
        """The spending of a day, oldest first, summed for each client and server; of calls that are under way what is reserved. The
        calls with the ids `apart` are not in the sums."""
        with self.database.lock:
            self.flush()
            waiting = {row.id: row for _, row in self._pending.copy() if row.day == day}  # for room on the disk
            rows = self.database.read(SPENDING, [day, [*apart, *waiting]]).to_pylist()
        sums = (Spent(**row | {"at": row["at"].astimezone(UTC)}) for row in rows if row["id"] not in waiting)
        return (*sums, *waiting.values())
