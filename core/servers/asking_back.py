"""Log messages and questions that a server sends during a call, passed to the client that made the call.

Up to 2025-11-25 neither says which call it belongs to. A session whose clients can answer questions takes one call at
a time. Messages are passed on if one client alone has calls in progress, or is the only one of the session. A message
may come late: for a second after a call, only the client of that call gets messages. From 2026-07-28 on a call ends with
its questions.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, cast

import mcp_types
from cachetools import TTLCache
from mcp import Client, MCPError
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from core.domain.execution import ClientSide
from core.domain.outcome import ToolCall
from core.servers.results import Redact, without_secrets

_log = logging.getLogger(__name__)
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LISTS: dict[type, str] = {
    mcp_types.ToolListChangedNotification: "tools",
    mcp_types.ResourceListChangedNotification: "resources",
    mcp_types.PromptListChangedNotification: "prompts",
    ToolsListChanged: "tools",
    ResourcesListChanged: "resources",
    PromptsListChanged: "prompts",
}
FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 600.0
LEVEL_S = 2.0
"""Time that a server may take to set the level of its log messages."""
LATE_S = 1.0
"""A message may belong to a call that ended this long ago."""
Under = tuple[ClientSide, Redact]
_CURRENT: ContextVar[Under | None] = ContextVar("_CURRENT", default=None)


class AskingBack:
    """The requests in progress on one session. All methods belong to the event loop of its session."""

    def __init__(self, abilities: frozenset[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.abilities = abilities
        self._ended = TTLCache[str, None](1024, LATE_S, clock)
        self.turn = asyncio.Lock()
        self._under_way: list[Under | None] = []
        self._clients: set[str] = set()
        self._last: Under | None = None
        self._level = ""
        """The level of log messages that the server was asked for."""
        self.list_changed: Callable[[str], None] | None = None
        """Called with "tools", "resources" or "prompts" when the server says that this list changed. None without a listener."""
        self.updated: Callable[[str], None] = lambda _: None
        """Called with the address of a resource in `uris` when the server says that it has changed."""
        self.uris: set[str] = set()
        self._wanted = asyncio.Event()

    def callbacks(self) -> dict[str, Any]:
        """Returns the callbacks for the SDK's client, which declares the matching abilities to the server."""

        async def ask(request: Any, _: Any, params: Any = None) -> Any:
            return await self._ask(request(params=params))

        callbacks: dict[str, tuple[str, Any]] = {
            "sampling": ("sampling_callback", mcp_types.CreateMessageRequest),
            "elicitation": ("elicitation_callback", mcp_types.ElicitRequest),
            "roots": ("list_roots_callback", mcp_types.ListRootsRequest),
        }
        options = {name: partial(ask, request) for name, request in map(callbacks.__getitem__, sorted(self.abilities))}
        return {**options, "logging_callback": self._log, "message_handler": self._told}

    async def listen(self, client: Client, opened: Callable[[], AbstractAsyncContextManager[Client]]) -> None:
        """Waits for changes of the server's lists and of `uris`. Servers from 2026-07-28 on report them only on request. Asks again after
        a loss, or for other addresses, each time with a client of `opened`. After a loss all resources count as changed."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            for uri in tuple(self.uris):  # of an earlier session
                with suppress(MCPError):  # the server has this resource no more
                    await _subscribed(client, uri)
                self.updated(uri)
            return
        if self.list_changed is None:
            return
        has = client.server_capabilities
        lists = {"tools": has.tools, "prompts": has.prompts, "resources": has.resources}
        filters: dict[str, Any] = {
            f"{name}_list_changed": True
            for name, capability in lists.items()
            if getattr(capability, "list_changed", None)
        }
        wait_s, missed = FIRST_WAIT_S, set(self.uris)
        while True:
            self._wanted.clear()
            uris = {**filters, "resource_subscriptions": sorted(self.uris)}
            hearing = asyncio.ensure_future(self._hear(opened, uris, missed))
            others = asyncio.ensure_future(self._wanted.wait())
            try:
                await asyncio.wait({hearing, others}, return_when=asyncio.FIRST_COMPLETED)
                if hearing.done():
                    wait_s = FIRST_WAIT_S if hearing.result() else min(2 * wait_s, LONGEST_WAIT_S)
                    missed = set(self.uris)
                if not others.done():
                    await asyncio.wait({others}, timeout=wait_s)
            finally:
                hearing.cancel()
                others.cancel()

    async def _hear(
        self, opened: Callable[[], AbstractAsyncContextManager[Client]], filters: dict[str, Any], missed: set[str]
    ) -> bool:
        """Returns whether the subscription began. The resources in `missed` count as changed."""
        if not any(filters.values()):
            await asyncio.Event().wait()
        heard = False
        try:
            async with opened() as asking, asking.listen(**filters) as events:
                heard = True
                while missed:
                    self.updated(missed.pop())
                async for event in events:
                    await self._told(event)
        except Exception as error:  # noqa: BLE001  a failed subscription must not end the calls
            _log.debug("no changes are heard: %s", error)
        return heard

    async def subscribe(self, client: Client, uri: str, *, wanted: bool) -> None:
        """Begins or ends to hear of changes of a resource. Raises MCPError."""
        (self.uris.add if wanted else self.uris.discard)(uri)
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            self._wanted.set()
            return
        try:
            await _subscribed(client, uri, wanted=wanted)
        except MCPError:
            self.uris.discard(uri)
            raise

    async def _told(self, event: object) -> None:
        kind = LISTS.get(type(event))
        if kind is not None and self.list_changed is not None:
            self.list_changed(kind)
        uri = event.uri if isinstance(event, ResourceUpdated) else ""
        if isinstance(event, mcp_types.ResourceUpdatedNotification):
            uri = str(event.params.uri)
        if uri:  # it may be a part of a requested resource
            for address in [address for address in sorted(self.uris, reverse=True) if uri.startswith(address)][:1]:
                self.updated(address)

    @contextmanager
    def under_way(self, side: ClientSide | None, redact: Redact) -> Generator[None]:
        """Marks a request as in progress until the end of the block."""
        entry = None if side is None else (side, redact)
        self._under_way.append(entry)
        self._clients.add("" if side is None else side.client)
        self._last = entry
        token = _CURRENT.set(entry)
        try:
            yield
        finally:
            _CURRENT.reset(token)
            self._under_way.remove(entry)
            self._ended["" if side is None else side.client] = None

    async def set_level(self, client: Client, side: ClientSide | None) -> None:
        """Asks a server up to 2025-11-25 for the log messages that a client wants, if fewer were wanted before."""
        level = "" if side is None else side.log_level
        more = level and (not self._level or LEVELS.index(level) < LEVELS.index(self._level))
        if (
            not more
            or client.server_capabilities.logging is None
            or client.protocol_version in MODERN_PROTOCOL_VERSIONS
        ):
            return
        self._level = level
        params = mcp_types.SetLevelRequestParams(level=cast(Any, level))
        with suppress(MCPError):
            await client.session.send_request(mcp_types.SetLevelRequest(params=params), mcp_types.EmptyResult, LEVEL_S)

    async def _ask(self, request: Any) -> Any:
        current = _CURRENT.get() or (self._under_way[0] if len(self._under_way) == 1 else None)
        if current is None:
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message="No client can be asked now")
        side, redact = current
        began_s = time.perf_counter()
        side.waiting.now += 1
        try:
            return await asyncio.wrap_future(side.ask(without_secrets(request, redact)))
        except Exception as error:  # noqa: BLE001  any error of the client's side is its answer
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=str(error) or type(error).__name__)
        finally:
            side.waiting.now -= 1
            side.waiting.total_s += time.perf_counter() - began_s

    async def _log(self, params: mcp_types.LoggingMessageNotificationParams) -> None:
        clients = {"" if entry is None else entry[0].client for entry in self._under_way} or self._clients
        current = _CURRENT.get() or (self._last if len(clients) == 1 else None)
        if current is None or not current[0].log_level:  # it may belong to several clients, or no client wants it
            return
        side, redact = current
        if _CURRENT.get() is None and any(name != side.client for name in self._ended):
            return  # it may belong to another client's call that has just ended
        if LEVELS.index(params.level) >= LEVELS.index(side.log_level):
            side.log(without_secrets(params, redact))


async def _subscribed(client: Client, uri: str, *, wanted: bool = True) -> None:
    params = mcp_types.SubscribeRequestParams(uri=uri) if wanted else mcp_types.UnsubscribeRequestParams(uri=uri)
    request: Any = (mcp_types.SubscribeRequest if wanted else mcp_types.UnsubscribeRequest)(params=cast(Any, params))
    await client.session.send_request(request, mcp_types.EmptyResult)


async def called(
    client: Client, call: ToolCall, side: ClientSide | None, progress: ProgressFnT | None
) -> mcp_types.CallToolResult:
    """Makes one tools/call. Questions go to a client that can answer during the call; for other clients they replace
    the result."""
    meta: Any = None
    if side is not None and side.log_level and client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        meta = {LOG_LEVEL_META_KEY: side.log_level}  # the server sends no log messages without it
    limit_s, arguments = call.timeout_s, dict(call.arguments)
    if side is None or not side.asked_between:
        return await client.call_tool(call.tool, arguments, limit_s, progress, meta=meta)
    result = await client.session.call_tool(
        call.tool,
        arguments,
        limit_s,
        progress,
        meta=meta,
        input_responses=side.answers.get("input_responses"),
        request_state=side.answers.get("request_state"),
        allow_input_required=True,
    )
    if isinstance(result, mcp_types.InputRequiredResult):
        _, redact = _CURRENT.get() or (side, str)
        side.questions.append(without_secrets(result, redact))
        return mcp_types.CallToolResult(content=[])
    return result
