"""Changes to catalogs: imports, discovery, copies of servers, prices and descriptions set by hand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from core.catalogs.catalogs import CatalogService
from core.catalogs.followed import FollowedFiles, with_known
from core.catalogs.lint_reports import LintReports
from core.catalogs.loaded_catalog import Wording, setting_of, stored_wordings, without_wordings, words_digest
from core.catalogs.servers import keep_values, stored_values
from core.domain.catalog import Catalog, Discovery, Follow, Imported, Server, ServerId
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.events import Override
from core.domain.people import actions
from core.domain.tool_table import packed
from core.domain.untrusted_text import visible
from core.importers import read_document, read_files
from core.importers.reading import shown
from core.importers.secrets import secret_name
from core.importers.shipped_catalogs import check_name
from core.servers.lazy_pool import load_protocol
from core.servers.secrets import SecretVault, names_in
from core.store import Store
from core.virtual.multiply import Recipe, copies, multiplied, multiplied_name

if TYPE_CHECKING:
    from core.servers.pool import SessionPool


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import: the catalog it made, its notes, and the values that the servers still need."""

    catalog: str
    servers: int
    tools: int
    imported: Imported
    lint_errors: int | None
    """None if the catalog is too large to count them at once."""
    discoveries: tuple[Discovery, ...] = ()


MOST_LINTED = 20_000
"""Tools whose errors an import counts at once, in some seconds."""
LONGEST = 10_000
"""The most characters of a wording. Clients get no more of a description."""
OWN = "catalog"
"""The format of an import made of the servers of a stored catalog."""


