"""`TypedTable`: the rows of a table as dataclasses. Each field is the column of the same name."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from duckdb import DuckDBPyConnection

from core.store.connection import Database

R = TypeVar("R")


@dataclass(frozen=True)
class TypedTable(Generic[R]):
    """Rows are put in place of those of the same key. Conditions are SQL with a `?` for each value."""

    database: Database
    kind: type[R]
    name: str

    @property
    def columns(self) -> str:
        """The columns as SQL."""
        return ", ".join(f'"{field.name}"' for field in fields(self.kind))  # type: ignore[arg-type]

    def select(self, condition: str = "true", values: Sequence[object] = ()) -> tuple[R, ...]:
        """The rows that meet a condition, which may end with an order and a limit."""
        found = self.database.read(f"SELECT {self.columns} FROM {self.name} WHERE {condition}", values)  # noqa: S608
        return tuple(self.kind(**row) for row in found.to_pylist())

    def first(self, condition: str = "true", values: Sequence[object] = ()) -> R | None:
        """The first of these rows. Returns None without one."""
        return next(iter(self.select(condition, values)), None)

    def count(self, what: str = "*", condition: str = "true") -> int:
        """The number of rows that meet a condition, or of values of a column."""
        return self.database.read(f"SELECT count({what}) FROM {self.name} WHERE {condition}")[0][0].as_py()  # noqa: S608

    def put(self, *rows: R) -> None:
        """Write rows, all or none. Raises StoreError."""
        with self.database.transaction() as connection:
            self.write(connection, rows)

    def remove(self, condition: str, values: Sequence[object]) -> int:
        """Delete rows. Returns their number."""
        with self.database.transaction() as connection:
            return self.delete(connection, condition, values)

    def write(self, connection: DuckDBPyConnection, rows: Collection[R], *, replace: bool = True) -> None:
        """`put` within a transaction. Without `replace`, rows whose key is there already are left out."""
        names = [field.name for field in fields(self.kind)]  # type: ignore[arg-type]
        values: list[Any] = [[getattr(row, name) for name in names] for row in rows]
        if values:
            table, marks, verb = self.name, ", ".join("?" * len(names)), "REPLACE" if replace else "IGNORE"
            connection.executemany(f"INSERT OR {verb} INTO {table} ({self.columns}) VALUES ({marks})", values)  # noqa: S608

    def delete(self, connection: DuckDBPyConnection, condition: str, values: Sequence[object]) -> int:
        """`remove` within a transaction."""
        table = self.name
        deleted = connection.execute(f"DELETE FROM {table} WHERE {condition} RETURNING 1", values)  # noqa: S608
        return len(deleted.fetchall())
