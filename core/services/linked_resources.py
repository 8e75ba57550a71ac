"""Resources that results of tools link to: read from the server that gave the link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.catalog import ServerId, Tool
from core.services.catalogs import CatalogService
from core.shared.errors import WayfareError
from core.virtual.launch import virtual_connection

if TYPE_CHECKING:
    from core.mcp_bridge.pool import SessionPool
    from core.mcp_bridge.resources import Contents


@dataclass(frozen=True, slots=True)
class ResourceLink:
    """An address that a result of a tool linked to."""

    catalog: str
    server: str
    tool: str
    uri: str


class LinkedResources:
    """Thread-safe. `sessions` gives the pool."""

    def __init__(self, catalogs: CatalogService, sessions: Callable[[], SessionPool], virtual_folder: Path) -> None:
        self._catalogs = catalogs
        self._sessions = sessions
        self._virtual_folder = virtual_folder

    def tool(self, link: ResourceLink) -> Tool:
        """The tool that gave it. Raises UnknownNameError where the catalog has it no more."""
        return self._catalogs.catalog(link.catalog).find(link.server, link.tool)[1]

    def read(self, link: ResourceLink, *, limit_s: float) -> tuple[Contents, ...]:
        """What its server gives now. Raises WayfareError."""
        from core.mcp_bridge.resources import read_resource  # loads the MCP packages

        server, _ = self._catalogs.catalog(link.catalog).find(link.server, link.tool)
        connection = server.connection
        if connection is None and server.virtual:
            connection = virtual_connection(server, self._virtual_folder)
        if connection is None:
            raise WayfareError(
                f"Server {link.server} has no command or URL in catalog {link.catalog}; add a connection."
            )
        key = ServerId(link.catalog, link.server)
        return read_resource(self._sessions(), key, connection, link.uri, limit_s=limit_s)
