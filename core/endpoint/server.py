"""The endpoint over MCP: the list of its tools, and each call with the name of the client that makes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as McpServer

from core.endpoint.base import Answer, PartRequest, Refusal, Request
from core.endpoint.client_side import ClientSides
from core.endpoint.options import EndpointOptions
from core.endpoint.tools import DEFINITIONS, INSTRUCTIONS
from core.endpoint.tracing import traced
from core.shared.errors import WayfareError
from core.shared.untrusted_text import one_line

Context = ServerRequestContext[Any, Any]
Call = Callable[[Request], Awaitable[Answer]]
Part = Callable[[PartRequest], Awaitable[Any]]
Listing = Callable[[EndpointOptions, str], Awaitable[list[mcp_types.Tool]]]
LISTED = CacheHint(ttl_ms=3_600_000, scope="public")  # the same for every client, as long as Wayfare runs
MIRRORED_MS = 60_000
CLIENT_CHARS = 80
PARTS: dict[str, type[mcp_types.RequestParams]] = {
    "resources/list": mcp_types.PaginatedRequestParams,
    "resources/templates/list": mcp_types.PaginatedRequestParams,
    "resources/read": mcp_types.ReadResourceRequestParams,
    "prompts/list": mcp_types.PaginatedRequestParams,
    "prompts/get": mcp_types.GetPromptRequestParams,
    "completion/complete": mcp_types.CompleteRequestParams,
}
"""What a mirror has beside tools; Wayfare itself has tools alone, and declares no more."""
MIRROR_INSTRUCTIONS = (
    "These are the tools, resources and prompts of servers that an operator has connected and governs. A result that was cut is "
    "read on with read_result. An error says what to try."
)
SCHEMAS = {tool.name: tool.input_schema for tool in DEFINITIONS}


def mcp_server(
    call: Call,
    options_of: Callable[[Context], EndpointOptions],
    client_of: Callable[[Context], str] = lambda _: "",
    *,
    listing: Listing,
    part: Part | None = None,
) -> McpServer[Any]:
    """The server; `call` answers a request, `options_of` says with which options it comes, `client_of` whose token came with it,
    "" where none did, `listing` which tools it sees. A mirror has `part` for all that is no tool."""

    sides = ClientSides()

    async def listed(context: Context, _: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        try:
            options = options_of(context)
        except WayfareError as error:
            raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from error
        tools = await listing(options, client_of(context) or client_name(context))
        if options.mirror:  # of this client, and it may change
            return mcp_types.ListToolsResult(tools=tools, ttl_ms=MIRRORED_MS, cache_scope="private")
        return mcp_types.ListToolsResult(tools=tools)

    async def called(
        context: Context, params: mcp_types.CallToolRequestParams
    ) -> Answer | mcp_types.InputRequiredResult:
        try:
            options = options_of(context)
        except WayfareError as error:
            return Refusal("not_possible", str(error), "Change the address of the endpoint.").answer()
        known = client_of(context)
        request = Request(
            tool=params.name,
            arguments=params.arguments or {},
            options=options,
            client=known or client_name(context),
            known=bool(known),
            progress=context.session.report_progress,
        )
        if not options.mirror:
            return await call(request)
        return await sides.with_side(context, params, request.client, call(request))

    server = McpServer[Any](
        "wayfare",
        version=version("wayfare"),
        title="Wayfare",
        description="Finds, calls and learns the tools of all connected MCP servers.",
        instructions=INSTRUCTIONS if part is None else MIRROR_INSTRUCTIONS,
        cache_hints={"tools/list": LISTED, "server/discover": LISTED},
        get_tool_input_schema=SCHEMAS.get,
        on_list_tools=listed,
        on_call_tool=called,
    )
    server.middleware.insert(0, traced)
    if part is not None:
        server.add_request_handler("logging/setLevel", mcp_types.SetLevelRequestParams, sides.set_level)
        for method, params_type in PARTS.items():
            answered = partial(_answered, part, sides, options_of, client_of, method)
            server.add_request_handler(method, params_type, answered)
    return server


async def _answered(
    part: Part,
    sides: ClientSides,
    options_of: Callable[[Context], EndpointOptions],
    client_of: Callable[[Context], str],
    method: str,
    context: Context,
    params: Any,
) -> Any:
    """The answer to a request of one of `PARTS`. Raises MCPError."""
    try:
        options = options_of(context)
    except WayfareError as error:
        raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from error
    known = client_of(context)
    request = PartRequest(method, params, options, known or client_name(context), bool(known))
    return await sides.with_side(context, params, request.client, part(request))


def client_name(context: Context) -> str:
    """The name that the client gives itself, in one line with nothing unseen; "unknown" where it gives none."""
    params = context.session.client_params
    return one_line(params.client_info.name if params is not None else "", CLIENT_CHARS) or "unknown"
