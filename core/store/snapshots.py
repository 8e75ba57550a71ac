"""Snapshots of the console's state by name."""

from __future__ import annotations

from core.domain.snapshot import Snapshot
from core.shared.errors import UnknownNameError
from core.store.connection import Database


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
