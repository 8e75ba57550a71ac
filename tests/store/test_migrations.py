"""Migrations: fresh, upgraded, altered, newer, broken."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from core.domain.errors import StoreError
from core.store import Store
from core.store.connection import Database
from core.store.log import TABLES, entry, schema
from core.store.migrations import Migration, all_migrations

pytestmark = pytest.mark.usefixtures("real_migrations")


def recorded(path: Path) -> list[tuple[int, str]]:
    with duckdb.connect(str(path)) as raw:
        return raw.execute("SELECT number, checksum FROM schema_migrations ORDER BY number").fetchall()


def tables(path: Path) -> set[str]:
    with duckdb.connect(str(path)) as raw:
        return {name for (name,) in raw.execute("SELECT table_name FROM duckdb_tables()").fetchall()}


def test_numbers_have_no_gap() -> None:
    assert [migration.number for migration in all_migrations()] == list(range(1, len(all_migrations()) + 1))


def test_fresh_and_again(tmp_path: Path) -> None:
    path = tmp_path / "db"
    Store(path).close()
    first = recorded(path)
    Store(path).close()
    assert recorded(path) == first == [(migration.number, migration.checksum) for migration in all_migrations()]


def test_upgrade_from_001_keeps_the_events(tmp_path: Path, make: SimpleNamespace) -> None:
    path = tmp_path / "db"
    old = Database(path, all_migrations()[:1])
    with old.transaction() as connection:
        values = [1, *entry(make.outcome(id="kept")).values[:-2]]  # what 004 and 008 add was not there
        connection.execute(f"INSERT INTO outcomes VALUES ({', '.join('?' * len(values))})", values)
    old.close()
    with Store(path) as store:
        assert [(event.id, event.injected) for event in store.events.outcomes("demo")] == [("kept", "")]
        store.set_setting("a", 1)
    assert len(recorded(path)) == len(all_migrations())


def test_an_altered_migration_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "db"
    Database(path, [Migration(1, "001_first.sql", "CREATE TABLE a (x INTEGER)")]).close()
    with pytest.raises(StoreError, match=r"made by a different 001_first\.sql .*--db"):
        Database(path, [Migration(1, "001_first.sql", "CREATE TABLE a (x BIGINT)")])
    Database(path, [Migration(1, "001_first.sql", "CREATE TABLE a (x INTEGER)\r\n")]).close()


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "db"
    Database(path, [*all_migrations(), Migration(999, "999_future.sql", "CREATE TABLE future (x INTEGER)")]).close()
    before = recorded(path)
    with pytest.raises(StoreError, match=r"newer version of Wayfare \(schema 999_future.sql\); update .*--db"):
        Store(path)
    assert recorded(path) == before


def test_a_broken_migration_leaves_nothing_of_itself(tmp_path: Path) -> None:
    path, first = tmp_path / "db", all_migrations()[0]
    good = Migration(2, "002_good.sql", "CREATE TABLE good (x INTEGER)")
    broken = Migration(3, "003_broken.sql", "CREATE TABLE half (x INTEGER); CREATE TABLE half (x INTEGER);")
    with pytest.raises(StoreError, match="cannot be opened"):
        Database(path, [first, good, broken])
    assert tables(path) == {"schema_migrations"}  # a new store has all steps, or none
    Database(path, [first]).close()
    with pytest.raises(StoreError, match="cannot be opened"):
        Database(path, [first, good, broken])
    assert {"outcomes", "good"} <= tables(path)
    assert "half" not in tables(path)
    assert [number for number, _ in recorded(path)] == [1, 2]
    with pytest.raises(StoreError, match='"cause" was not found'):  # the rollback fails, as after a failed commit
        Database(path, [first, good, Migration(3, "003_ended.sql", "ROLLBACK; SELECT cause")])


def test_tables_are_what_the_dataclasses_say() -> None:
    database = Database()
    types = {"str": "VARCHAR", "float": "DOUBLE", "int": "BIGINT", "bool": "BOOLEAN", "datetime": "TIMESTAMP WITH TIME ZONE"}  # fmt: skip
    sql = "SELECT column_name, data_type, is_nullable FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index"
    for kind, table in TABLES.items():
        columns = database.read(sql, [table]).to_pylist()
        assert [column["column_name"] for column in columns] == schema(kind).names
        for column, field in zip(columns[1:], dataclasses.fields(kind), strict=True):
            base, _, optional = str(field.type).partition(" | ")
            assert (column["data_type"], column["is_nullable"]) == (types[base], bool(optional)), column
    database.close()
