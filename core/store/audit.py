"""The verification of the log's chain of hashes, and the removal of traces, which keeps the chain valid.

Both read the log in order and hold a few records at a time.
"""

from __future__ import annotations

import hashlib
import heapq
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from operator import itemgetter
from threading import Lock
from typing import Any, cast

from core.domain.events import TraceRemoval
from core.store.connection import Database
from core.store.log import START, TABLES, Log, canonical, chained

Take = Callable[[str], object]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit: `records` under valid `seals`, the newest `hash`, the number of `older` records without a seal, the
    first `problem`, or "", and the last record `without_traces`, or 0."""

    records: int
    seals: int
    hash: str
    older: int
    problem: str = ""
    without_traces: int = 0


@dataclass(eq=False)
class Chain:
    """Verifies the log. Thread-safe. Traces are not removed during an audit."""

    database: Database
    log: Log

    def __post_init__(self) -> None:
        self._walking = Lock()

    def audit(self, take: Take = lambda _line: None) -> Audit:
        """Verifies the chain up to the newest record. `take` gets every line when it is read, before the seal of its write is
        verified. Others may write meanwhile."""
        with self._walking:
            newest = self.log.last
            begin, last, previous = self._begin(newest + 1), 0, START
            for removal in self.log.read(TraceRemoval, "sequence <= ?", [newest]):
                if self._without_traces(removal.first, removal.last, take) != removal.hash:
                    problem = f"One of the records {removal.first} to {removal.last} was changed since their traces were removed."
                    return Audit(max(last - begin + 1, 0), self._seals(last), previous, begin - 1, problem, last)
                last, previous = removal.last, self._hash(removal.last)
            walk = self._walk(max(begin, last + 1), newest, previous, take)
            records, seals = max(last - begin + 1, 0) + walk.records, self._seals(last) + walk.seals
            return replace(walk, records=records, seals=seals, older=begin - 1, without_traces=last)

    def remove_traces(self, before: datetime, now: datetime) -> int:
        """Removes the traces of all writes that are older than `before`. A sealed record has the hash of the writes without traces.
        Returns the number of traces. An invalid log keeps them as evidence. Raises StoreError."""
        with self._walking:
            oldest = self.database.read(
                'SELECT coalesce(min(sequence), ?) FROM traces WHERE "at" >= ?', [self.log.last + 1, before]
            )
            last = self._number("SELECT max(last) FROM seals WHERE last < ?", oldest[0][0].as_py())
            count = self._number("SELECT count(*) FROM traces WHERE sequence <= ?", last)
            if not count:
                return 0
            last_removed = max((removal.last for removal in self.log.read(TraceRemoval, "true", [])), default=0)
            first = max(last_removed + 1, self._begin(last + 1))
            walk = self._walk(first, last, self._hash(last_removed), lambda _line: None)
            if walk.problem:
                _log.warning("The log has been changed, its traces are kept: %s", walk.problem)
                return 0
            if first <= last:
                self.log.append(TraceRemoval(now, first, last, self._without_traces(first, last)))
            self._delete(last)
            return count

    def _delete(self, last: int) -> None:
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM traces WHERE sequence <= ?", [last])
            # the space of deleted rows is freed only with their whole group of 122,880 rows, or with the table
            if connection.execute("SELECT min(rowid) >= count(*) FROM traces").fetchall() == [(True,)]:
                connection.execute("CREATE TABLE kept AS SELECT * FROM traces")
                connection.execute("DROP TABLE traces; ALTER TABLE kept RENAME TO traces")

    def _walk(self, expected: int, newest: int, previous: str, take: Take) -> Audit:
        """Verifies the writes from the record `expected` on, which follow the hash `previous`."""
        first, seals = expected, 0
        records = self._records(expected, newest)
        for last, begin, seal in self._sealed(expected, newest):
            where = f"The write that ends with record {last}"
            if begin != expected:
                gap = f"{where}: the write before it, from record {expected} on, is missing."
                return Audit(expected - first, seals, previous, 0, gap)
            digest = hashlib.sha256(previous.encode())
            for number in range(begin, last + 1):
                if (record := next(records, None)) is None or record[0] != number:
                    return Audit(expected - first, seals, previous, 0, f"{where}: record {number} is missing.")
                line = _line(*record)
                digest.update(b"\n" + line.encode())
                take(line)
            if digest.hexdigest() != seal:
                problem = f"{where} is not what was sealed: one of the records {begin} to {last} was changed."
                return Audit(expected - first, seals, digest.hexdigest(), 0, problem)
            expected, seals, previous = last + 1, seals + 1, seal
        extra = next(records, None)
        return Audit(
            expected - first,
            seals,
            previous,
            0,
            "" if extra is None else f"Record {extra[0]} and what follows have no seal.",
        )

    def _without_traces(self, first: int, last: int, take: Take = lambda _line: None) -> str:
        def lines() -> Iterator[str]:
            for number, record in self._records(first, last, traces=False):
                line = _line(number, record)
                take(line)
                yield line
            yield from (seal for *_, seal in self._sealed(first, last))

        return chained(START, lines())

    def _records(self, first: int, last: int, *, traces: bool = True) -> Iterator[tuple[int, Any]]:
        kinds = (self.log.numbered(kind, "sequence BETWEEN ? AND ?", [first, last], traces=traces) for kind in TABLES)
        return heapq.merge(*kinds, key=itemgetter(0))

    def _sealed(self, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        """The seals of these records: last and first record, and hash."""
        for batch in self.database.in_order("seals", "last BETWEEN ? AND ?", [first, last], by="last"):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def _begin(self, default: int) -> int:
        return self._number("SELECT min(first) FROM seals") or default

    def _seals(self, last: int) -> int:
        return self._number("SELECT count(*) FROM seals WHERE last <= ?", last)

    def _hash(self, last: int) -> str:
        table = self.database.read("SELECT hash FROM seals WHERE last = ?", [last])
        return table[0][0].as_py() if table.num_rows else START

    def _number(self, sql: str, *parameters: object) -> int:
        return self.database.read(sql, parameters)[0][0].as_py() or 0


def _line(number: int, record: Any) -> str:
    kind = cast("type[Any]", type(record))
    return canonical(kind, number, [getattr(record, field.name) for field in fields(record)])
