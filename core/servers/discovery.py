"""Discovery: lists the tools of several servers at a time. A server that fails does not stop the others."""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import mcp_types
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.client.session import ClientSession
from mcp.client.subscriptions import Subscription
from mcp.shared.dispatcher import ProgressFnT
from mcp_types.methods import MONOLITH_REQUESTS, MONOLITH_RESULTS
from pydantic import TypeAdapter

from core.domain.catalog import Connection, Discovery, Server, ServerId, Tool, is_wayfare
from core.domain.errors import WayfareError
from core.domain.execution import (
    CLIENT_SIDE,
    ITEMS,
    PROMPTS,
    TOOLS,
    WAYFARE,
    ClientSide,
    SessionOwner,
    session_owner,
)
from core.domain.json_schema import TOO_LARGE, too_large
from core.domain.outcome import ToolCall
from core.servers.asking_back import AskingBack, called
from core.servers.pool import SessionPool
from core.servers.results import (
    WHOLE,
    all_pages,
    decode_tool,
    result_without_secrets,
    text_without_secrets,
    without_secrets,
)
from core.servers.session import Lease, all_tools
from core.servers.threads import UnauthorizedError

_log = logging.getLogger(__name__)
T = TypeVar("T")
PARALLEL = 8
MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS = 2000, 200
DECLARED = ("price_usd", "latency_s", "success", "tier", "tier_reason", "preconditions", "requests")
"""Fields of a tool that no server lists. The catalog's declarations stay."""


def discover(
    pool: SessionPool, catalog: str, servers: Iterable[Server], *, limit_s: float = 30.0
) -> tuple[Discovery, ...]:
    """Lists the tools of every server of a catalog, at most 8 servers at a time, in the given order. Each may take
    `limit_s`."""
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="discover") as threads:
        return tuple(threads.map(partial(_discover_one, pool, catalog, limit_s), servers))


def _discover_one(pool: SessionPool, catalog: str, limit_s: float, server: Server) -> Discovery:
    try:
        key = ServerId(catalog, server.name)
        connection = _reachable(key, server.connection)
        if missing := pool.vault.missing(key, connection):
            problem = f"Server {server.name} needs a value for {', '.join(missing)}; enter it to connect."
            return Discovery(server.name, server, problem)
        lease, info, words, tools, odd = pool.use(key, connection, _listing, limit_s=limit_s, listing=True)
        secrets = pool.vault.in_results  # the listing will be stored
        tools = [result_without_secrets(tool, secrets) for tool in tools]
        odd = [text_without_secrets(phrase, secrets) for phrase in odd]
        listed_server, refusals = described(server, tools, info, text_without_secrets(words, secrets), odd)
        listed_server = replace(listed_server, virtual=server.virtual or lease.session.simulated)
        return Discovery(server.name, listed_server, "", lease.connect_s, refusals)
    except UnauthorizedError as error:
        return Discovery(server.name, server, pool.vault.redact(str(error)), unauthorized=True)
    except Exception as error:  # noqa: BLE001  any error of the SDK is reported for this server alone
        reason = pool.vault.redact(str(error))[:MAX_DESCRIPTION_CHARS]
        sentence = reason if reason.startswith("Server ") else f"Server {server.name} does not list its tools: {reason}"
        return Discovery(server.name, None, sentence, getattr(error, "connect_s", None))


def _reachable(key: ServerId, connection: Connection | None) -> Connection:
    if connection is None or not (connection.command if connection.transport == "stdio" else connection.url):
        raise WayfareError(f"Server {key.server} has no command or URL; add a connection to discover its tools.")
    if is_wayfare(key.server, connection):  # of a catalog that was read before this was a rule
        raise WayfareError(f"Server {key.server} is Wayfare itself, which is no server of its own; remove it.")
    return connection


async def _listing(lease: Lease) -> tuple[Lease, mcp_types.Implementation | None, str, list[mcp_types.Tool], list[str]]:
    return lease, lease.client.server_info, lease.client.instructions or "", *await all_tools(lease.client)


def described(
    server: Server,
    tools: Iterable[mcp_types.Tool],
    info: mcp_types.Implementation | None,
    instructions: str,
    odd: Iterable[str] = (),
) -> tuple[Server, tuple[str, ...]]:
    """Returns the server with the tools that it listed, and a sentence for each refused tool. The name of a refused tool is
    taken, empty or too long, or has control characters, or the tool is in `odd`. Tools that the configuration switches off are left
    out. The server's own description and title fill in if the catalog has none.
    """
    declared = {tool.name: tool for tool in server.tools}
    accepted_tools: dict[str, Tool] = {}
    notes = [f"Server {server.name} lists {phrase}." for phrase in odd]
    refusals = [note for note in notes if note.endswith(f"{WHOLE}.")]
    for listed_tool in tools:
        name = listed_tool.name
        unseen = any(unicodedata.category(letter) in {"Cc", "Cf"} for letter in name[:MAX_NAME_CHARS])
        if unseen or not 0 < len(name) <= MAX_NAME_CHARS:
            refusals.append(f"Server {server.name} lists a tool with an unusable name: {name[:MAX_NAME_CHARS]!r}.")
        elif name in accepted_tools:
            refusals.append(f"Server {server.name} lists two tools named {name}; the first one was taken.")
        elif server.connection is None or server.connection.allows(name):
            accepted_tools[name] = tool = decode_tool(server.name, listed_tool)
            if name in declared:
                accepted_tools[name] = replace(tool, **{field: getattr(declared[name], field) for field in DECLARED})
            if too_large(tool.input_schema) or too_large(tool.output_schema):
                notes.append(
                    f"Server {server.name} lists the tool {name} with a schema that {TOO_LARGE}: it is not checked."
                )
    own_words = (info.description if info is not None else None) or instructions
    new_server = replace(
        server,
        tools=tuple(accepted_tools.values()),
        title=server.title or (info.title if info is not None else None) or "",
        description=server.description if server.description.strip() else own_words.strip()[:MAX_DESCRIPTION_CHARS],
        odd=tuple(dict.fromkeys((*notes, *refusals))),
    )
    return new_server, tuple(refusals)


