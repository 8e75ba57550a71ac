"""Resources that results of tools link to: read from the server that gave the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.domain.catalog import ServerId, Tool
from core.mcp_bridge.lazy_pool import load_protocol
from core.services.catalogs import CatalogService
from core.services.governance import GovernanceService
from core.services.server_requests import ServerRequests

if TYPE_CHECKING:
    from core.mcp_bridge.resources import Contents

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


class LinkedResources:
    """Thread-safe."""

    def __init__(self, governance: GovernanceService, catalogs: CatalogService, requests: ServerRequests) -> None:
        self._governance = governance
        self._catalogs = catalogs
        self._requests = requests

    def tool(self, link: ResourceLink) -> Tool:
        """The tool that gave it. Raises UnknownNameError where the catalog has it no more."""
        return self._catalogs.catalog(link.catalog).find(link.server, link.tool)[1]

    def read(self, link: ResourceLink, client: str, *, limit_s: float) -> tuple[Contents, ...]:
        """What its server gives a client now; it counts as one call. Raises NotAllowedError, WayfareError."""
        load_protocol()
        from core.mcp_bridge.resources import read_resource

        self._governance.request(client, link.catalog, Tool(link.server, READ), linked_by=self.tool(link))
        connection = self._requests.connection(link.server_id)
        return read_resource(self._requests.sessions(), link.server_id, connection, link.uri, limit_s=limit_s)
