"""Resources that results of tools link to: read from the server that gave the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.domain.catalog import ServerId, Tool
from core.mcp_bridge.lazy_pool import load_protocol
from core.services.catalogs import CatalogService
from core.services.server_requests import ServerRequests

if TYPE_CHECKING:
    from core.mcp_bridge.resources import Contents


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """An address that a result of a tool linked to."""

    catalog: str
    server: str
    tool: str
    uri: str


class LinkedResources:
    """Thread-safe."""

    def __init__(self, catalogs: CatalogService, requests: ServerRequests) -> None:
        self._catalogs = catalogs
        self._requests = requests

    def tool(self, link: ResourceLink) -> Tool:
        """The tool that gave it. Raises UnknownNameError where the catalog has it no more."""
        return self._catalogs.catalog(link.catalog).find(link.server, link.tool)[1]

    def read(self, link: ResourceLink, *, limit_s: float) -> tuple[Contents, ...]:
        """What its server gives now. Raises WayfareError."""
        load_protocol()
        from core.mcp_bridge.resources import read_resource

        self.tool(link)
        key = ServerId(link.catalog, link.server)
        connection = self._requests.connection(key)
        return read_resource(self._requests.sessions(), key, connection, link.uri, limit_s=limit_s)
