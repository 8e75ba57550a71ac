"""Catalogs as rows: stores of before, edits of columns, schemas that stay closed."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Connection, Server, Tool, ToolHints
from core.domain.tool_table import ToolRows, packed
from core.store import Store
from core.store.catalogs import ROWS_AT_ONCE
from core.store.connection import Database
from core.store.migrations import all_migrations

FULL = Tool(
    "files",
    "read",
    "Reads.\x00\ud800 \ufffe",
    "Read",
    {"type": "object", "properties": {"path": {}}},
    {},
    ToolHints(read_only=True, open_world=False),
    0.0,
    1.5,
    0.5,
    "high",
    "because",
    ("has path",),
    ("show it",),
    ("read it",),
    original="Reads it.",
)
REACHED = Connection("stdio", "python", ("-m", "x"), env={"KEY": "${secret:KEY}"}, shown=("KEY",), without=("write",))
FILES = Server("files", "Files.", tools=(FULL, Tool("files", "list")), ask_usd=0.1, connection=REACHED, original="F.")
MAIL = Server("mail", tools=(Tool("mail", "send", input_schema={"a": 1}), Tool("mail", "drop"), Tool("mail", "find")))
OFF = Server("off", tools=(Tool("off", "never", output_schema={"b": [None, True]}),), virtual=True)
WORLD = Catalog("world", (FILES, Server("empty"), MAIL), (OFF,))
AT = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def shared() -> Iterator[Store]:
    with Store() as store:
        yield store


def document(value: Any) -> Any:
    """The JSON of a catalog as earlier versions wrote it."""
    if is_dataclass(value):
        names = [field.name for field in fields(value) if field.name != "odd"]  # which came later
        return {name: document(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return dict(value)
    return list(map(document, value)) if isinstance(value, tuple) else value


def old_store(path: Path, *documents: dict[str, Any]) -> None:
    """A store as it was when a catalog was one document."""
    old = Database(path, [step for step in all_migrations() if step.number < 18])
    with old.transaction() as connection:
        for data in documents:
            row = [data["name"], "mcp.json", len(data["servers"]), 5, AT, json.dumps(data)]
            connection.execute("INSERT INTO catalogs VALUES (?, ?, ?, ?, ?, ?)", row)
    old.close()


def test_a_store_of_documents_loses_nothing(tmp_path: Path) -> None:
    other = Catalog("other", (MAIL,))
    old_store(tmp_path / "db", document(WORLD), document(other))
    for _ in range(2):
        with Store(tmp_path / "db") as store:
            assert store.catalogs.load_catalog("world") == WORLD
            assert store.catalogs.load_catalog("other") == other
            rows = [(row.name, row.source, row.tools, row.imported_at) for row in store.catalogs.list_catalogs()]
        assert rows == [("other", "mcp.json", 3, AT), ("world", "mcp.json", 5, AT)]
    with duckdb.connect(str(tmp_path / "db")) as raw:
        assert raw.execute("SELECT DISTINCT document FROM catalogs").fetchall() == [("",)]
        assert raw.execute("SELECT count(*) FROM tools").fetchone() == (9,)


def test_a_document_that_would_be_refused_today_is_still_read(tmp_path: Path) -> None:
    leaky = Catalog("world", (replace(FILES, connection=Connection("http", headers={"Authorization": "sk-live-123"})),))
    old_store(tmp_path / "db", document(leaky))
    with Store(tmp_path / "db") as store:
        assert store.catalogs.load_catalog("world") == leaky


def test_a_column_of_texts_is_readable_as_sql(store: Store) -> None:
    store.catalogs.save_catalog(WORLD, "")
    rows = store.tables()["tools"].to_pylist()
    assert [(row["server"], row["name"], row["price_usd"], row["read_only"]) for row in rows][:2] == [
        ("files", "read", 0.0, True),
        ("files", "list", None, None),
    ]


def test_schemas_stay_closed_until_one_is_asked_for(store: Store) -> None:
    store.catalogs.save_catalog(WORLD, "")
    loaded = store.catalogs.load_catalog("world")
    assert isinstance(loaded.tools, ToolRows)
    cache_info = loaded.tools.table._opened.cache_info
    assert [tool.id for tool in loaded.tools] == [
        "files::read",
        "files::list",
        "mail::send",
        "mail::drop",
        "mail::find",
    ]
    assert next((tool.hints, tool.requests, tool.price_usd) for tool in loaded.tools) == (FULL.hints, ("show it",), 0.0)
    assert cache_info().misses == 0
    assert loaded.find("mail", "send")[1].input_schema == {"a": 1}
    assert loaded.find("mail", "drop")[1].input_schema is None
    assert cache_info().misses == 1


def test_columns_go_to_another_process(store: Store) -> None:
    store.catalogs.save_catalog(WORLD, "")
    loaded = store.catalogs.load_catalog("world")
    copied = pickle.loads(pickle.dumps(loaded.tools))
    assert copied == WORLD.tools
    assert pickle.loads(pickle.dumps(loaded.tools[0])) == FULL
    rows = pickle.loads(pickle.dumps(loaded.tools.table.part(2, 5)))
    assert len(rows.texts["name"].data) == len("senddropfind")


def test_more_rows_than_are_written_together(store: Store) -> None:
    tools = tuple(Tool("many", f"t{n}", price_usd=float(n)) for n in range(ROWS_AT_ONCE + 3))
    large = Catalog("large", (Server("many", tools=tools), MAIL))
    store.catalogs.save_catalog(large, "")
    store.catalogs.save_catalog(WORLD, "")
    loaded = store.catalogs.load_catalog("large")
    assert [tool.name for tool in loaded.tools] == [tool.name for tool in large.tools]
    assert loaded.tools[ROWS_AT_ONCE + 1].price_usd == ROWS_AT_ONCE + 1
    assert loaded.servers[1] == MAIL
    assert store.catalogs.load_catalog("world") == WORLD  # two side by side


def rearranged(catalog: Catalog, kind: str, to: int, fresh: Server) -> Catalog:
    """The catalog with a server added, moved to the end, or switched off or on."""
    active, inactive = list(catalog.servers), list(catalog.off)
    if kind == "added":
        active.insert(to, fresh)
    elif kind == "off" and len(active) > 1:
        inactive.append(active.pop(to))
    elif kind == "on" and inactive:
        active.insert(to, inactive.pop())
    elif kind == "moved":
        active.append(active.pop(to))
    return replace(catalog, servers=tuple(active), off=tuple(inactive))


@settings(max_examples=8)
@given(data=st.data())
def test_any_edit_of_columns_is_the_edit_of_objects(shared: Store, data: st.DataObject) -> None:
    columns, objects = shared.catalogs.save_catalog(WORLD, ""), WORLD
    for number in range(4):
        target, source = (data.draw(st.integers(0, len(objects.servers) - 1)) for _ in range(2))
        cut = slice(
            *(data.draw(st.none() | st.integers(-3, 3)) for _ in range(2)), data.draw(st.sampled_from([None, 1, 2, -1]))
        )
        kind = data.draw(st.sampled_from(["slice", "both", "reworded", "added", "off", "on", "moved"]))
        fresh = Server(f"new{number}", tools=MAIL.tools[: source % 3])

        def edited(
            catalog: Catalog,
            target: int = target,
            source: int = source,
            cut: slice = cut,
            kind: str = kind,
            fresh: Server = fresh,
        ) -> Catalog:
            if kind in {"added", "off", "on", "moved"}:
                return rearranged(catalog, kind, target, fresh)
            tools = catalog.servers[source].tools[cut]
            if kind == "both":
                tools = (*catalog.servers[target].tools, *tools)
            if kind == "reworded":
                tools = tuple(replace(tool, description="Else.", original=tool.description) for tool in tools)
            servers = list(catalog.servers)
            servers[target] = replace(servers[target], tools=tools)
            return replace(catalog, servers=tuple(servers))

        columns, objects = shared.catalogs.save_catalog(edited(columns), ""), edited(objects)
        assert shared.catalogs.load_catalog("world") == columns == objects
        for table in ("servers", "tools", "schema_blocks"):
            rows = shared._database.read(f"SELECT number FROM {table} WHERE catalog = 'world' ORDER BY number")
            assert rows["number"].to_pylist() == list(range(len(rows)))
        columns = data.draw(st.sampled_from([columns, packed(objects)]))
        assert list(columns.tools) == list(objects.tools)
        assert columns.tool_row == objects.tool_row


def test_what_files_said_is_apart_from_the_catalog(store: Store) -> None:
    store.catalogs.save_taken(WORLD)
    assert store.catalogs.list_catalogs() == ()
    assert store.catalogs.load_catalog("world") is None
    store.catalogs.save_catalog(Catalog("world", (MAIL,)), "")
    assert store.catalogs.load_taken("world").servers == WORLD.servers
    store.catalogs.remove_catalog("world")
    store.catalogs.remove_taken("world")
    assert all(not len(store.tables()[name]) for name in ("servers", "tools", "schema_blocks"))
