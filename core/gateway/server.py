"""The endpoint over MCP: the list of its tools, and each call with the name of its client."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio
import mcp_types
from anyio.abc import TaskGroup
from cachetools import LRUCache
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions
from mcp.server.lowlevel import Server as McpServer
from mcp.server.models import InitializationOptions
from mcp.server.stdio import stdio_server
from mcp.shared.message import ServerMessageMetadata
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry.context import attach, detach
from opentelemetry.propagate import extract

from core.domain.errors import Refusal, WayfareError
from core.domain.execution import ANONYMOUS, CLIENT_SIDE, NOBODY, SESSION_OWNER, WAYFARE, ClientSide, SessionOwner
from core.domain.settings import IN_MEMORY, Settings
from core.domain.untrusted_text import one_line
from core.gateway.base import Answer, EndpointOptions, PartRequest, Request, compact, no_progress, refused, text_block
from core.gateway.changes import JoinedChanges, TellsClients
from core.gateway.door import IN_A_FILE
from core.gateway.endpoint import DEFINITIONS, IMPROVING_DEFINITIONS, INSTRUCTIONS
from core.gateway.entrance import COOKIE

# Trace context of a client: the protocol's package reads `_meta`; here are the HTTP headers.


async def traced(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    headers = getattr(ctx.request, "headers", None)
    if headers is None or "traceparent" not in headers:
        return await call_next(ctx)
    token = attach(extract({name: headers[name] for name in ("traceparent", "tracestate") if name in headers}))
    try:
        return await call_next(ctx)
    finally:
        detach(token)


# Whose sessions with servers a request uses: each client has its own, because servers keep state in them.

Context = ServerRequestContext[Any, Any]
NEW_ID = "wayfare.new_id"
"""The key in the scope of a request for the cookie that it gets."""


def session_key(id_: str) -> str:
    """Returns the owner's key of a session or a cookie. It is shown, so it does not let anybody into the session."""
    return f"session {hashlib.sha256(id_.encode()).hexdigest()[:16]}"


def owned(client_of: Callable[[Context], str], *, mirror: bool) -> ServerMiddleware[Any]:
    """Returns the middleware that notes the owner of a request. Only servers of a mirror may ask the owner."""

    async def noted(ctx: Context, call_next: CallNext) -> HandlerResult:
        owner = _owner(client_of, ctx)
        token = SESSION_OWNER.set(replace(owner, abilities=_abilities(ctx)) if mirror else owner)
        try:
            return await call_next(ctx)
        finally:
            SESSION_OWNER.reset(token)

    return noted


def _owner(client_of: Callable[[Context], str], context: Context) -> SessionOwner:
    """Returns the client of the token, else of the cookie, else of the session. A request without these counts as a new client, until
    the client sends the cookie of this request."""
    request: Any = context.request
    if request is None:
        return replace(WAYFARE, person=ANONYMOUS)
    if client := client_of(context):
        return SessionOwner(f"token {client}", client, person=client)
    id_ = request.cookies.get(COOKIE) or _session(context)
    key = session_key(id_ or request.scope[NEW_ID])
    return SessionOwner(key, f"{client_name(context)} ({key[8:14]})", passing=not id_, person=ANONYMOUS)


def _abilities(context: Context) -> frozenset[str]:
    session, asks_between = context.session, context.protocol_version in MODERN_PROTOCOL_VERSIONS
    declaration = session.client_capabilities
    able = frozenset(name for name in ABILITIES if getattr(declaration, name, None) is not None)
    return able if asks_between or session.can_send_request else NOBODY


# How mirrored servers reach the client: its abilities, and the level of log messages that it wants.

ABILITIES = ("sampling", "elicitation", "roots")
ANSWERS: dict[str, type[Any]] = {
    "sampling/createMessage": mcp_types.CreateMessageResult,
    "elicitation/create": mcp_types.ElicitResult,
    "roots/list": mcp_types.ListRootsResult,
}
FIRST_LEVEL = "info"
"""The log level of a client that did not set one."""
MOST_SESSIONS = 1024
SENT_S = 5.0


