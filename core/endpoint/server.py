"""The endpoint over MCP: the list of its tools, and each call with the name of the client that makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as McpServer

from core.endpoint.base import Answer, Refusal, Request
from core.endpoint.options import EndpointOptions
from core.endpoint.tools import DEFINITIONS, INSTRUCTIONS
from core.endpoint.tracing import traced
from core.shared.errors import WayfareError
from core.shared.untrusted_text import one_line

Context = ServerRequestContext[Any, Any]
Call = Callable[[Request], Awaitable[Answer]]
Listing = Callable[[EndpointOptions, str], Awaitable[list[mcp_types.Tool]]]
LISTED = CacheHint(ttl_ms=3_600_000, scope="public")  # the same for every client, as long as Wayfare runs
MIRRORED_MS = 60_000
CLIENT_CHARS = 80
SCHEMAS = {tool.name: tool.input_schema for tool in DEFINITIONS}


def mcp_server(
    call: Call,
    options_of: Callable[[Context], EndpointOptions],
    client_of: Callable[[Context], str] = lambda _: "",
    *,
    listing: Listing,
) -> McpServer[Any]:
    """The server; `call` answers a request, `options_of` says with which options it comes, `client_of` whose token came with it,
    "" where none did, `listing` which tools it sees."""

    async def listed(context: Context, _: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        try:
            options = options_of(context)
        except WayfareError as error:
            raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from error
        tools = await listing(options, client_of(context) or client_name(context))
        if options.mirror:  # of this client, and it may change
            return mcp_types.ListToolsResult(tools=tools, ttl_ms=MIRRORED_MS, cache_scope="private")
        return mcp_types.ListToolsResult(tools=tools)

    async def called(context: Context, params: mcp_types.CallToolRequestParams) -> Answer:
        try:
            options = options_of(context)
        except WayfareError as error:
            return Refusal("not_possible", str(error), "Change the address of the endpoint.").answer()
        known = client_of(context)
        return await call(
            Request(
                tool=params.name,
                arguments=params.arguments or {},
                options=options,
                client=known or client_name(context),
                known=bool(known),
                progress=context.session.report_progress,
            )
        )

    server = McpServer[Any](
        "wayfare",
        version=version("wayfare"),
        title="Wayfare",
        description="Finds, calls and learns the tools of all connected MCP servers.",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": LISTED, "server/discover": LISTED},
        get_tool_input_schema=SCHEMAS.get,
        on_list_tools=listed,
        on_call_tool=called,
    )
    server.middleware.insert(0, traced)
    return server


def client_name(context: Context) -> str:
    """The name that the client gives itself, in one line with nothing unseen; "unknown" where it gives none."""
    params = context.session.client_params
    return one_line(params.client_info.name if params is not None else "", CLIENT_CHARS) or "unknown"