@actions("administer", keep="import a catalog", import_files="import files", discover_file="connect to the servers of a file", keep_secrets="set secrets", discover="connect to servers", remove="remove a catalog", multiply="multiply a server", set_figure="set a price")  # fmt: skip
@dataclass(eq=False)
class CatalogEditor:
    """Makes and changes catalogs. Thread-safe."""

    catalogs: CatalogService
    vault: SecretVault
    sessions: Callable[[], SessionPool]
    followed: FollowedFiles
    lint_reports: LintReports

    def read(self, text: str | bytes, source: str, folder: Path | None = None) -> Imported:
        """Read a document without keeping anything. Relative paths in it count from the folder, or from the home directory."""
        return read_document(text, source=source, folder=folder or Path.home())

    def keep(self, imported: Imported, name: str, source: str) -> ImportReport:
        """Keep an import as a catalog. Raises CatalogError for an unusable name."""
        check_name(name, self.catalogs.stored())
        imported, previous = self._with_hidden(name, imported), self._known(name).by_name
        self.keep_secrets(name, (*imported.servers, *imported.off), imported.secrets)
        servers = tuple(
            with_known(server, known)
            if server.name in imported.needs_discovery and _same_program(server, known := previous.get(server.name))
            else server
            for server in imported.servers
        )
        report = self._saved(self._with_off(name, servers, imported), source, imported)
        self.followed.forget(name)
        return report

    def keep_secrets(self, catalog: str, servers: Iterable[Server], values: Mapping[str, str]) -> None:
        """Keep values by the name of their reference, for the servers of a catalog that refer to them."""
        keep_values(self.vault, catalog, servers, values)

    def import_files(
        self, paths: Iterable[Path], name: str | None = None, *, follow: Follow | None = None
    ) -> ImportReport:
        """Read catalogs or client configurations and keep them as one catalog, which follows these files. All or nothing."""
        files = [Path(path) for path in paths]
        if not files:
            raise CatalogError("No file was given; name at least one catalog or client configuration.")
        return self._followed(files, name, follow, self.keep)

    def discover_file(self, path: Path, name: str | None = None, *, follow: Follow | None = None) -> ImportReport:
        """Read a client configuration and take its servers' tools live. The catalog follows the file."""
        return self._followed([path], name, follow, self.discover)

    def _followed(
        self,
        files: Sequence[Path],
        name: str | None,
        follow: Follow | None,
        take: Callable[[Imported, str, str], ImportReport],
    ) -> ImportReport:
        imported, name = read_files(files, pack=packed), (name or files[0].stem).strip()
        file = self.followed.of(name)
        report = take(imported, name, ", ".join(path.name for path in files))
        self.followed.remember(name, files, imported, follow or ("show" if file is None else file.follow))
        return report

    def discover(self, imported: Imported, name: str, source: str) -> ImportReport:
        """Connect to every server of a read document, take its tools live and keep the catalog.

        A server that does not answer stays as it was in the catalog. A new one is left out, with its values. A server that needs a
        value or a sign-in is kept without tools. If no server is left, nothing changes (CatalogError).
        """
        check_name(name, self.catalogs.stored())
        imported = self._with_hidden(name, imported)
        servers = (*imported.servers, *imported.off)
        previous_values = stored_values(self.vault, name, servers, imported.secrets)
        self.keep_secrets(name, servers, imported.secrets)
        load_protocol()
        from core.servers.discovery import discover

        off = self.followed.by_operator(self._known(name))
        discoveries = discover(self.sessions(), name, [server for server in imported.servers if server.name not in off])
        none_answered = bool(discoveries) and all(discovery.server is None for discovery in discoveries)
        previous, new = self._known(name).by_name, {server.name: server for server in imported.servers}
        left_out = {discovery.name for discovery in discoveries if discovery.server is None} - previous.keys()
        for (server, key), value in previous_values.items():
            if none_answered or server.server in left_out:
                if value is None:
                    self.vault.remove(server, key)
                else:
                    self.vault.put(server, key, value)
        if none_answered:
            reasons = "; ".join(d.error for d in discoveries)
            raise CatalogError(f"{source}: no server answered, so nothing was kept. {reasons}")
        discoveries = tuple(
            replace(discovery, server=with_known(new[discovery.name], known), kept=True)
            if discovery.error
            and (known := previous.get(discovery.name)) is not None
            and (known.tools or discovery.server is None)
            else discovery
            for discovery in discoveries
        )
        servers = tuple(d.server for d in discoveries if d.server is not None)
        report = self._saved(self._with_off(name, servers, imported), source, imported, discoveries)
        if imported.format != OWN:
            self.followed.forget(name)
        return report

    def _with_hidden(self, name: str, imported: Imported) -> Imported:
        """Returns the import with each variable as a secret that is one in the catalog, but was none in the file: a person has hidden it."""
        previous, secrets, notes = self._known(name).by_name, dict(imported.secrets), list(imported.notes)
        file = self.followed.of(name)
        taken = () if file is None else file.taken.by_name.values()
        read = {(old.name, *pair) for old in taken if old.connection is not None for pair in old.connection.env.items()}

        def hidden(server: Server) -> Server:
            known, new, env = previous.get(server.name), server.connection, dict[str, str]()
            if known is None or known.connection is None or new is None:
                return server
            for variable, text in new.env.items():
                key = secret_name(server.name, variable)
                reference, says = f"${{secret:{key}}}", f"env {shown(variable)} stays "
                by_person = (server.name, variable, reference) not in read
                if text and not names_in(text) and known.connection.env.get(variable) == reference and by_person:
                    env[variable], secrets[key] = reference, text
                    notes[:] = [n for n in notes if shown(server.name) not in n.where or says not in n.text]
            return replace(server, connection=replace(new, env={**new.env, **env}))

        servers, off = (tuple(map(hidden, group)) for group in (imported.servers, imported.off))
        return replace(imported, servers=servers, off=off, secrets=secrets, notes=tuple(notes))

    def _known(self, name: str) -> Catalog:
        exists = name in {info.name for info in self.catalogs.infos()}
        return without_wordings(self.catalogs.catalog(name)) if exists else Catalog(name)

    def _with_off(self, name: str, servers: tuple[Server, ...], imported: Imported) -> Catalog:
        """Returns a catalog of these servers. A server that the import or the operator switched off is off."""
        known = self._known(name)
        stays_off, previous = self.followed.by_operator(known), known.by_name
        on = tuple(server for server in servers if server.name not in stays_off)
        off = [*imported.off, *(server for server in imported.servers if server.name in stays_off)]
        return Catalog(name, on, tuple(with_known(server, previous.get(server.name)) for server in off))

    def remove(self, name: str) -> None:
        """Forget an imported catalog and its servers' secrets. Its events stay."""
        previous = self.catalogs.catalog(name)
        self.catalogs.remove(name)
        self.vault.forget(name)
        self.followed.forget(name)
        self._end_sessions(previous, Catalog(name))

    def copies(self, catalog: str, server: str, recipe: Recipe) -> tuple[Server, ...]:
        stored_catalog = self.catalogs.catalog(catalog)
        return copies(stored_catalog.server(server), recipe, taken=stored_catalog.server_row)

    def multiply(self, catalog: str, server: str, recipe: Recipe, *, name: str = "") -> Catalog:
        """Keep a new catalog in which a server is accompanied or replaced by virtual copies of it."""
        stored_catalog = self.catalogs.catalog(catalog)
        new_catalog = multiplied(
            without_wordings(stored_catalog),
            server,
            recipe,
            name=name or multiplied_name(stored_catalog.name, server, recipe.copies),
        )
        source = f"{stored_catalog.name}, {server} × {recipe.copies}, seed {recipe.seed}, spread {recipe.spread:g}"
        self.catalogs.save(new_catalog, source)
        return new_catalog

    def set_figure(self, catalog: str, server: str, tool: str, value: float | None) -> None:
        """Set or clear (None) an operator's price of a tool, or with an empty tool the ask of a server. USD per call."""
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise CatalogError(f"{value} is not a price; give a number of at least 0 in USD per call.")
        stored_catalog = self.catalogs.catalog(catalog)
        if (f"{server}::{tool}" not in stored_catalog.tool_row) if tool else (server not in stored_catalog.server_row):
            raise UnknownNameError(f"There is no {tool or server!r} to price in catalog {catalog!r}; check the name.")
        field = "price_usd" if tool else "ask_usd"
        self.catalogs.set_override(Override(catalog, server, tool, field, value, datetime.now(UTC)))

    def _saved(
        self, catalog: Catalog, source: str, imported: Imported, discoveries: tuple[Discovery, ...] = ()
    ) -> ImportReport:
        previous = self._known(catalog.name)
        self.catalogs.save(catalog, source)
        self._end_sessions(previous, catalog, opened={discovery.name for discovery in discoveries})
        errors = self.lint_reports.count_errors(catalog.name) if len(catalog.tools) <= MOST_LINTED else None
        return ImportReport(catalog.name, len(catalog.servers), len(catalog.tools), imported, errors, discoveries)

    def _end_sessions(self, previous: Catalog, catalog: Catalog, opened: Collection[str] = ()) -> None:
        """End the sessions of servers that are gone, switched off, or reached in another way, but not those just `opened`."""
        connections = {server.name: server.connection for server in catalog.servers}
        for server in previous.servers:
            changed = server.connection is not None and server.connection != connections.get(server.name)
            if changed and server.name not in opened:
                self.sessions().end(ServerId(catalog.name, server.name))


