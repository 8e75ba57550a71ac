"""Clients, policies, definitions and approvals in the sealed log, and the spending of a day beside it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC

from core.domain.errors import StoreError
from core.domain.events import ApprovalChange, ClientChange, DefinitionChange, PolicyChange, Spent
from core.store.connection import Database
from core.store.events import BackgroundWriter
from core.store.journal import Journal, Kept
from core.store.log import Governing, Log, checked
from core.store.tables import TypedTable

GATHERED_S = 0.2

_log = logging.getLogger(__name__)


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
        """Write pending spending. A second call does nothing."""
        self._background.close()
        self.flush()

    def flush(self) -> None:
        """Write pending spending now."""
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