async def sent(session: ClientSession, method: str, params: Any) -> Any:
    """Returns the answer to one request; the server's questions may come in its place. Raises MCPError."""
    request, result = cast("tuple[Any, Any]", (MONOLITH_REQUESTS[method], MONOLITH_RESULTS[method]))
    own_params = params and params.model_copy(update={"meta": None})
    return await session.send_request(request(params=own_params), TypeAdapter[Any](result))


async def answered(client: Client, side: ClientSide | None, method: str, params: Any) -> Any:
    """Returns the answer to one request. Questions go to a client that can answer during the request, or are returned.
    Raises MCPError."""
    if side is None or not side.asked_between:
        if isinstance(params, mcp_types.GetPromptRequestParams):
            return await client.get_prompt(params.name, params.arguments)
        if isinstance(params, mcp_types.ReadResourceRequestParams):
            return await client.read_resource(params.uri)
    return await sent(client.session, method, params)


def list_of(pool: SessionPool, server: ServerId, connection: Connection, method: str, *, limit_s: float) -> list[Any]:
    """Returns every page of a list, without secrets; empty if the server has no such list. Raises MCPError,
    WayfareError."""

    async def work(lease: Lease) -> list[Any]:
        if not _declares(lease.client, method):
            return []

        def page(cursor: str | None) -> Awaitable[Any]:
            return sent(lease.client.session, method, mcp_types.PaginatedRequestParams(cursor=cursor))

        entries, odd = await all_pages(page, ITEMS[method])
        for phrase in odd:
            _log.info("Server %s lists %s.", server.server, pool.vault.redact(phrase))
        return entries

    return [without_secrets(entry, pool.vault.redact) for entry in _used(pool, server, connection, work, limit_s)]


def answer_of(
    pool: SessionPool, server: ServerId, connection: Connection, method: str, params: Any, *, limit_s: float
) -> Any:
    """Returns the server's answer to a request, without secrets. Raises MCPError, and WayfareError if the server cannot
    be reached in time."""
    side = CLIENT_SIDE.get()

    async def work(lease: Lease) -> Any:
        await lease.session.asking.set_level(lease.client, side)
        with lease.session.asking.under_way(side, pool.vault.redact):
            return await answered(lease.client, side, method, params)

    answer = _used(pool, server, connection, work, limit_s, session_owner())
    return result_without_secrets(answer, pool.vault.in_results)


def _used(
    pool: SessionPool,
    server: ServerId,
    connection: Connection,
    work: Any,
    limit_s: float,
    owner: SessionOwner = WAYFARE,
) -> Any:
    try:
        return pool.use(server, connection, work, limit_s=limit_s, owner=owner)
    except MCPError as error:
        raise MCPError.from_error_data(without_secrets(error.error, pool.vault.redact)) from None


def _declares(client: Client, method: str) -> bool:
    has = client.server_capabilities
    return {TOOLS: has.tools, PROMPTS: has.prompts}.get(method, has.resources) is not None


Contents = mcp_types.TextResourceContents | mcp_types.BlobResourceContents


def read_resource(
    pool: SessionPool, server: ServerId, connection: Connection, uri: str, *, limit_s: float
) -> tuple[Contents, ...]:
    """Returns the contents of a URI, without secrets. Raises WayfareError if there are none, or the server cannot be
    reached in time."""

    async def work(lease: Lease) -> tuple[Contents, ...]:
        return tuple((await lease.client.read_resource(uri)).contents)

    try:
        contents = pool.use(server, connection, work, limit_s=limit_s, owner=session_owner())
    except MCPError as error:
        raise WayfareError(f"{server.server} does not give {uri}: {pool.vault.redact(str(error))}") from None
    return tuple(result_without_secrets(content, pool.vault.in_results) for content in contents)


class OwnSession:
    """A session outside the pool that declares the `abilities` of the clients whose requests it makes, and passes the server's messages to
    the client of the current request. An async context."""

    def __init__(
        self, target: Transport, client_info: mcp_types.Implementation, abilities: frozenset[str], legacy: bool
    ) -> None:
        self._asking = AskingBack(abilities)
        mode = "legacy" if legacy else "auto"
        self._client = Client(target, client_info=client_info, cache=None, mode=mode, **self._asking.callbacks())

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def tools(self) -> list[mcp_types.Tool]:
        return (await self._client.list_tools()).tools

    def listen(self, **wanted: Any) -> AbstractAsyncContextManager[Subscription]:
        """Yields the server's notices of changes. Raises the errors of the transport, SubscriptionLost."""
        return self._client.listen(**wanted)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], limit_s: float, progress: ProgressFnT | None
    ) -> mcp_types.CallToolResult:
        call = ToolCall("", tool, arguments, timeout_s=limit_s)
        return await self._under_way(lambda side: called(self._client, call, side, progress))

    async def answer(self, method: str, params: Any) -> Any:
        return await self._under_way(lambda side: answered(self._client, side, method, params))

    async def _under_way(self, work: Callable[[ClientSide | None], Awaitable[T]]) -> T:
        side = CLIENT_SIDE.get()
        await self._asking.set_level(self._client, side)
        with self._asking.under_way(side, str):
            return await work(side)
