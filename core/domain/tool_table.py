"""The tools of a catalog as a table of columns, and sequences of tools that read the columns on demand."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import lru_cache, partial
from typing import Any, cast, overload
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Server
from core.domain.text_column import Digest, Texts, starts_of
from core.domain.tools import Columns, Json, Tool, ToolHints, ToolSequence, tool_id

TEXTS = ("server", "name", "description", "title", "tier", "tier_reason")
FIGURES = ("price_usd", "latency_s", "success")
HINTS = tuple(field.name for field in fields(ToolHints))
SCHEMAS = ("input_schema", "output_schema")
SELDOM = ("preconditions", "requests", "offered", "original", "extras")
"""Fields that few tools have. They are stored as JSON."""
_DEFAULTS = {field.name: field.default for field in fields(Tool) if field.default is not MISSING}
SCHEMA_BLOCKS_OPEN = 8  # servers whose schemas are kept open, because readers go through them one server at a time


class ToolTable(Columns):
    """T tools as columns. `texts` has TEXTS and `seldom`, `figures` FIGURES with NaN for None, `hints` HINTS with -1 for None, (T,) each.

    The schemas of a server are one compressed block of `schemas` (B,). `block` (T,) is the block of a tool, `at` (T,) the place in it.
    A block is opened when one of its schemas is read.
    """

    __slots__ = ("__weakref__", "_compared", "_opened", "at", "block", "figures", "hints", "may_have", "schemas", "texts")  # fmt: skip

    def __init__(
        self,
        texts: Mapping[str, Texts],
        figures: Mapping[str, NDArray[np.float64]],
        hints: Mapping[str, NDArray[np.int8]],
        schemas: Texts,
        block: NDArray[np.int64],
        at: NDArray[np.int64],
    ) -> None:
        self.texts, self.figures, self.hints = texts, figures, hints
        self.schemas, self.block, self.at = schemas, block, at
        self._opened = lru_cache(SCHEMA_BLOCKS_OPEN)(partial(_opened, schemas))
        self.may_have = lru_cache(len(SELDOM))(partial(_says, texts["seldom"]))
        self._compared: tuple[ref[ToolTable] | None, bool] = None, False

    @classmethod
    def of(cls, tools: Sequence[Sequence[Tool]]) -> ToolTable:
        """The table of the tools of several servers. Consecutive rows of one table stay columns.

        Raises TypeError, ValueError or RecursionError if a schema has no JSON form.
        """
        runs: list[ToolRows | list[Sequence[Tool]]] = []
        for of_server in filter(len, tools):
            last = runs[-1] if runs else None
            if not (isinstance(of_server, ToolRows) and of_server.of_one_block()):
                if not isinstance(last, list):
                    runs.append(last := [])
                last.append(of_server)
            elif isinstance(last, ToolRows) and (longer := last.followed_by([of_server])) is not None:
                runs[-1] = longer
            else:
                runs.append(of_server)
        parts = [run.table.part(run.start, run.stop) if isinstance(run, ToolRows) else _made(run) for run in runs]
        return cls.joined(parts) if parts else _made([])

    @classmethod
    def joined(cls, parts: Sequence[ToolTable]) -> ToolTable:
        if len(parts) == 1:
            return parts[0]
        starts = starts_of([len(part.schemas) for part in parts])
        return cls(
            {name: Texts.joined([part.texts[name] for part in parts]) for name in parts[0].texts},
            {name: np.concatenate([part.figures[name] for part in parts]) for name in FIGURES},
            {name: np.concatenate([part.hints[name] for part in parts]) for name in HINTS},
            Texts.joined([part.schemas for part in parts]),
            np.concatenate([part.block + start for part, start in zip(parts, starts, strict=False)]),
            np.concatenate([part.at for part in parts]),
        )

    def part(self, start: int, stop: int) -> ToolTable:
        """The rows from `start` to `stop`. They share the buffers of this table."""
        if (start, stop) == (0, len(self)):
            return self
        first, last = int(self.block[start]), int(self.block[stop - 1])
        return ToolTable(
            {name: column[start:stop] for name, column in self.texts.items()},
            {name: column[start:stop] for name, column in self.figures.items()},
            {name: column[start:stop] for name, column in self.hints.items()},
            self.schemas[first : last + 1],
            self.block[start:stop] - first,
            self.at[start:stop],
        )

    def __len__(self) -> int:
        return len(self.block)

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, which opens the schemas itself."""
        return ToolTable, (self.texts, self.figures, self.hints, self.schemas, self.block, self.at)

    def same_columns(self, other: ToolTable) -> bool:
        """Whether every column is equal to the byte. Tables of equal tools may differ in how their schemas were written.

        Keeps the last answer, because two catalogs are compared server by server.
        """
        if self._compared[0] is None or self._compared[0]() is not other:
            self._compared = ref(other), self._differs_nowhere(other)
        return self._compared[1]

    def _differs_nowhere(self, other: ToolTable) -> bool:
        return (
            all(column.same_as(other.texts[name]) for name, column in self.texts.items())
            and self.schemas.same_as(other.schemas)
            and all(np.array_equal(self.figures[name], other.figures[name], equal_nan=True) for name in FIGURES)
            and all(np.array_equal(self.hints[name], other.hints[name]) for name in HINTS)
            and np.array_equal(self.block, other.block)
            and np.array_equal(self.at, other.at)
        )

    def value(self, name: str, row: int) -> Any:
        """The value of a field of a tool. Raises AttributeError for an unknown field."""
        if name in self.figures:
            value = float(self.figures[name][row])
            return None if value != value else value  # noqa: PLR0124 - NaN
        if name in TEXTS:
            return self.texts[name][row]
        if name == "hints":
            return _hints(*(int(self.hints[hint][row]) for hint in HINTS))
        if name in SCHEMAS:
            return self._opened(int(self.block[row]))[int(self.at[row])][SCHEMAS.index(name)]
        if name not in SELDOM:
            raise AttributeError(name)
        text = self.texts["seldom"][row]
        value = json.loads(text).get(name, _DEFAULTS[name]) if text else _DEFAULTS[name]
        return tuple(cast("list[str]", value)) if isinstance(value, list) else value


