"""The lazy schema loader of phase 2: full definitions on demand, the least recently used ones evicted (Tool Attention, 4.4).

A definition comes from the local registry, which is the catalog, or from the server itself, which is asked for its list of
tools. Servers change their tools without notice: a definition that was read live is read again once it is `max_age_s` old, and one
from a catalog that was replaced meanwhile at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cachetools import LRUCache

from core.domain.catalog import Catalog, Server, Tool
from core.domain.definitions import definition_tokens
from core.shared.errors import UnknownNameError, WayfareError

Source = Literal["catalog", "live"]
Listing = Callable[[str, Server], Sequence[Tool]]
"""A catalog's name and its server to the server's tools/list. Raises WayfareError that says why there is none."""


@dataclass(frozen=True, slots=True)
class LoadedSchema:
    """A full definition: where it comes from, its age in s, and whether it was in the cache (`hit`).

    `note` says why it is the catalog's where the server itself was asked.
    """

    tool: Tool
    source: Source
    age_s: float
    hit: bool
    note: str = ""

    @property
    def tokens(self) -> int:
        """What it takes in a prompt."""
        return definition_tokens(self.tool)


@dataclass(frozen=True, slots=True)
class LoaderCounts:
    """What the loader did so far; `kept` definitions are in the cache now."""

    hits: int = 0
    misses: int = 0
    evicted: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class _Entry:
    tool: Tool
    declared: Tool  # the catalog's tool when it was read
    read_at_s: float


class SchemaLoader:
    """Bounded and safe for several threads. `listing` asks a live server.

    >>> catalog = Catalog("c", (Server("files", tools=(Tool("files", "read"),)),))
    >>> loader = SchemaLoader(lambda catalog, server: (), clock=lambda: 0.0)
    >>> [loader.load(catalog, ["files::read"])[0].hit for _ in range(2)], loader.counts
    ([False, True], LoaderCounts(hits=1, misses=1, evicted=0, kept=1))
    """

    def __init__(
        self,
        listing: Listing,
        *,
        capacity: int = 256,
        max_age_s: float = 600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._listing = listing
        self._max_age_s = max_age_s
        self._clock = clock
        self._cache: LRUCache[tuple[str, str, Source], _Entry] = LRUCache(capacity)
        self._lock = threading.Lock()
        self._counts = LoaderCounts()

    @property
    def counts(self) -> LoaderCounts:
        """Hits, misses and evictions so far."""
        return replace(self._counts, kept=len(self._cache))

    def load(self, catalog: Catalog, tool_ids: Sequence[str], *, live: bool = False) -> tuple[LoadedSchema, ...]:
        """The definitions of these tools (`server::tool`), in their order; `live` asks their servers.

        A server that does not answer, or no longer lists a tool, is named in the note, and the catalog's definition
        is used. Raises UnknownNameError for a tool that the catalog does not have.
        """
        source: Source = "live" if live else "catalog"
        wanted = {tool_id: _declared(catalog, tool_id) for tool_id in tool_ids}
        loaded = {tool_id: self._from_cache(catalog, tool, source) for tool_id, tool in wanted.items()}
        missing = [wanted[tool_id] for tool_id, found in loaded.items() if found is None]
        for name in dict.fromkeys(tool.server for tool in missing):
            of_server = [tool for tool in missing if tool.server == name]
            loaded |= self._listed(catalog, name, of_server) if live else self._read(catalog, of_server, source)
        return tuple(found for tool_id in tool_ids if (found := loaded[tool_id]) is not None)

    def _from_cache(self, catalog: Catalog, tool: Tool, source: Source) -> LoadedSchema | None:
        key = (catalog.name, tool.id, source)
        with self._lock:
            entry = self._cache.get(key)
            age_s = 0.0 if entry is None else self._clock() - entry.read_at_s
            if entry is None or entry.declared is not tool or (source == "live" and age_s > self._max_age_s):
                self._counts = replace(self._counts, misses=self._counts.misses + 1)
                return None
            self._counts = replace(self._counts, hits=self._counts.hits + 1)
            return LoadedSchema(entry.tool, source, age_s, hit=True)

    def _read(self, catalog: Catalog, tools: Sequence[Tool], source: Source) -> dict[str, LoadedSchema | None]:
        """Cache definitions as the catalog has them."""
        self._keep(catalog, ((tool, tool) for tool in tools), source)
        return {tool.id: LoadedSchema(tool, source, 0.0, hit=False) for tool in tools}

    def _listed(self, catalog: Catalog, server: str, tools: Sequence[Tool]) -> dict[str, LoadedSchema | None]:
        """Ask one server. All that it lists is cached, the wanted tools last, so that they are evicted last."""
        try:
            answer = {
                tool.id: tool for tool in self._listing(catalog.name, catalog.servers[catalog.server_row[server]])
            }
        except WayfareError as error:
            return {tool.id: LoadedSchema(tool, "catalog", 0.0, hit=False, note=str(error)) for tool in tools}
        asked = {tool.id for tool in tools}
        known = sorted((row, tool_id) for tool_id in answer if (row := catalog.tool_row.get(tool_id)) is not None)
        rows = sorted(known, key=lambda pair: pair[1] in asked)
        self._keep(catalog, ((answer[tool_id], catalog.tools[row]) for row, tool_id in rows), "live")
        gone = f"Server {server} no longer lists it; this is the catalog's definition."
        return {
            tool.id: LoadedSchema(answer[tool.id], "live", 0.0, hit=False)
            if tool.id in answer
            else LoadedSchema(tool, "catalog", 0.0, hit=False, note=gone)
            for tool in tools
        }

    def _keep(self, catalog: Catalog, pairs: Iterable[tuple[Tool, Tool]], source: Source) -> None:
        now_s = self._clock()
        with self._lock:
            for tool, declared in pairs:
                key = (catalog.name, declared.id, source)
                full = key not in self._cache and len(self._cache) == self._cache.maxsize
                self._cache[key] = _Entry(tool, declared, now_s)
                self._counts = replace(self._counts, evicted=self._counts.evicted + full)


def _declared(catalog: Catalog, tool_id: str) -> Tool:
    row = catalog.tool_row.get(tool_id)
    if row is None:
        raise UnknownNameError(f"There is no tool {tool_id!r} in catalog {catalog.name!r}; check the name.")
    return catalog.tools[row]
