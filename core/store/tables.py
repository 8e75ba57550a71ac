"""Tables of typed rows, a store as plain tables, and tables as files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from io import BytesIO
from itertools import chain
from typing import Any, BinaryIO, Generic, Literal, TypeVar

import duckdb

from core.domain.errors import StoreError
from core.store.connection import Database, Table, pa

R = TypeVar("R")


def insert_arrow(connection: duckdb.DuckDBPyConnection, statement: str, rows: Table) -> None:
    """Runs `INSERT ... SELECT ... FROM incoming` over an Arrow table, far faster than an INSERT for each row.

    Only within a transaction, because its rollback also removes the name `incoming` if the statement fails.
    """
    connection.register("incoming", rows)
    connection.execute(statement)
    connection.unregister("incoming")


@dataclass(frozen=True)
class TypedTable(Generic[R]):
    """Rows of a dataclass. Each field is the column of its name. A row replaces the row with its key. Conditions are SQL with a
    `?` for each value."""

    database: Database
    kind: type[R]
    name: str

    @property
    def names(self) -> list[str]:
        return [field.name for field in fields(self.kind)]  # type: ignore[arg-type]

    @property
    def columns(self) -> str:
        return ", ".join(f'"{name}"' for name in self.names)

    def select(self, condition: str = "true", values: Sequence[object] = ()) -> tuple[R, ...]:
        """The rows that meet a condition. It may end with an order and a limit."""
        table = self.database.read(f"SELECT {self.columns} FROM {self.name} WHERE {condition}", values)  # noqa: S608
        return tuple(self.kind(**row) for row in table.to_pylist())

    def first(self, condition: str = "true", values: Sequence[object] = ()) -> R | None:
        return next(iter(self.select(condition, values)), None)

    def count(self, what: str = "*", condition: str = "true") -> int:
        """The number of rows that meet a condition, or of their values of a column."""
        return self.database.read(f"SELECT count({what}) FROM {self.name} WHERE {condition}")[0][0].as_py()  # noqa: S608

    def put(self, *rows: R) -> None:
        with self.database.transaction() as connection:
            self.write(connection, rows)

    def put_distinct(self, rows: Collection[R]) -> None:
        """`put` for rows with different keys, in one statement. `put` takes 2 ms for each row."""
        if rows:
            table = self.name
            incoming = pa.table({name: [getattr(row, name) for row in rows] for name in self.names})
            with self.database.transaction() as connection:
                insert_arrow(connection, f"INSERT OR REPLACE INTO {table} BY NAME SELECT * FROM incoming", incoming)  # noqa: S608

    def remove(self, condition: str, values: Sequence[object]) -> int:
        with self.database.transaction() as connection:
            return self.delete(connection, condition, values)

    def write(self, connection: duckdb.DuckDBPyConnection, rows: Collection[R], *, replace: bool = True) -> None:
        """`put` within a transaction. Without `replace`, rows with a stored key are left out."""
        names = self.names
        if values := [[getattr(row, name) for name in names] for row in rows]:
            table, marks, verb = self.name, ", ".join("?" * len(names)), "REPLACE" if replace else "IGNORE"
            connection.executemany(f"INSERT OR {verb} INTO {table} ({self.columns}) VALUES ({marks})", values)  # noqa: S608

    def delete(self, connection: duckdb.DuckDBPyConnection, condition: str, values: Sequence[object]) -> int:
        table = self.name
        cursor = connection.execute(f"DELETE FROM {table} WHERE {condition} RETURNING 1", values)  # noqa: S608
        return len(cursor.fetchall())


# A store as plain tables, and a store in memory made of them, so that another machine decides as this machine.

_NAMES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_oid"


def all_tables(database: Database, only: Sequence[str] = ()) -> dict[str, Table]:
    """Every table by name, or `only` these, in order of creation. Raises StoreError."""
    names = [name for row in database.read(_NAMES)[0] if (name := str(row.as_py())) in only or not only]
    return {name: database.read(f'SELECT * FROM "{name}"') for name in names}  # noqa: S608 - names of our own tables


def fill(database: Database, tables: Mapping[str, Table]) -> None:
    """Replaces the rows of a new database. Raises StoreError."""
    with database.transaction() as connection:
        for name in reversed(list(tables)):
            connection.execute(f'DELETE FROM "{name}"')  # noqa: S608
        for name, rows in tables.items():
            insert_arrow(connection, f'INSERT INTO "{name}" BY NAME SELECT * FROM incoming', rows)  # noqa: S608
    database.openings += 1  # the log must read its newest record again


# Tables as files: Parquet for programs, CSV for spreadsheets.

Format = Literal["csv", "parquet"]
FORMULA = r"^([=+\-@\t\r\n])"


def encode(table: Table, format_: Format) -> bytes:
    r"""A table as the bytes of a CSV (UTF-8, header, missing values as empty fields) or Parquet file.

    Texts come from strangers, and a spreadsheet runs a cell that begins with = + - @, a tab or a line break as a
    formula. In CSV such a text gets a leading apostrophe. Numbers keep their sign. Parquet is exact.

    Raises StoreError for another format.

    >>> encode(pa.table({"text": ["=1+1", "plain", "", None], "value": [-1.5, None, 2.0, 0.0]}), "csv").decode()
    '"text","value"\n"\'=1+1",-1.5\n"plain",\n"",2\n,0\n'
    """
    buffer = BytesIO()
    write_parts(iter([table]), format_, buffer)
    return buffer.getvalue()


def write_parts(parts: Iterator[Table], format_: Format, file: BinaryIO) -> None:
    """Writes the parts of a table to a file. One part is in memory at a time."""
    writers = {"csv": ("pyarrow.csv", "CSVWriter"), "parquet": ("pyarrow.parquet", "ParquetWriter")}
    if format_ not in writers:
        raise StoreError(f"There is no export format {format_!r}; choose csv or parquet.")
    module, name = writers[format_]
    first = next(parts)
    with getattr(import_module(module), name)(file, first.schema) as writer:
        for part in chain([first], parts):
            writer.write_table(_disarmed(part) if format_ == "csv" else part)


def _disarmed(table: Table) -> Table:
    compute: Any = import_module("pyarrow.compute")
    columns = [
        compute.replace_substring_regex(column, pattern=FORMULA, replacement=r"'\1")
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
