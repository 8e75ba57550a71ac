"""Imported catalogs as rows of the store and back, without an object for each tool, and prices that an operator set by hand."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, cast

import duckdb
import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Connection, Json, Server, Tool, ToolHints
from core.domain.errors import StoreError, UnknownNameError
from core.domain.events import Override
from core.domain.leaks import DEFAULT, MASK, hide_beside, plain_value
from core.domain.text_column import Texts
from core.domain.tool_table import FIGURES, HINTS, TEXTS, ToolRows, ToolTable, packed, table_of
from core.store.connection import Array, Database, Table, pa
from core.store.log import Log
from core.store.tables import TypedTable, insert_arrow

REFERENCE = re.compile(rf"\$\{{[^{{}}]+?(?::-{DEFAULT})?\}}")
ROWS = ("servers", "tools", "schema_blocks")
MANY = 1_000
ROWS_AT_ONCE = 20_000  # of one write, so that its memory does not grow with the catalog

SERVER_TEXTS = ("name", "description", "title", "category")
SERVER_FIGURES = ("ask_usd", "conn_s", "call_s", "success", "success_variance", "post_accept_failure")


def write_rows(connection: duckdb.DuckDBPyConnection, catalog: Catalog, name: str) -> Catalog:
    """Replaces the rows under a name by those of a catalog, within a transaction. Returns the catalog as columns.

    Raises StoreError if a connection holds a value instead of a reference, TypeError, ValueError or RecursionError if something is not JSON.
    """
    stored = packed(catalog)
    servers, switched_off, table = (*stored.servers, *stored.off), len(stored.servers), table_of(stored)
    for server in servers:
        _require_references(server)
    if not all(np.isfinite(column[~np.isnan(column)]).all() for column in table.figures.values()):
        raise ValueError("a figure of a tool is not finite")
    delete_rows(connection, name)
    columns: tuple[tuple[int, Callable[[int, int], dict[str, Any]]], ...] = (
        (len(servers), lambda start, stop: _server_rows(servers[start:stop], switched_off=switched_off - start)),
        (len(table.at), lambda start, stop: _tool_rows(table, start, stop)),
        (len(table.schemas), lambda start, stop: {"schemas": _arrow(table.schemas[start:stop], pa.large_binary())}),
    )
    for rows, (count, columns_of) in zip(ROWS, columns, strict=True):
        for start in range(0, count, ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, count)
            place = {"catalog": [name] * (stop - start), "number": np.arange(start, stop)}
            incoming = pa.table(place | columns_of(start, stop))
            insert_arrow(connection, f"INSERT INTO {rows} BY NAME SELECT * FROM incoming", incoming)  # noqa: S608
    return stored


def delete_rows(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    for table in ROWS:
        connection.execute(f"DELETE FROM {table} WHERE catalog = ?", [name])  # noqa: S608


def _server_rows(servers: Sequence[Server], switched_off: int) -> dict[str, Any]:
    """The columns of some servers. Servers from the row `switched_off` on are switched off."""
    return {
        **{name: _arrow(Texts.of([getattr(server, name) for server in servers])) for name in SERVER_TEXTS},
        **{name: pa.array([getattr(server, name) for server in servers], pa.float64()) for name in SERVER_FIGURES},
        "virtual": [server.virtual for server in servers],
        "switched_off": [row >= switched_off for row in range(len(servers))],
        "tools": [len(server.tools) for server in servers],
        "seldom_json": [_seldom(server) for server in servers],
    }


def _seldom(server: Server) -> str:
    fields = {"connection": server.connection, "original": server.original, "odd": server.odd or None}
    rare = {name: value for name, value in fields.items() if value is not None}
    return json.dumps(rare, default=_plain, allow_nan=False) if rare else ""


def _tool_rows(table: ToolTable, start: int, stop: int) -> dict[str, Any]:
    return {
        **{name: _arrow(table.texts[name][start:stop]) for name in TEXTS},
        "seldom_json": _arrow(table.texts["seldom"][start:stop]),
        **{name: _figures(table.figures[name][start:stop]) for name in FIGURES},
        **{name: _flags(table.hints[name][start:stop]) for name in HINTS},
        "schema_block": table.block[start:stop],
        "schema_at": table.at[start:stop],
    }


def _figures(column: NDArray[np.float64]) -> Array:
    return pa.array(column, pa.float64(), mask=np.isnan(column))


def _flags(column: NDArray[np.int8]) -> Array:
    return pa.array(column == 1, pa.bool_(), mask=column < 0)


def _arrow(column: Texts, kind: Any = None) -> Array:
    offsets = np.ascontiguousarray(column.offsets)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(column.data)]
    return pa.Array.from_buffers(kind or pa.large_string(), len(column), buffers)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return dict(cast(Json, value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def is_reference(name: str, value: str) -> bool:
    """Whether a variable or header is empty, or has references and beside them only text that is plainly no secret."""
    marked = REFERENCE.sub("\ue000\ue001", value)
    return not value or (marked != value and hide_beside(name, marked, lambda _name, _value: MASK) == marked)


def _require_references(server: Server) -> None:
    if server.connection is None:
        return
    shown_names = server.connection.shown
    for kind, values in (("variable", server.connection.env), ("header", server.connection.headers)):
        for name, value in values.items():
            plain = kind == "variable" and (name in shown_names or bool(plain_value(name, value)))
            if not plain and not is_reference(name, value):
                raise StoreError(
                    f"The {kind} {name} of server {server.name} may be a secret, which is never stored; replace it with "
                    "a reference such as ${secret:NAME}."
                )


_TOOL_COLUMNS = ", ".join([
    *TEXTS,
    "seldom_json, schema_block, schema_at",
    *(f"coalesce({column}, 'NaN'::DOUBLE) AS {column}" for column in FIGURES),
    *(f"coalesce({column}::TINYINT, (-1)::TINYINT) AS {column}" for column in HINTS),
])  # fmt: skip
SELECTS = tuple(
    f"SELECT {columns} FROM {name} WHERE catalog = ? ORDER BY number"  # noqa: S608
    for name, columns in zip(ROWS, ("*", _TOOL_COLUMNS, "schemas"), strict=True)
)


def catalog_of_rows(name: str, servers: Table, tools: Table, blocks: Table) -> Catalog:
    """The catalog of the rows that SELECTS return. Schemas stay compressed until they are read."""
    table = ToolTable(
        {column: _texts(tools[column]) for column in TEXTS} | {"seldom": _texts(tools["seldom_json"])},
        {column: _numbers(tools[column]) for column in FIGURES},
        {column: _numbers(tools[column]) for column in HINTS},
        _texts(blocks["schemas"]),
        _numbers(tools["schema_block"]),
        _numbers(tools["schema_at"]),
    )
    texts = {column: _texts(servers[column]) for column in SERVER_TEXTS}
    plain = {column: servers[column].to_pylist() for column in (*SERVER_FIGURES, "virtual", "seldom_json", "tools")}
    start, all_servers = 0, list[Server]()
    for row, (tool_count, seldom) in enumerate(zip(plain["tools"], plain["seldom_json"], strict=True)):
        rare: dict[str, Any] = json.loads(seldom) if seldom else {}
        all_servers.append(
            Server(
                **{column: texts[column][row] for column in SERVER_TEXTS},
                tools=ToolRows(table, start, start + tool_count),
                **{column: plain[column][row] for column in (*SERVER_FIGURES, "virtual")},
                connection=_connection(rare.get("connection")),
                original=rare.get("original"),
                odd=tuple(rare.get("odd", ())),
            )
        )
        start += tool_count
    flags = servers["switched_off"].to_pylist()
    servers_on, servers_off = (
        tuple(server for server, is_off in zip(all_servers, flags, strict=True) if is_off is flag)
        for flag in (False, True)
    )
    return Catalog(name, servers_on, servers_off)


def _texts(column: Array) -> Texts:
    parts = [_buffers(chunk) for chunk in column.chunks if len(chunk)]
    return Texts.joined(parts) if parts else Texts.of(())


def _numbers(column: Array) -> NDArray[Any]:
    """The values of a column that has no missing values. `to_numpy` would import pandas."""
    kind = {"double": np.float64, "int64": np.int64, "int8": np.int8}[str(column.type)]
    parts = [np.frombuffer(chunk.buffers()[1], kind)[chunk.offset :][: len(chunk)] for chunk in column.chunks]
    return np.concatenate([np.zeros(0, kind), *parts])


def _buffers(chunk: Array) -> Texts:
    _, offsets, data = chunk.buffers()
    width = np.int64 if pa.types.is_large_string(chunk.type) or pa.types.is_large_binary(chunk.type) else np.int32
    places = np.frombuffer(offsets, dtype=width)[chunk.offset : chunk.offset + len(chunk) + 1]
    return Texts(memoryview(b"" if data is None else data).cast("B"), places.astype(np.int64))


def _connection(data: dict[str, Any] | None) -> Connection | None:
    if data is None:
        return None
    data["args"] = tuple(data["args"])
    for name in ("shown", "without", "passwords", "only"):
        data[name] = None if data.get(name) is None and name == "only" else tuple(data.get(name) or ())
    data["env"] = MappingProxyType(data["env"])
    data["headers"] = MappingProxyType(data["headers"])
    return Connection(**data)


# A catalog as one JSON document, as stored before 018_tools.sql.


def from_json(document: str) -> Catalog:
    """The catalog of a document. Raises KeyError, TypeError or ValueError if it does not fit this version."""
    data = json.loads(document)
    servers, off = (tuple(map(_server, data.get(key, ()))) for key in ("servers", "off"))
    return Catalog(data["name"], servers, off)


def _server(data: dict[str, Any]) -> Server:
    data["tools"], data["odd"] = tuple(map(_tool, data["tools"])), tuple(data.get("odd", ()))
    data["connection"] = _connection(data["connection"])
    return Server(**data)


def _tool(data: dict[str, Any]) -> Tool:
    data["hints"] = ToolHints(**data["hints"])
    for name in ("preconditions", "requests", "offered"):
        data[name] = tuple(data.get(name, ()))
    return Tool(**data)


LATEST = """
catalog = ? AND value IS NOT NULL AND sequence IN (
    SELECT max(sequence) FROM overrides WHERE catalog = ? GROUP BY server, tool, field
)
"""


TAKEN = "\x1ftaken "  # before a catalog's name: rows as in its files. No catalog's name has such a character
FOUND = "SELECT document <> '' AS old FROM catalogs WHERE name = ?"


@dataclass(frozen=True, slots=True)
class CatalogRow:
    """A stored catalog in a list: `servers` and `tools` are counts, `imported_at` is UTC."""

    name: str
    source: str
    servers: int
    tools: int
    imported_at: datetime


@dataclass(frozen=True, slots=True)
class _Stored(CatalogRow):
    document: str


class Catalogs:
    """A catalog is saved whole or not at all. Edits are stored apart and outlive a new import under its name."""

    def __init__(self, database: Database, log: Log, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._rows = TypedTable(database, CatalogRow, "catalogs")
        self._stored = TypedTable(database, _Stored, "catalogs")
        self._log = log
        self._clock = clock

    def save_catalog(self, catalog: Catalog, source: str) -> Catalog:
        """Stores a catalog in place of the catalog of its name. `source` is its origin. Returns it as columns.

        Raises StoreError, and keeps the old catalog, if a connection holds a value instead of a reference such as
        `${secret:NAME}`, or if something in it is not JSON.
        """
        return self._save(catalog, source, self._clock())

    def _save(self, catalog: Catalog, source: str, imported_at: datetime) -> Catalog:
        with self._writing(catalog) as connection:
            stored = write_rows(connection, catalog, catalog.name)
            row = _Stored(catalog.name, source, len(stored.servers), len(stored.tools), imported_at, "")
            self._stored.write(connection, [row])
        return stored

    @contextmanager
    def _writing(self, catalog: Catalog) -> Generator[duckdb.DuckDBPyConnection]:
        try:
            with self._database.transaction() as connection:
                yield connection
        except (TypeError, ValueError, RecursionError) as error:
            raise StoreError(f"The catalog {catalog.name} cannot be stored, it is not valid JSON: {error}.") from error

    def load_catalog(self, name: str) -> Catalog | None:
        """The saved catalog, as columns. Returns None for an unknown name.

        Raises StoreError if the stored catalog does not fit this version.
        """
        entry, *rows = self._database.read_together(FOUND, *SELECTS, parameters=[name])
        if not len(entry):
            return None
        try:
            if not entry["old"][0].as_py():
                stored = catalog_of_rows(name, *rows)
                if (
                    len(stored.tools) > MANY
                ):  # the columns stay in memory, and the pages that were read for them would, too
                    self._database.release_pages()
                return stored
            old_row = self._stored.select("name = ?", [name])[0]
            catalog = from_json(old_row.document)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"The stored catalog {name} cannot be read ({error}); import it again.") from error
        try:
            return self._save(catalog, old_row.source, old_row.imported_at)
        except StoreError:  # an earlier version stored a value that this version refuses
            return packed(catalog)

    def save_taken(self, catalog: Catalog) -> None:
        with self._writing(catalog) as connection:
            write_rows(connection, catalog, TAKEN + catalog.name)

    def load_taken(self, name: str) -> Catalog:
        return catalog_of_rows(name, *self._database.read_together(*SELECTS, parameters=[TAKEN + name]))

    def remove_taken(self, name: str) -> None:
        with self._database.transaction() as connection:
            delete_rows(connection, TAKEN + name)

    def list_catalogs(self) -> tuple[CatalogRow, ...]:
        return self._rows.select("true ORDER BY name")

    def connection_texts(self) -> list[str]:
        """The JSON of every server, which may hold references to values."""
        return self._database.read("SELECT seldom_json FROM servers").column(0).to_pylist()

    def remove_catalog(self, name: str) -> None:
        """Removes a catalog. Its events and edits stay. Raises UnknownNameError for an unknown name."""
        with self._database.transaction() as connection:
            if not self._rows.delete(connection, "name = ?", [name]):
                raise UnknownNameError(f"There is no catalog {name!r} in the store; choose one of those it lists.")
            delete_rows(connection, name)

    def set_override(self, override: Override) -> None:
        """Stores an operator's edit. Earlier edits of the price stay in the log. `value` None clears it."""
        self._log.append(override)

    def overrides(self, catalog: str) -> tuple[Override, ...]:
        """The edits in force, in order of commit: the latest of each server, tool and field, unless it was cleared."""
        return tuple(self._log.read(Override, LATEST, [catalog, catalog]))
