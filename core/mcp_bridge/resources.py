"""Reading a resource of a server, under an address that one of its results linked to."""

from __future__ import annotations

import mcp_types
from mcp import MCPError

from core.domain.catalog import Connection, ServerId
from core.mcp_bridge.pool import SessionPool
from core.mcp_bridge.session import Lease
from core.shared.errors import WayfareError

Contents = mcp_types.TextResourceContents | mcp_types.BlobResourceContents


def read_resource(
    pool: SessionPool, server: ServerId, connection: Connection, uri: str, *, limit_s: float
) -> tuple[Contents, ...]:
    """What the server gives under the address. Raises WayfareError where it gives nothing, or cannot be reached in time."""

    async def work(lease: Lease) -> tuple[Contents, ...]:
        return tuple((await lease.client.read_resource(uri)).contents)

    try:
        return pool.use(server, connection, work, limit_s=limit_s)
    except MCPError as error:
        raise WayfareError(f"{server.server} does not give {uri}: {pool.vault.redact(str(error))}") from None