def _says(seldom: Texts, name: str) -> bool:
    """Whether one of these texts may have the field."""
    return f'"{name}": '.encode() in bytes(seldom.data[seldom.offsets[0] : seldom.offsets[-1]])


def _opened(schemas: Texts, block: int) -> list[tuple[Json | None, Json | None]]:
    return json.loads(zlib.decompress(schemas.raw(block)))


def _made(servers: Sequence[Sequence[Tool]]) -> ToolTable:
    tools = [tool for of_server in servers for tool in of_server]
    sizes = [len(of_server) for of_server in servers]
    texts = {name: Texts.of([getattr(tool, name) for tool in tools]) for name in TEXTS}
    return ToolTable(
        texts | {"seldom": Texts.of(map(_seldom, tools))},
        {name: figures(tools, name) for name in FIGURES},
        {name: hints(tools, name) for name in HINTS},
        Texts.of([_packed_schemas(of_server) for of_server in servers]),
        np.repeat(np.arange(len(servers)), sizes),
        np.concatenate([np.arange(size) for size in sizes]) if servers else np.zeros(0, dtype=np.int64),
    )


def _packed_schemas(tools: Sequence[Tool]) -> bytes:
    pairs = [(tool.input_schema, tool.output_schema) for tool in tools]
    return zlib.compress(json.dumps(pairs, default=_plain, allow_nan=False, separators=(",", ":")).encode())


