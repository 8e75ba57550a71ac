"""Numbered SQL migrations: each is applied once, and recorded with the checksum of its text."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from duckdb import DuckDBPyConnection

from core.domain.errors import StoreError

FOLDER = Path(__file__).parent / "migrations"

CREATE_TABLE = """
CREATE TABLE schema_migrations (
    number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, checksum VARCHAR NOT NULL, applied_at TIMESTAMPTZ NOT NULL
)
"""


def packed(text: str) -> bytes:
    """A compressed text: a seventh of a trace, in half a millisecond.

    >>> unpacked(packed("Ångström"))
    'Ångström'
    """
    return zlib.compress(text.encode(), 1)


def unpacked(data: bytes) -> str:
    return zlib.decompress(data).decode()


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. A step that was published never changes; a change is a new step."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the text; line ends do not matter."""
        return hashlib.sha256("\n".join(self.sql.splitlines()).encode()).hexdigest()


@cache
def all_migrations() -> tuple[Migration, ...]:
    """The migrations of this version, in order."""
    files = sorted(FOLDER.glob("[0-9][0-9][0-9]_*.sql"))
    return tuple(Migration(int(f.name[:3]), f.name, f.read_text(encoding="utf-8")) for f in files)


def migrate(connection: DuckDBPyConnection, where: str, migrations: Sequence[Migration]) -> None:
    """Bring a store to the newest schema.

    Raises StoreError where the file is another program's, newer than `migrations`, or was made by altered ones;
    such a file is left as it is. Raises duckdb.Error where a step cannot be applied: the steps before it stay. A new store gets all
    steps in one transaction, or none: half the time.
    """
    applied = _applied(connection, where)
    known = {migration.number: migration for migration in migrations}
    for number, (name, checksum) in applied.items():
        if number not in known:
            raise StoreError(
                f"The store {where} was written by a newer version of Wayfare (schema {name}); update Wayfare, or name "
                "another file with --db."
            )
        if known[number].checksum != checksum:
            raise StoreError(
                f"The store {where} was made by a different {name} than this version has; install the version that "
                "made it, or name another file with --db."
            )
    missing = [migration for migration in migrations if migration.number not in applied]
    if missing:
        connection.create_function("packed", packed, ["VARCHAR"], "BLOB")  # type: ignore[list-item]
    for steps in [[step] for step in missing] if applied else [missing]:
        _apply(connection, steps)
    if missing:
        connection.remove_function("packed")


def _applied(connection: DuckDBPyConnection, where: str) -> dict[int, tuple[str, str]]:
    """The steps that the file has had: number to name and checksum. Creates their table in an empty file."""
    tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if "schema_migrations" in tables:
        rows = connection.execute("SELECT number, name, checksum FROM schema_migrations ORDER BY number").fetchall()
        return {number: (name, checksum) for number, name, checksum in rows}
    if tables:
        raise StoreError(f"{where} is a database of another program; name another file with --db.")
    connection.execute(CREATE_TABLE)
    return {}


def _apply(connection: DuckDBPyConnection, migrations: Sequence[Migration]) -> None:
    connection.begin()
    try:
        for migration in migrations:
            connection.execute(migration.sql)
            connection.execute(
                "INSERT INTO schema_migrations VALUES (?, ?, ?, now())",
                [migration.number, migration.name, migration.checksum],
            )
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
