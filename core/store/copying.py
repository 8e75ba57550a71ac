"""A store as plain tables, and a store in memory made of them: what another machine needs to decide as this one does."""

from __future__ import annotations

from collections.abc import Mapping

from core.store.arrow import Table
from core.store.connection import Database, insert_arrow

_NAMES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_oid"


def all_tables(database: Database) -> dict[str, Table]:
    """Every table by name, in the order in which they were made. Raises StoreError."""
    names = [str(row.as_py()) for row in database.read(_NAMES)[0]]
    return {name: database.read(f'SELECT * FROM "{name}"') for name in names}  # noqa: S608 - names of our own tables


def fill(database: Database, tables: Mapping[str, Table]) -> None:
    """Give a new database these rows in place of its own. Raises StoreError."""
    with database.transaction() as connection:
        for name in reversed(list(tables)):
            connection.execute(f'DELETE FROM "{name}"')  # noqa: S608
        for name, rows in tables.items():
            insert_arrow(connection, f'INSERT INTO "{name}" BY NAME SELECT * FROM incoming', rows)  # noqa: S608