def _same_program(server: Server, known: Server | None) -> bool:
    """Whether a server is reached as before. Another program has other tools."""
    a, b = server.connection, None if known is None else known.connection
    return a is None or b is None or (a.command, *a.args, a.url) == (b.command, *b.args, b.url)


@actions("tune", put="reword", remove="remove a wording")
@dataclass(eq=False)
class Wordings:
    store: Store
    catalogs: CatalogService
    now: Callable[[], datetime]

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def list(self, catalog: str) -> tuple[Wording, ...]:
        """The wordings of a catalog, including the stale wordings."""
        return stored_wordings(self.store, catalog)

    def stale(self, catalog: str) -> tuple[Wording, ...]:
        """The wordings that do not count because the server changed its description or lost the tool."""
        stored_catalog = self.catalogs.with_servers_off(catalog)
        descriptions = {(tool.server, tool.name): tool.own_description for tool in stored_catalog.tools}
        descriptions |= {(server.name, ""): server.own_description for server in stored_catalog.servers}
        pairs = ((wording, descriptions.get((wording.server, wording.tool))) for wording in self.list(catalog))
        return tuple(wording for wording, words in pairs if words is None or words_digest(words) != wording.of)

    def put(self, catalog: str, place: str, text: str) -> None:
        """Describes a tool (`server::tool`) or a server anew. Raises UnknownNameError, and CatalogError for an unusable
        text."""
        text = visible(text).strip()
        if not text:
            raise CatalogError("The description is empty. Write one, or take the server's own back with --remove.")
        if len(text) > LONGEST:
            raise CatalogError(f"The description has {len(text):,} characters; at most {LONGEST:,} are taken.")
        server, tool, words = self._found(catalog, place)
        wording = Wording(server, tool, text, words_digest(words), self.now().isoformat())
        self._write(catalog, server, tool, (wording,))

    def remove(self, catalog: str, place: str) -> None:
        """Takes the server's own words back. Raises UnknownNameError if there is no wording."""
        server, _, tool = place.partition("::")
        if not any((wording.server, wording.tool) == (server, tool) for wording in self.list(catalog)):
            raise UnknownNameError(f"{place!r} of catalog {catalog!r} has the server's own description already.")
        self._write(catalog, server, tool, ())

    def _found(self, catalog: str, place: str) -> tuple[str, str, str]:
        server, colons, tool = place.partition("::")
        stored_catalog = self.catalogs.with_servers_off(catalog)
        if colons:
            stored_tool = stored_catalog.find(server, tool)[1]
            return stored_tool.server, stored_tool.name, stored_tool.own_description
        if server not in stored_catalog.server_row:
            raise UnknownNameError(f"There is no server {server!r} in catalog {catalog!r}; check the name.")
        return server, "", stored_catalog.servers[stored_catalog.server_row[server]].own_description

    def _write(self, catalog: str, server: str, tool: str, fresh: tuple[Wording, ...]) -> None:
        with self._lock:
            others = [wording for wording in self.list(catalog) if (wording.server, wording.tool) != (server, tool)]
            self.store.set_setting(setting_of(catalog), [asdict(wording) for wording in (*others, *fresh)])
            self.catalogs.reword(catalog)