class ClientSides:
    """The log levels that clients set, by session, and the client's side of a single request."""

    def __init__(self) -> None:
        self._levels: LRUCache[str, str] = LRUCache(MOST_SESSIONS)

    async def set_level(self, context: Context, params: mcp_types.SetLevelRequestParams) -> mcp_types.EmptyResult:
        self._levels[_session(context)] = params.level
        return mcp_types.EmptyResult()

    async def with_side(
        self, context: Context, params: Any, client: str, work: Callable[[ClientSide], Awaitable[Any]], *, mirror: bool
    ) -> Any:
        """Returns the result of `work`, or a question in its place, after the messages of servers. Only servers of a mirror may
        ask the client; Wayfare itself always may."""
        over, sent = asyncio.Event(), list[Future[Any]]()
        side = self._side(context, params, client, over, sent)
        token = CLIENT_SIDE.set(side if mirror else None)
        try:
            answer = await work(side)
        finally:
            CLIENT_SIDE.reset(token)
            over.set()
        if sent:
            await asyncio.wait([asyncio.wrap_future(future) for future in sent], timeout=SENT_S)
        return side.questions[-1] if side.questions else answer

    def _side(
        self, context: Context, params: Any, client: str, over: asyncio.Event, sent: list[Future[Any]]
    ) -> ClientSide:
        """Returns the client's side of a request. `sent` gets the messages that are sent to it before the request is `over`."""
        loop, session = asyncio.get_running_loop(), context.session
        asks_between = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        declaration = session.client_capabilities
        meta: Any = context.meta or {}
        level = meta.get(LOG_LEVEL_META_KEY, "") if asks_between else self._levels.get(_session(context), FIRST_LEVEL)

        def started(work: Coroutine[Any, Any, Any]) -> Future[Any]:
            return asyncio.run_coroutine_threadsafe(work, loop)

        def log(entry: mcp_types.LoggingMessageNotificationParams) -> None:
            message, late = mcp_types.LoggingMessageNotification(params=entry), over.is_set()
            if late and asks_between:  # such a client has no stream for it
                return
            future = started(session.send_notification(message, None if late else context.request_id))
            if not late:
                sent.append(future)

        async def answer(request: Any) -> Any:
            elicitation = getattr(declaration, "elicitation", None)
            if asks_between:
                raise MCPError(mcp_types.INVALID_REQUEST, "This client cannot be asked during a call")
            if getattr(request.params, "mode", "") == "url" and getattr(elicitation, "url", None) is None:
                raise MCPError(mcp_types.INVALID_PARAMS, "This client opens no addresses")
            related = ServerMessageMetadata(related_request_id=context.request_id)
            return await session.send_request(request, ANSWERS[request.method], metadata=related)

        answers = {name: getattr(params, name, None) for name in ("input_responses", "request_state")}
        return ClientSide(
            client, _abilities(context), asks_between, level, log, lambda request: started(answer(request)), answers
        )


def _session(context: Context) -> str:
    headers = getattr(context.request, "headers", None)
    return "" if headers is None else headers.get("mcp-session-id", "")


Call = Callable[[Request], Awaitable[Answer]]
Part = Callable[[PartRequest], Awaitable[Any]]
Listing = Callable[[PartRequest], Awaitable[list[mcp_types.Tool]]]
DISCOVERED = CacheHint(ttl_ms=3_600_000, scope="public")  # the same for every client, as long as Wayfare runs
LISTED_MS = 60_000  # the list belongs to one client, and may change
CLIENT_CHARS = 80
PARTS: dict[str, type[mcp_types.RequestParams]] = {
    "resources/list": mcp_types.PaginatedRequestParams,
    "resources/templates/list": mcp_types.PaginatedRequestParams,
    "resources/read": mcp_types.ReadResourceRequestParams,
    "prompts/list": mcp_types.PaginatedRequestParams,
    "prompts/get": mcp_types.GetPromptRequestParams,
    "completion/complete": mcp_types.CompleteRequestParams,
}
"""The requests that a mirror answers beside tools. Wayfare itself answers requests about prompts."""
OWN_PARTS = ("prompts/list", "prompts/get")
MIRROR_INSTRUCTIONS = (
    "These are the tools, resources and prompts of servers that an operator has connected and governs. A result that was cut is "
    "read on with read_result. An error says what to try."
)
SCHEMAS = {tool.name: tool.input_schema for tool in (*DEFINITIONS, *IMPROVING_DEFINITIONS)}


def _of_objects(result: Any) -> Any:
    """Returns a result for a client before 2026-07-28, whose structured result may only be an object."""
    structured = result.structured_content
    if isinstance(structured, dict | None):
        return result
    content = result.content or [text_block(compact(structured))]
    return result.model_copy(update={"structured_content": None, "content": content})


