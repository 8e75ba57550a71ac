"""Pairs of tools that somebody judged to be equal or not, by catalog."""

from __future__ import annotations

from collections.abc import Sequence

from core.domain.equal_sets import EqualJudgment
from core.store.connection import Database


class EqualJudgments:
    """One judgment a pair: a later one takes the place of the earlier one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def save(self, judged: Sequence[EqualJudgment]) -> None:
        """Keep judgments, all or none. Raises StoreError."""
        with self._database.transaction() as connection:
            for one in judged:
                values = [one.catalog, one.one, one.other, one.says, one.at]
                connection.execute("INSERT OR REPLACE INTO equal_judgments VALUES (?, ?, ?, ?, ?)", values)

    def remove(self, catalog: str, one: str, other: str) -> None:
        """Forget what was said of a pair."""
        with self._database.transaction() as connection:
            connection.execute(
                "DELETE FROM equal_judgments WHERE catalog = ? AND one = ? AND other = ?", [catalog, one, other]
            )

    def of_catalog(self, catalog: str) -> tuple[EqualJudgment, ...]:
        """Every judgment of a catalog, in the order in which they were made."""
        rows = self._database.read(
            'SELECT catalog, one, other, says, "at" FROM equal_judgments WHERE catalog = ? ORDER BY "at", one, other',
            [catalog],
        )
        return tuple(EqualJudgment(**row) for row in rows.to_pylist())
