"""Requests to a server of a catalog that are no calls of tools: lists, resources, prompts, completion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.domain.catalog import Connection, ServerId
from core.mcp_bridge.lazy_pool import load_protocol
from core.services.catalogs import CatalogService
from core.shared.errors import WayfareError
from core.virtual.launch import virtual_connection

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp_types import Implementation

    from core.mcp_bridge.own_session import OwnSession as OwnSession  # noqa: PLC0414 - the endpoint names it, too
    from core.mcp_bridge.pool import SessionPool


def own_session(target: Transport, client_info: Implementation, abilities: frozenset[str]) -> OwnSession:
    """A session of the caller's own with one server, outside the pool."""
    load_protocol()
    from core.mcp_bridge.own_session import OwnSession

    return OwnSession(target, client_info, abilities)


class ServerRequests:
    """Thread-safe. `sessions` gives the pool; what is sent goes over the same sessions as calls do."""

    def __init__(self, catalogs: CatalogService, sessions: Callable[[], SessionPool], virtual_folder: Path) -> None:
        self._catalogs = catalogs
        self.sessions = sessions
        self._virtual_folder = virtual_folder

    def connection(self, server: ServerId) -> Connection:
        """How the server is reached. Raises WayfareError where the catalog does not say."""
        catalog = self._catalogs.catalog(server.catalog)
        row = catalog.server_row.get(server.server)
        found = None if row is None else catalog.servers[row]
        if found is not None and found.connection is not None:
            return found.connection
        if found is not None and found.virtual:
            return virtual_connection(found, self._virtual_folder)
        raise WayfareError(
            f"Server {server.server} has no command or URL in catalog {server.catalog}; add a connection."
        )

    def list(self, server: ServerId, method: str, *, limit_s: float) -> list[Any]:
        """What a server lists, in the protocol's types. Raises MCPError, WayfareError."""
        load_protocol()
        from core.mcp_bridge.parts import list_of

        return list_of(self.sessions(), server, self.connection(server), method, limit_s=limit_s)

    def send(self, server: ServerId, method: str, params: Any, *, limit_s: float) -> Any:
        """A server's answer, in the protocol's types. Raises MCPError, WayfareError."""
        load_protocol()
        from core.mcp_bridge.parts import answer_of

        return answer_of(self.sessions(), server, self.connection(server), method, params, limit_s=limit_s)
