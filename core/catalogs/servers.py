"""One server of a catalog alone: added, removed, switched off and on, restarted, asked again for its tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog, Connection, Discovery, Imported, Note, Server, ServerId
from core.domain.errors import CatalogError, UnknownNameError
from core.domain.people import actions
from core.domain.settings import OFFICIAL_REGISTRY
from core.importers.registry import published
from core.importers.shipped_catalogs import check_name
from core.servers.lazy_pool import load_protocol
from core.servers.secrets import SecretVault, reference_names

if TYPE_CHECKING:
    from core.servers.pool import SessionPool

SOURCE = "servers added one by one"


@actions("administer", add="add a server", hold="add a server of the registry", remove="remove a server", disable="disable a server", enable="enable a server", restart="restart a server", discover="ask a server for its tools")  # fmt: skip
@dataclass(eq=False)
class ServerEditor:
    """Changes one server; the others of its catalog stay as they are. Thread-safe."""

    catalogs: CatalogService
    vault: SecretVault
    sessions: Callable[[], SessionPool]
    registry: str = OFFICIAL_REGISTRY

    def add(self, catalog: str, imported: Imported) -> Discovery:
        """Add the server of a read document with its tools, and make the catalog if it is missing. A server that does not answer is
        added without tools. Raises CatalogError if the name is taken."""
        self._keep(catalog, imported, imported.servers[0])
        return self.discover(catalog, imported.servers[0].name)

    def hold(self, catalog: str, name: str) -> Imported:
        """Add a server by its name in the MCP Registry, switched off: it is not started before a person has looked at it and switches
        it on. The notes say what it starts and needs. Raises CatalogError."""
        imported = published(self.registry, name)
        (server,) = imported.servers
        reached = server.connection or Connection("http")
        self._keep(catalog, imported, replace(server, connection=replace(reached, quarantined=True)), off=True)
        starts = Note(name, f"it starts or is reached as {' '.join((reached.url or reached.command, *reached.args))}")
        needs = (Note(name, f"it needs {one.id}: {one.description}") for one in imported.prompts)
        return replace(imported, notes=(starts, *needs, *imported.notes))

    def _keep(self, catalog: str, imported: Imported, server: Server, *, off: bool = False) -> None:
        if not any(info.name == catalog for info in self.catalogs.infos()):
            check_name(catalog)
            self.catalogs.save(Catalog(catalog), SOURCE)
        self.catalogs.edit(catalog, lambda known: _added(known, server, off=off))
        keep_values(self.vault, catalog, [server], imported.secrets)

    def remove(self, catalog: str, name: str) -> None:
        """Remove a server, its values and its sessions. Its statistics come back with a server of that name. Raises UnknownNameError."""
        self.catalogs.edit(catalog, lambda known: without(known, name))
        self.sessions().end(ServerId(catalog, name))
        for server, value in list(self.vault.names()):
            if server == ServerId(catalog, name):
                self.vault.remove(server, value)

    def disable(self, catalog: str, name: str) -> None:
        """Switch a server off: it is neither offered nor called, and keeps its statistics and values. Raises UnknownNameError."""
        self.catalogs.edit(catalog, lambda known: switched_off(known, name))
        self.sessions().end(ServerId(catalog, name))

    def enable(self, catalog: str, name: str) -> Discovery | None:
        """Switch a server on again. Returns what it listed if its tools were not known. Raises UnknownNameError."""
        server = self.catalogs.edit(catalog, lambda known: switched_on(known, name)).server(name)
        return self.discover(catalog, name) if server.connection is not None and not server.tools else None

    def restart(self, catalog: str, name: str) -> None:
        """End the sessions of a server and its process, and connect to it again. Raises UnknownNameError, WayfareError if it does not
        answer."""
        server = self.catalogs.catalog(catalog).server(name)
        if server.connection is None:
            raise CatalogError(f"Server {name!r} has no connection, so there is nothing to restart.")
        self.sessions().end(ServerId(catalog, name))
        self.sessions().check(ServerId(catalog, name), server.connection)

    def discover(self, catalog: str, name: str) -> Discovery:
        """Take the tools of one server live. If it does not answer, it stays as it is. Raises UnknownNameError."""
        return self.refresh(catalog, [self.catalogs.catalog(catalog).server(name)])[0]

    def refresh(self, catalog: str, servers: Sequence[Server]) -> tuple[Discovery, ...]:
        """Take the tools of some servers of a catalog live. A server that was removed or switched off meanwhile stays so."""
        load_protocol()
        from core.servers.discovery import discover

        found = discover(self.sessions(), catalog, servers)

        def change(known: Catalog) -> Catalog:
            for one in found:
                has_tools = one.name in known.server_row and bool(known.server(one.name).tools)
                if one.server is not None and one.name in known.server_row and not (one.error and has_tools):
                    known = known.with_server(one.server)
            return known

        self.catalogs.edit(catalog, change)
        kept = {server.name: server for server in servers if server.tools}
        return tuple(
            replace(one, server=kept[one.name], kept=True) if one.error and one.name in kept else one for one in found
        )


def keep_values(vault: SecretVault, catalog: str, servers: Iterable[Server], values: Mapping[str, str]) -> None:
    """Keep values by the name of their reference, for those servers of a catalog that refer to them."""
    vault.put_all(
        (ServerId(catalog, server.name), name, values[name])
        for server in servers
        for name in reference_names(server.connection) & values.keys()
    )


def switched_off(catalog: Catalog, name: str) -> Catalog:
    """The catalog with a server switched off. Raises UnknownNameError.

    >>> off = switched_off(Catalog("mine", (Server("git"), Server("mail"))), "git")
    >>> [server.name for server in off.servers], [server.name for server in switched_on(off, "git").servers]
    (['mail'], ['mail', 'git'])
    """
    server = catalog.server(name)
    return replace(without(catalog, name), off=(*catalog.off, server))


def switched_on(catalog: Catalog, name: str) -> Catalog:
    """The catalog with a server switched on. Raises UnknownNameError."""
    server = next((one for one in catalog.off if one.name == name), None)
    if server is None:
        return catalog.with_server(catalog.server(name))
    return without(catalog, name).with_server(server)


def _added(catalog: Catalog, server: Server, *, off: bool) -> Catalog:
    if any(server.name == known.name for known in (*catalog.servers, *catalog.off)):
        raise CatalogError(
            f"Catalog {catalog.name!r} has a server {server.name!r}; remove it first, or give another name."
        )
    return replace(catalog, off=(*catalog.off, server)) if off else catalog.with_server(server)


def without(catalog: Catalog, name: str) -> Catalog:
    """The catalog without a server, on or off. Raises UnknownNameError."""
    servers, off = (tuple(one for one in part if one.name != name) for part in (catalog.servers, catalog.off))
    if len(servers) + len(off) == len(catalog.servers) + len(catalog.off):
        raise UnknownNameError(f"There is no server {name!r} in catalog {catalog.name!r}; check the name.")
    return replace(catalog, servers=servers, off=off)
