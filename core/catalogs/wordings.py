"""The operator's own descriptions of tools and servers, in place of the server's words, which stay beside them.

A wording holds for the words that it was written for. If the server changes these, its new words count until the
operator looks at both.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from core.domain.catalog import Catalog, Server, Tool, original_words
from core.domain.documents import digest
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.people import actions
from core.domain.untrusted_text import visible

if TYPE_CHECKING:
    from core.catalogs.catalogs import CatalogService
    from core.store import Store

LONGEST = 10_000
"""Characters of a wording, as many as clients are given of a description."""
DIGEST_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Wording:
    """The description of a tool, or of a server if `tool` is "". `of` is the digest of the words that it replaces."""

    server: str
    tool: str
    text: str
    of: str
    at: str


def reworded(catalog: Catalog, wordings: Iterable[Wording]) -> Catalog:
    """Returns the catalog with these wordings; one whose server speaks otherwise now is left out.

    >>> catalog = Catalog("c", (Server("files", tools=(Tool("files", "read", "Reads."),)),))
    >>> said = Wording("files", "read", "Show a file's text.", words_digest("Reads."), "")
    >>> tool = reworded(catalog, [said]).tools[0]
    >>> tool.description, tool.own_description, reworded(catalog, [replace(said, of="")]) == catalog
    ("Show a file's text.", 'Reads.', True)
    """
    by_place = {(one.server, one.tool): one for one in wordings}
    if not by_place:
        return catalog

    def said(one: Server | Tool, server: str, tool: str) -> dict[str, Any]:
        found = by_place.get((server, tool))
        if found is None or found.of != words_digest(one.own_description):
            return {}
        return {"description": found.text, "original": one.own_description}

    spoken_of = {server for server, _ in by_place}
    servers = (
        replace(
            server,
            tools=tuple(replace(tool, **said(tool, server.name, tool.name)) for tool in server.tools),
            **said(server, server.name, ""),
        )
        if server.name in spoken_of
        else server
        for server in catalog.servers
    )
    return replace(catalog, servers=tuple(servers))


def words_digest(text: str) -> str:
    """Returns the digest by which a wording knows the words that it replaces."""
    return digest(text)[:DIGEST_CHARACTERS]


@actions("tune", put="reword", remove="remove a wording")
class Wordings:
    def __init__(self, store: Store, catalogs: CatalogService, now: Callable[[], datetime]) -> None:
        self._store = store
        self._catalogs = catalogs
        self.now = now
        self._lock = threading.Lock()

    def list(self, catalog: str) -> tuple[Wording, ...]:
        """The wordings of a catalog, also those that do not count because the server's words changed."""
        return stored_wordings(self._store, catalog)

    def stale(self, catalog: str) -> tuple[Wording, ...]:
        """The wordings that do not count: their server says something else now, or has no such tool."""
        known = self._catalogs.catalog(catalog)
        own = {(tool.server, tool.name): tool.own_description for tool in known.tools}
        own |= {(server.name, ""): server.own_description for server in known.servers}
        found = ((one, own.get((one.server, one.tool))) for one in self.list(catalog))
        return tuple(one for one, words in found if words is None or words_digest(words) != one.of)

    def put(self, catalog: str, place: str, text: str) -> None:
        """Describes a tool (`server::tool`) or a server anew. Raises UnknownNameError, and CatalogError for an unusable
        text."""
        text = visible(text).strip()
        if not text:
            raise CatalogError("The description is empty. Write one, or take the server's own back with --remove.")
        if len(text) > LONGEST:
            raise CatalogError(f"The description has {len(text):,} characters; at most {LONGEST:,} are taken.")
        server, tool, words = self._found(catalog, place)
        made = Wording(server, tool, text, words_digest(words), self.now().isoformat())
        self._write(catalog, server, tool, (made,))

    def remove(self, catalog: str, place: str) -> None:
        """Takes the server's own words back. Raises UnknownNameError if there is no wording."""
        server, _, tool = place.partition("::")
        if not any((one.server, one.tool) == (server, tool) for one in self.list(catalog)):
            raise UnknownNameError(f"{place!r} of catalog {catalog!r} has the server's own description already.")
        self._write(catalog, server, tool, ())

    def _found(self, catalog: str, place: str) -> tuple[str, str, str]:
        server, colons, tool = place.partition("::")
        known = self._catalogs.catalog(catalog)
        if colons:
            found = known.find(server, tool)[1]
            return found.server, found.name, found.own_description
        if server not in known.server_row:
            raise UnknownNameError(f"There is no server {server!r} in catalog {catalog!r}; check the name.")
        return server, "", known.servers[known.server_row[server]].own_description

    def _write(self, catalog: str, server: str, tool: str, fresh: tuple[Wording, ...]) -> None:
        with self._lock:
            others = [one for one in self.list(catalog) if (one.server, one.tool) != (server, tool)]
            self._store.set_setting(setting_of(catalog), [asdict(one) for one in (*others, *fresh)])
            self._catalogs.reword(catalog)


def stored_wordings(store: Store, catalog: str) -> tuple[Wording, ...]:
    return tuple(Wording(**one) for one in store.get_setting(setting_of(catalog), []))


def without_wordings(catalog: Catalog) -> Catalog:
    """Returns the catalog in the servers' own words, as it is stored."""
    servers, off = (tuple(map(original_words, part)) for part in (catalog.servers, catalog.off))
    same = all(map(operator.is_, (*servers, *off), (*catalog.servers, *catalog.off)))
    return catalog if same else replace(catalog, servers=servers, off=off)


def setting_of(catalog: str) -> str:
    return f"wordings:{catalog}"
