"""Clients, policies, definitions and approvals in the sealed log, and the spending of a day beside it."""

from __future__ import annotations

import dataclasses
from datetime import UTC

from core.domain.governance_events import ApprovalChange, ClientChange, DefinitionChange, PolicyChange, Spent
from core.store.connection import Database
from core.store.log import Log, entry

Change = ClientChange | PolicyChange | DefinitionChange | ApprovalChange
SPENT = ", ".join(f'"{field.name}"' for field in dataclasses.fields(Spent))


class Governance:
    """Changes are append-only and sealed; a call's spending is one row, which is settled in place."""

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    def append(self, *changes: Change) -> None:
        """Commit changes together. Raises StoreError, and keeps none of them, where one cannot be stored."""
        self._log.write([entry(change) for change in changes])

    def clients(self) -> tuple[ClientChange, ...]:
        """Every change of a client, in order of commit."""
        return tuple(self._log.read(ClientChange, "true", []))

    def policies(self) -> tuple[PolicyChange, ...]:
        """Every policy that was set, in order of commit."""
        return tuple(self._log.read(PolicyChange, "true", []))

    def definitions(self) -> tuple[DefinitionChange, ...]:
        """Every change of a definition's state, in order of commit."""
        return tuple(self._log.read(DefinitionChange, "true", []))

    def approvals(self) -> tuple[ApprovalChange, ...]:
        """Every change of an approval, in order of commit."""
        return tuple(self._log.read(ApprovalChange, "true", []))

    def put(self, spent: Spent) -> None:
        """Keep a reservation, or what settles it. On the disk when this returns."""
        marks = ", ".join("?" * len(dataclasses.fields(Spent)))
        with self._database.transaction() as connection:
            connection.execute(f"INSERT OR REPLACE INTO spending VALUES ({marks})", dataclasses.astuple(spent))  # noqa: S608

    def forget(self, id_: str) -> None:
        """Remove the reservation of a call that was not made."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM spending WHERE id = ?", [id_])

    def settle_left_over(self) -> int:
        """Settle, at all that they reserved, the calls of a process that was killed: whether they were made is not known."""
        left = self._database.read("SELECT count(*) FROM spending WHERE NOT settled")[0][0].as_py()
        if left:
            with self._database.transaction() as connection:
                connection.execute("UPDATE spending SET settled = true WHERE NOT settled")
        return left

    def spending(self, day: str) -> tuple[Spent, ...]:
        """What was settled of a day, oldest first."""
        rows = self._database.read(
            f'SELECT {SPENT} FROM spending WHERE day = ? AND settled ORDER BY "at"',  # noqa: S608
            [day],
        )
        return tuple(Spent(**{**row, "at": row["at"].astimezone(UTC)}) for row in rows.to_pylist())
