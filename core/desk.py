"""Work on catalogs: imports, discovery, edits. The Console's `desk`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.domain.catalog import Catalog
from core.domain.events import Override
from core.domain.imports import Imported
from core.errors import CatalogError, UnknownNameError
from core.importers import read_document, read_files
from core.library import Library, check_name
from core.mcp_bridge.secrets import SecretVault

if TYPE_CHECKING:  # the protocol's packages are loaded at the first call: a start does not wait for them
    from core.mcp_bridge.discovery import Discovery
    from core.mcp_bridge.pool import SessionPool


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import took: the catalog it made, its notes, and what the servers still need."""

    catalog: str
    servers: int
    tools: int
    imported: Imported
    discoveries: tuple[Discovery, ...] = ()


class CatalogDesk:
    """Everything that makes or changes a catalog. Thread-safe as the library is."""

    def __init__(self, library: Library, vault: SecretVault, sessions: Callable[[], SessionPool]) -> None:
        self._library = library
        self._vault = vault
        self._sessions = sessions

    def read(self, text: str | bytes, source: str) -> Imported:
        """Read a document without keeping anything."""
        return read_document(text, source=source)

    def import_files(self, paths: Iterable[Path], name: str | None = None) -> ImportReport:
        """Read catalogs or client configurations and keep them as one catalog. All or nothing."""
        files = [Path(path) for path in paths]
        if not files:
            raise CatalogError("No file was given; name at least one catalog or client configuration.")
        return self._keep(read_files(files), name or files[0].stem, ", ".join(path.name for path in files))

    def import_text(self, text: str | bytes, name: str, source: str = "pasted text") -> ImportReport:
        """The same for text that was pasted or uploaded."""
        return self._keep(read_document(text, source=source), name, source)

    def discover_file(self, path: Path, name: str | None = None) -> ImportReport:
        """Read a client configuration and take its servers' tools live."""
        return self.discover(read_files([path]), name or path.stem, path.name)

    def discover(self, imported: Imported, name: str, source: str) -> ImportReport:
        """Connect to every server of a read document, take its tools live and keep the catalog.

        A server that does not answer harms only itself; where none answers, nothing is kept (CatalogError).
        """
        check_name(name)
        self._remember(imported)
        from core.mcp_bridge.discovery import discover

        found = discover(self._sessions(), imported.servers)
        servers = tuple(d.server for d in found if d.server is not None)
        if not servers:
            reasons = "; ".join(d.error for d in found)
            raise CatalogError(f"{source}: no server answered, so nothing was kept. {reasons}")
        self._library.save(Catalog(name, servers), source)
        return ImportReport(name, len(servers), sum(len(s.tools) for s in servers), imported, found)

    def remove(self, name: str) -> None:
        """Forget an imported catalog. Its events stay."""
        self._library.remove(name)

    def set_figure(self, catalog: str, server: str, tool: str, value: float | None) -> None:
        """Set or clear (None) an operator's price of a tool, or with an empty tool the ask of a server. USD per call."""
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise CatalogError(f"{value} is not a price; give a number of at least 0 in USD per call.")
        known = self._library.catalog(catalog)
        if (f"{server}::{tool}" not in known.tool_row) if tool else (server not in known.server_row):
            raise UnknownNameError(f"There is no {tool or server!r} to price in catalog {catalog!r}; check the name.")
        field = "price_usd" if tool else "ask_usd"
        self._library.set_override(Override(catalog, server, tool, field, value, datetime.now(UTC)))

    def _keep(self, imported: Imported, name: str, source: str) -> ImportReport:
        self._remember(imported)
        self._library.save(Catalog(name, imported.servers), source)
        tools = sum(len(server.tools) for server in imported.servers)
        return ImportReport(name, len(imported.servers), tools, imported)

    def _remember(self, imported: Imported) -> None:
        for reference, value in imported.secrets.items():
            self._vault.put(reference, value)
