"""Requests to a server of a catalog that are no calls of tools: lists, resources, prompts, completion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Connection, ServerId, Tool
from core.domain.errors import WayfareError
from core.domain.execution import SessionOwner
from core.governance.governance import GovernanceService
from core.servers.lazy_pool import load_protocol
from core.virtual.launch import virtual_connection

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp_types import Implementation

    from core.servers.discovery import Contents, OwnSession
    from core.servers.pool import SessionPool


def own_session(target: Transport, client_info: Implementation, abilities: frozenset[str], legacy: bool) -> OwnSession:
    """A session of the caller's own with one server, outside the pool. `legacy`: of a revision up to 2025-11-25."""
    load_protocol()
    from core.servers.discovery import OwnSession

    return OwnSession(target, client_info, abilities, legacy)


@dataclass(eq=False)
class ServerRequests:
    """Thread-safe. `sessions` returns the pool; requests use the same sessions as calls."""

    catalogs: CatalogService
    sessions: Callable[[], SessionPool]
    virtual_folder: Path

    def connection(self, server: ServerId) -> Connection:
        """How the server is reached. Raises WayfareError where the catalog does not say."""
        catalog = self.catalogs.catalog(server.catalog)
        row = catalog.server_row.get(server.server)
        found = None if row is None else catalog.servers[row]
        if found is not None and found.connection is not None:
            return found.connection
        if found is not None and found.virtual:
            return virtual_connection(found, self.virtual_folder)
        raise WayfareError(
            f"Server {server.server} has no command or URL in catalog {server.catalog}; add a connection."
        )

    def list(self, server: ServerId, method: str, *, limit_s: float) -> list[Any]:
        """The listing of a server, in the protocol's types. Raises MCPError, WayfareError."""
        load_protocol()
        from core.servers.discovery import list_of

        return list_of(self.sessions(), server, self.connection(server), method, limit_s=limit_s)

    def subscribe(self, server: ServerId, uri: str, owner: SessionOwner, *, wanted: bool, limit_s: float) -> None:
        """Begin or end to hear of changes of a resource, see `Upkeep.updates`. Raises MCPError, WayfareError."""
        connection = self.connection(server)
        self.sessions().subscribe(server, connection, uri, wanted=wanted, limit_s=limit_s, owner=owner)

    def hears(self, server: ServerId, uri: str, owner: SessionOwner) -> bool:
        """Whether changes of a resource are heard of now. Raises WayfareError where the catalog has no connection."""
        return self.sessions().hears(server, self.connection(server), uri, owner)

    def send(self, server: ServerId, method: str, params: Any, *, limit_s: float) -> Any:
        """A server's answer, in the protocol's types. Raises MCPError, WayfareError."""
        load_protocol()
        from core.servers.discovery import answer_of

        return answer_of(self.sessions(), server, self.connection(server), method, params, limit_s=limit_s)


# Resources that results of tools link to: read from the server that gave the link.

READ = "resources/read"


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """An address that a result of a tool linked to."""

    catalog: str
    server: str
    tool: str
    uri: str

    @property
    def server_id(self) -> ServerId:
        """The server that gives it, by name and catalog."""
        return ServerId(self.catalog, self.server)


@dataclass(eq=False)
class LinkedResources:
    """Thread-safe."""

    governance: GovernanceService
    catalogs: CatalogService
    requests: ServerRequests

    def tool(self, link: ResourceLink) -> Tool:
        """The tool that gave it. Raises UnknownNameError where the catalog has it no more."""
        return self.catalogs.catalog(link.catalog).find(link.server, link.tool)[1]

    def read(self, link: ResourceLink, client: str, *, limit_s: float) -> tuple[Contents, ...]:
        """The current content from its server; it counts as one call. Raises Refusal, WayfareError."""
        load_protocol()
        from core.servers.discovery import read_resource

        self.governance.request(client, link.catalog, Tool(link.server, READ), linked_by=self.tool(link))
        connection = self.requests.connection(link.server_id)
        return read_resource(self.requests.sessions(), link.server_id, connection, link.uri, limit_s=limit_s)
