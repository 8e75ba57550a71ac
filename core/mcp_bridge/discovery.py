"""Discovery: listing the tools of servers, several at a time, without one failing server stopping the others."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import mcp_types

from core.domain.catalog import Connection, Server, ServerId, Tool
from core.domain.imports import Discovery
from core.mcp_bridge.codec import decode_tool
from core.mcp_bridge.pool import SessionPool
from core.mcp_bridge.sdk_client import all_tools
from core.mcp_bridge.session import Lease
from core.shared.errors import WayfareError

PARALLEL = 8
MAX_DESCRIPTION_CHARS = 2000


@dataclass(frozen=True)
class _Listing:
    tools: list[mcp_types.Tool]
    info: mcp_types.Implementation | None
    instructions: str
    connect_s: float | None
    virtual: bool


def discover(
    pool: SessionPool, catalog: str, servers: Iterable[Server], *, limit_s: float = 30.0
) -> tuple[Discovery, ...]:
    """List the tools of every server of a catalog, at most 8 servers at a time, in the given order; each may take `limit_s`.

    A server that fails does not stop the others. What the catalog declares about a tool (price, latency, success, tier) stays.
    """
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="discover") as threads:
        return tuple(threads.map(partial(_discover_one, pool, catalog, limit_s), servers))


def _discover_one(pool: SessionPool, catalog: str, limit_s: float, server: Server) -> Discovery:
    try:
        key = ServerId(catalog, server.name)
        listing = pool.use(key, _reachable(pool, key, server.connection), _list_tools, limit_s=limit_s)
        found = described(server, listing.tools, listing.info, listing.instructions)
        return Discovery(server.name, replace(found, virtual=server.virtual or listing.virtual), "", listing.connect_s)
    except Exception as error:  # noqa: BLE001  whatever a server makes the SDK throw is reported for this server alone
        reason = pool.vault.redact(str(error))[:MAX_DESCRIPTION_CHARS]
        sentence = reason if reason.startswith("Server ") else f"Server {server.name} does not list its tools: {reason}"
        return Discovery(server.name, None, sentence, getattr(error, "connect_s", None))


def _reachable(pool: SessionPool, key: ServerId, connection: Connection | None) -> Connection:
    if connection is None or not (connection.command if connection.transport == "stdio" else connection.url):
        raise WayfareError(f"Server {key.server} has no command or URL; add a connection to discover its tools.")
    if missing := pool.vault.missing(key, connection):
        raise WayfareError(f"Server {key.server} needs a value for {', '.join(missing)}; enter it to connect.")
    return connection


async def _list_tools(lease: Lease) -> _Listing:
    client = lease.client
    tools = await all_tools(client)
    return _Listing(tools, client.server_info, client.instructions or "", lease.connect_s, lease.simulated)


def described(
    server: Server, tools: Iterable[mcp_types.Tool], info: mcp_types.Implementation | None, instructions: str
) -> Server:
    """The server with the tools that it listed; its own description and title fill in where the catalog has none.

    Raises WayfareError where two tools share a name or a name is empty or has control characters.
    """
    declared = {tool.name: tool for tool in server.tools}
    found: dict[str, Tool] = {}
    for listed_tool in tools:
        name = listed_tool.name
        if not name or any(unicodedata.category(letter) in {"Cc", "Cf"} for letter in name):
            raise WayfareError(f"Server {server.name} lists a tool with an unusable name: {name!r}.")
        if name in found:
            raise WayfareError(f"Server {server.name} lists two tools named {name}.")
        found[name] = _with_declared(decode_tool(server.name, listed_tool), declared.get(name))
    own_words = (info.description if info is not None else None) or instructions
    return replace(
        server,
        tools=tuple(found.values()),
        title=server.title or (info.title if info is not None else None) or "",
        description=server.description if server.description.strip() else own_words.strip()[:MAX_DESCRIPTION_CHARS],
    )


def _with_declared(tool: Tool, declared: Tool | None) -> Tool:
    if declared is None:
        return tool
    return replace(
        tool,
        price_usd=declared.price_usd,
        latency_s=declared.latency_s,
        success=declared.success,
        tier=declared.tier,
        tier_reason=declared.tier_reason,
        preconditions=declared.preconditions,
    )