def _seldom(tool: Tool) -> str:
    values = {name: value for name in SELDOM if (value := getattr(tool, name)) != _DEFAULTS[name]}
    return json.dumps(values) if values else ""


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(cast(Json, value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


@lru_cache(3**4)
def _hints(*values: int) -> ToolHints:
    return ToolHints(*(None if value < 0 else bool(value) for value in values))


class ToolRows(ToolSequence):
    """The rows of a table from `start` to `stop`, as tools. They equal any sequence of equal tools.

    >>> read = Tool("files", "read", input_schema={"type": "object"})
    >>> rows = ToolRows(ToolTable.of([[read]]), 0, 1)
    >>> rows[0].input_schema, rows[0] == read, rows == (read,), (read,) == rows
    ({'type': 'object'}, True, True, True)
    """

    __slots__ = ("start", "stop", "table")

    def __init__(self, table: ToolTable, start: int, stop: int) -> None:
        self.table, self.start, self.stop = table, start, stop

    def __len__(self) -> int:
        return self.stop - self.start

    @overload
    def __getitem__(self, place: int) -> Tool: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Tool]: ...
    def __getitem__(self, place: int | slice) -> Tool | Sequence[Tool]:
        """One tool, or the rows of a slice without steps."""
        rows = range(self.start, self.stop)[place]
        if isinstance(rows, range):
            if len(rows) > 1 and rows.step != 1:
                return tuple(map(self._tool, rows))
            return ToolRows(self.table, rows.start, rows.start + len(rows))
        return self._tool(rows)

    def __iter__(self) -> Iterator[Tool]:
        return map(self._tool, range(self.start, self.stop))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolRows | tuple | list):
            return NotImplemented
        others = cast("Sequence[object]", other)
        if len(self) != len(others):
            return False
        if isinstance(other, ToolRows) and len(self):
            if self.start == other.start and self.table.same_columns(other.table):
                return True
            if self._part().same_columns(other._part()):
                return True
        return all(tool == item for tool, item in zip(self, others, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _part(self) -> ToolTable:
        return self.table.part(self.start, self.stop)

    def ids(self) -> tuple[str, ...]:
        servers, names = (self.table.texts[column][self.start : self.stop].every() for column in ("server", "name"))
        return tuple(map(tool_id, servers, names))

    def may_have(self, name: str) -> bool:
        return self.table.may_have(name) and _says(self.table.texts["seldom"][self.start : self.stop], name)

    def followed_by(self, others: Sequence[Sequence[Tool]]) -> ToolRows | None:
        stop = self.stop
        for rows in others:
            if not (isinstance(rows, ToolRows) and rows.table is self.table and rows.start == stop):
                return None
            stop = rows.stop
        return ToolRows(self.table, self.start, stop)

    def add_to(self, digest: Digest) -> None:
        """Adds everything except figures to a digest, as stored. Opens no schema."""
        part = self._part()
        for column in (*part.texts.values(), part.schemas):
            column.add_to(digest)
        for numbers in (*part.hints.values(), part.block, part.at):
            digest.update(np.ascontiguousarray(numbers).tobytes())

    def of_one_block(self) -> bool:
        """Whether the schemas are in one block, as the schemas of one server are."""
        return len(self) > 0 and self.table.block[self.start] == self.table.block[self.stop - 1]

    def _tool(self, row: int) -> Tool:
        tool = object.__new__(Tool)
        object.__setattr__(tool, "_place", (self.table, row))
        return tool


def figures(tools: Sequence[Tool], name: str) -> NDArray[np.float64]:
    """(T,) one of FIGURES of some tools, NaN for None. It is a view of the column if the tools are rows.

    >>> figures((Tool("a", "one", price_usd=0.5), Tool("a", "two")), "price_usd").tolist()
    [0.5, nan]
    """
    if isinstance(tools, ToolRows):
        return tools.table.figures[name][tools.start : tools.stop]
    return np.array([getattr(tool, name) for tool in tools], dtype=np.float64)


def hints(tools: Sequence[Tool], name: str) -> NDArray[np.int8]:
    """(T,) one of HINTS of some tools: 1, 0, or -1 for None.

    >>> hints((Tool("a", "one", hints=ToolHints(read_only=True)), Tool("a", "two")), "read_only").tolist()
    [1, -1]
    """
    if isinstance(tools, ToolRows):
        return tools.table.hints[name][tools.start : tools.stop]
    flags: list[bool | None] = [getattr(tool.hints, name) for tool in tools]
    return np.array([-1 if flag is None else flag for flag in flags], dtype=np.int8)


def rows_with_seldom(tools: Sequence[Tool]) -> Sequence[int]:
    """The places of the tools that may have one of SELDOM, or of all tools if they are not rows.

    >>> list(rows_with_seldom(packed(Catalog("a", (Server("a", tools=(Tool("a", "b"), Tool("a", "c", requests=("do",)))),))).tools))
    [1]
    """
    if not isinstance(tools, ToolRows):
        return range(len(tools))
    return np.flatnonzero(np.diff(tools.table.texts["seldom"].offsets[tools.start : tools.stop + 1])).tolist()


def packed(catalog: Catalog) -> Catalog:
    """The catalog with all its tools as rows of one table, not an object for each tool.

    Raises TypeError, ValueError or RecursionError if a schema has no JSON form.

    >>> plain = Catalog("demo", (Server("a", tools=(Tool("a", "one"),)), Server("b", tools=(Tool("b", "two"),))))
    >>> rows = packed(plain)
    >>> rows == plain, type(rows.tools).__name__, packed(rows) is rows
    (True, 'ToolRows', True)
    """
    servers = (*catalog.servers, *catalog.off)
    table = ToolTable.of([server.tools for server in servers])
    if all(isinstance(server.tools, ToolRows) and server.tools.table is table for server in servers):
        return catalog
    packed_servers, start = list[Server](), 0
    for server in servers:
        rows = ToolRows(table, start, start + len(server.tools))
        packed_servers.append(replace(server, tools=rows))
        start = rows.stop
    count = len(catalog.servers)
    return replace(catalog, servers=tuple(packed_servers[:count]), off=tuple(packed_servers[count:]))


def table_of(catalog: Catalog) -> ToolTable:
    """The table of all tools of a packed catalog."""
    for server in (*catalog.servers, *catalog.off):
        if isinstance(server.tools, ToolRows):
            return server.tools.table
    return _made([])
