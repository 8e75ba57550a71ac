"""Changes to catalogs: imports, discovery, copies of servers, prices set by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.domain.catalog import Catalog, Server, ServerId
from core.domain.events import Override
from core.domain.imports import Discovery, Imported
from core.importers import read_document, read_files
from core.importers.shipped_catalogs import check_name
from core.mcp_bridge.lazy_pool import load_protocol
from core.mcp_bridge.secrets import SecretVault, reference_names
from core.services.catalogs import CatalogService
from core.services.lint_reports import count_errors
from core.shared.errors import CatalogError, UnknownNameError
from core.virtual.multiply import Recipe, copies, multiplied, multiplied_name, server_of

if TYPE_CHECKING:  # the protocol's packages are loaded at the first call: a start does not wait for them
    from core.mcp_bridge.pool import SessionPool


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import: the catalog it made, its notes, and what the servers still need."""

    catalog: str
    servers: int
    tools: int
    imported: Imported
    lint_errors: int
    discoveries: tuple[Discovery, ...] = ()


class CatalogEditor:
    """Everything that makes or changes a catalog. Thread-safe, as the catalog service is."""

    def __init__(
        self,
        catalogs: CatalogService,
        vault: SecretVault,
        sessions: Callable[[], SessionPool],
    ) -> None:
        self._catalogs = catalogs
        self._vault = vault
        self._sessions = sessions

    def read(self, text: str | bytes, source: str) -> Imported:
        """Read a document without keeping anything."""
        return read_document(text, source=source)

    def keep(self, imported: Imported, name: str, source: str) -> ImportReport:
        """Keep what was read as a catalog. Raises CatalogError where it cannot have this name."""
        check_name(name)
        self.keep_secrets(name, imported.servers, imported.secrets)
        return self._saved(Catalog(name, imported.servers), source, imported)

    def keep_secrets(self, catalog: str, servers: Iterable[Server], values: Mapping[str, str]) -> None:
        """Keep values by the name of their reference, in memory, for those servers of a catalog that refer to them."""
        for server in servers:
            for name in reference_names(server.connection) & values.keys():
                self._vault.put(ServerId(catalog, server.name), name, values[name])

    def import_files(self, paths: Iterable[Path], name: str | None = None) -> ImportReport:
        """Read catalogs or client configurations and keep them as one catalog. All or nothing."""
        files = [Path(path) for path in paths]
        if not files:
            raise CatalogError("No file was given; name at least one catalog or client configuration.")
        return self.keep(read_files(files), name or files[0].stem, ", ".join(path.name for path in files))

    def import_text(self, text: str | bytes, name: str, source: str = "pasted text") -> ImportReport:
        """The same for text that was pasted or uploaded."""
        return self.keep(read_document(text, source=source), name, source)

    def discover_file(self, path: Path, name: str | None = None) -> ImportReport:
        """Read a client configuration and take its servers' tools live."""
        return self.discover(read_files([path]), name or path.stem, path.name)

    def discover(self, imported: Imported, name: str, source: str) -> ImportReport:
        """Connect to every server of a read document, take its tools live and keep the catalog.

        A server that does not answer harms only itself; where none answers, nothing is kept (CatalogError).
        """
        check_name(name)
        self.keep_secrets(name, imported.servers, imported.secrets)
        load_protocol()
        from core.mcp_bridge.discovery import discover

        found = discover(self._sessions(), name, imported.servers)
        servers = tuple(d.server for d in found if d.server is not None)
        if not servers:
            reasons = "; ".join(d.error for d in found)
            raise CatalogError(f"{source}: no server answered, so nothing was kept. {reasons}")
        return self._saved(Catalog(name, servers), source, imported, found)

    def remove(self, name: str) -> None:
        """Forget an imported catalog and its servers' secrets. Its events stay."""
        self._catalogs.remove(name)
        self._vault.forget(name)

    def copies(self, catalog: str, server: str, recipe: Recipe) -> tuple[Server, ...]:
        """The virtual copies that `multiply` would make of a server. Raises UnknownNameError, CatalogError."""
        known = self._catalogs.catalog(catalog)
        return copies(server_of(known, server), recipe, taken=known.server_row)

    def multiply(self, catalog: str, server: str, recipe: Recipe, *, name: str = "") -> Catalog:
        """Keep a new catalog in which a server is accompanied or replaced by virtual copies of it."""
        known = self._catalogs.catalog(catalog)
        made = multiplied(known, server, recipe, name=name or multiplied_name(known.name, server, recipe.copies))
        source = f"{known.name}, {server} × {recipe.copies}, seed {recipe.seed}, spread {recipe.spread:g}"
        self._catalogs.save(made, source)
        return made

    def set_figure(self, catalog: str, server: str, tool: str, value: float | None) -> None:
        """Set or clear (None) an operator's price of a tool, or with an empty tool the ask of a server. USD per call."""
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise CatalogError(f"{value} is not a price; give a number of at least 0 in USD per call.")
        known = self._catalogs.catalog(catalog)
        if (f"{server}::{tool}" not in known.tool_row) if tool else (server not in known.server_row):
            raise UnknownNameError(f"There is no {tool or server!r} to price in catalog {catalog!r}; check the name.")
        field = "price_usd" if tool else "ask_usd"
        self._catalogs.set_override(Override(catalog, server, tool, field, value, datetime.now(UTC)))

    def _saved(
        self, catalog: Catalog, source: str, imported: Imported, found: tuple[Discovery, ...] = ()
    ) -> ImportReport:
        self._catalogs.save(catalog, source)
        errors = count_errors(catalog)
        return ImportReport(catalog.name, len(catalog.servers), len(catalog.tools), imported, errors, found)