class TellingServer(McpServer[Any]):
    """A server that tells its clients when its lists change."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *more: Any, **named: Any
    ) -> InitializationOptions:
        """Returns the options of a session of the older protocol."""
        options = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(options, *more, **named)


def mcp_server(
    call: Call,
    options_of: Callable[[Context], EndpointOptions],
    client_of: Callable[[Context], str] = lambda _: "",
    *,
    listing: Listing,
    part: Part,
    changes: TellsClients,
    mirror: bool = False,
    instructions: str = "",
) -> McpServer[Any]:
    """Returns the server. `call` answers a request, `options_of` returns its options, `client_of` the client of its
    token ("" without a token), `listing` the tools that it sees. `part` answers requests about prompts, and with a `mirror` about
    resources and completion. `changes` notifies clients when their lists change. `instructions` replace the usual instructions."""

    sides, sender = ClientSides(), partial(_sender, options_of, client_of)

    async def listed(context: Context, params: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        request = PartRequest("tools/list", params, **sender(context))
        tools = await listing(request)
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await changes.listed(_session(context), context.session, request, tools)
        kept_ms = 0 if request.options.attention else LISTED_MS
        return mcp_types.ListToolsResult(tools=tools, ttl_ms=kept_ms, cache_scope="private")

    async def called(
        context: Context, params: mcp_types.CallToolRequestParams
    ) -> Answer | mcp_types.InputRequiredResult:
        progress = context.session.report_progress if "progress_token" in (params.meta or {}) else no_progress
        try:
            request = Request(params.name, params.arguments or {}, progress=progress, **sender(context))
        except MCPError as error:
            return refused(Refusal("not_possible", error.message, "Change the address of the endpoint."))
        result = await sides.with_side(
            context,
            params,
            request.client,
            lambda side: call(replace(request, side=side)),
            mirror=bool(request.options.mirror),
        )
        if request.options.attention:
            await changes.look(request.owner)
        return result if context.protocol_version in MODERN_PROTOCOL_VERSIONS else _of_objects(result)

    async def answered(method: str, context: Context, params: Any) -> Any:
        request = PartRequest(method, params, **sender(context))
        return await sides.with_side(context, params, request.client, lambda _: part(request), mirror=mirror)

    async def listened(context: Context, params: Any) -> Any:
        return await changes.listen(context, params, PartRequest("tools/list", None, **sender(context)))

    server = TellingServer(
        "wayfare",
        version=version("wayfare"),
        title="Wayfare",
        description="Finds, calls and learns the tools of all connected MCP servers.",
        instructions=instructions or (MIRROR_INSTRUCTIONS if mirror else INSTRUCTIONS),
        cache_hints={"server/discover": DISCOVERED},
        get_tool_input_schema=SCHEMAS.get,
        on_list_tools=listed,
        on_call_tool=called,
        on_subscriptions_listen=listened,
    )
    server.middleware[:0] = [traced, owned(client_of, mirror=mirror)]
    for method in PARTS if mirror else OWN_PARTS:
        server.add_request_handler(method, PARTS[method], partial(answered, method))
    if mirror:
        server.add_request_handler("logging/setLevel", mcp_types.SetLevelRequestParams, sides.set_level)
        subscribed = partial(_subscribed, changes, sender)
        server.add_request_handler("resources/subscribe", mcp_types.SubscribeRequestParams, partial(subscribed, True))
        server.add_request_handler(
            "resources/unsubscribe", mcp_types.UnsubscribeRequestParams, partial(subscribed, False)
        )
    return server


async def _subscribed(
    changes: TellsClients, sender: Callable[[Context], dict[str, Any]], wanted: bool, context: Context, params: Any
) -> mcp_types.EmptyResult:
    """Handles a subscription of a client up to 2025-11-25."""
    request = PartRequest("resources/subscribe", params, **sender(context))
    await changes.subscribe(_session(context), context.session, request, str(params.uri), wanted=wanted)
    return mcp_types.EmptyResult()


def _sender(
    options_of: Callable[[Context], EndpointOptions], client_of: Callable[[Context], str], context: Context
) -> dict[str, Any]:
    """Returns the fields of `Sender`. Raises MCPError for wrong options."""
    client, announced = client_of(context), client_name(context)
    try:
        options = options_of(context)
    except WayfareError as error:
        raise MCPError(mcp_types.INVALID_PARAMS, str(error)) from error
    identity = {"client": client or announced, "known": bool(client), "announced": announced}
    return {"options": options, "owner": SESSION_OWNER.get(), **identity}


def client_name(context: Context) -> str:
    """Returns the name that the client gives itself, in one line without invisible characters, or "unknown"."""
    params = context.session.client_params
    return one_line(params.client_info.name if params is not None else "", CLIENT_CHARS) or "unknown"


# The stdio server, for clients that start a command: standard output carries only the protocol.


def serve_stdio(settings: Settings, options: EndpointOptions) -> None:
    """Speaks MCP on standard input and output until the input ends. Raises WayfareError if it cannot serve."""
    from core.gateway.joining import StdioBackend  # the client of the console

    options.parameters()  # wrong options fail at the start, not at the first search
    if str(settings.db) == IN_MEMORY:
        raise WayfareError(IN_A_FILE)
    backend = StdioBackend(settings, options)

    def leave(*_: object) -> None:
        os._exit(0)  # a thread may block on the input, and native code may still run in another

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)

    async def begin(tasks: TaskGroup) -> None:
        """Finds or starts the console while the client says hello. Ends the process with a sentence if that fails."""
        try:
            await backend.joined(tasks)
        except WayfareError as error:
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
            os._exit(2)

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(begin, tasks)
            server = mcp_server(
                partial(backend.call, tasks),
                lambda _: options,
                listing=partial(backend.listed, tasks),
                part=partial(backend.part, tasks),
                changes=JoinedChanges(backend, tasks),
                mirror=bool(options.mirror),
            )
            async with stdio_server() as (reader, writer):
                await server.run(reader, writer, server.create_initialization_options())
            await backend.goodbye()
            tasks.cancel_scope.cancel()

    anyio.run(run)
    leave()
