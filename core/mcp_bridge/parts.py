"""What a server has beside its tools: lists of resources, templates and prompts, and single requests of them."""

from __future__ import annotations

from typing import Any

import mcp_types
from mcp import Client, MCPError
from mcp.client.session import ClientSession

from core.domain.catalog import Connection, ServerId
from core.execution.client_side import CLIENT_SIDE, NOBODY, ClientSide
from core.execution.listings import ITEMS, PROMPTS, RESOURCES, TEMPLATES, TOOLS
from core.mcp_bridge.masking import without_secrets
from core.mcp_bridge.pool import SessionPool
from core.mcp_bridge.sdk_client import MAX_PAGES
from core.mcp_bridge.session import Lease


async def sent(session: ClientSession, method: str, params: Any) -> Any:
    """The answer to one request, which may be the server's questions in its place. Raises MCPError."""
    asked_before = {name: getattr(params, name, None) for name in ("input_responses", "request_state")}
    match params:
        case mcp_types.ReadResourceRequestParams():
            return await session.read_resource(params.uri, **asked_before, allow_input_required=True)
        case mcp_types.GetPromptRequestParams():
            return await session.get_prompt(params.name, params.arguments, **asked_before, allow_input_required=True)
        case mcp_types.CompleteRequestParams():
            given = None if params.context is None else params.context.arguments
            return await session.complete(params.ref, params.argument.model_dump(), given)
        case _:
            lists = {RESOURCES: session.list_resources, TEMPLATES: session.list_resource_templates}
            return await {**lists, PROMPTS: session.list_prompts, TOOLS: session.list_tools}[method](params=params)


async def answered(client: Client, side: ClientSide | None, method: str, params: Any) -> Any:
    """The answer to one request. Questions go to a client that can be asked meanwhile, or are the answer. Raises MCPError."""
    if side is None or not side.asked_between:
        if isinstance(params, mcp_types.GetPromptRequestParams):
            return await client.get_prompt(params.name, params.arguments)
        if isinstance(params, mcp_types.ReadResourceRequestParams):
            return await client.read_resource(params.uri)
    return await sent(client.session, method, params)


def list_of(pool: SessionPool, server: ServerId, connection: Connection, method: str, *, limit_s: float) -> list[Any]:
    """Every page of a list, without secrets; empty where the server has no such list. Raises MCPError, WayfareError."""

    async def work(lease: Lease) -> list[Any]:
        if not _declares(lease.client, method):
            return []
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            params = mcp_types.PaginatedRequestParams(cursor=cursor)
            page = await sent(lease.client.session, method, params)
            found += getattr(page, ITEMS[method])
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    return [without_secrets(one, pool.vault.redact) for one in _used(pool, server, connection, work, limit_s)]


def answer_of(
    pool: SessionPool, server: ServerId, connection: Connection, method: str, params: Any, *, limit_s: float
) -> Any:
    """The server's answer to a request. Raises MCPError without secrets, WayfareError where it cannot be reached in time."""

    side = CLIENT_SIDE.get()

    async def work(lease: Lease) -> Any:
        with lease.session.asking.under_way(side, pool.vault.redact):
            return await answered(lease.client, side, method, params)

    return _used(pool, server, connection, work, limit_s, NOBODY if side is None else side.abilities)


def _used(
    pool: SessionPool,
    server: ServerId,
    connection: Connection,
    work: Any,
    limit_s: float,
    abilities: frozenset[str] = NOBODY,
) -> Any:
    try:
        return pool.use(server, connection, work, limit_s=limit_s, abilities=abilities)
    except MCPError as error:
        raise MCPError.from_error_data(without_secrets(error.error, pool.vault.redact)) from None


def _declares(client: Client, method: str) -> bool:
    has = client.server_capabilities
    return {TOOLS: has.tools, PROMPTS: has.prompts}.get(method, has.resources) is not None
