"""The client of a mirror as its servers may reach it: what it can be asked, and which log messages it wants."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future
from typing import Any

import mcp_types
from cachetools import LRUCache
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from core.execution.client_side import CLIENT_SIDE, NOBODY, ClientSide

Context = ServerRequestContext[Any, Any]
ABILITIES = ("sampling", "elicitation", "roots")
ANSWERS: dict[str, type[Any]] = {
    "sampling/createMessage": mcp_types.CreateMessageResult,
    "elicitation/create": mcp_types.ElicitResult,
    "roots/list": mcp_types.ListRootsResult,
}
FIRST_LEVEL = "info"
"""Of a client that set none."""
MOST_SESSIONS = 1024
SENT_S = 5.0


class ClientSides:
    """The log levels that clients set, by session, and their sides of single requests."""

    def __init__(self) -> None:
        self._levels: LRUCache[str, str] = LRUCache(MOST_SESSIONS)

    async def set_level(self, context: Context, params: mcp_types.SetLevelRequestParams) -> mcp_types.EmptyResult:
        """`logging/setLevel`, of clients up to 2025-11-25."""
        self._levels[_session(context)] = params.level
        return mcp_types.EmptyResult()

    async def with_side(self, context: Context, params: Any, client: str, work: Awaitable[Any]) -> Any:
        """What `work` gives for a client, or what the server asks in its place; messages of the server leave before it."""
        side, sent = self._side(context, params, client)
        token = CLIENT_SIDE.set(side)
        try:
            answer = await work
        finally:
            CLIENT_SIDE.reset(token)
        if sent:
            await asyncio.wait([asyncio.wrap_future(one) for one in sent], timeout=SENT_S)
        return side.questions[-1] if side.questions else answer

    def _side(self, context: Context, params: Any, client: str) -> tuple[ClientSide, list[Future[Any]]]:
        """The client's side of a request, and the messages that are on their way to it."""
        loop, session, sent = asyncio.get_running_loop(), context.session, list[Future[Any]]()
        between = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        declared = session.client_capabilities
        able = frozenset(name for name in ABILITIES if getattr(declared, name, None) is not None)
        meta: Any = context.meta or {}
        level = meta.get(LOG_LEVEL_META_KEY, "") if between else self._levels.get(_session(context), FIRST_LEVEL)

        def started(work: Coroutine[Any, Any, Any]) -> Future[Any]:
            return asyncio.run_coroutine_threadsafe(work, loop)

        def log(said: mcp_types.LoggingMessageNotificationParams) -> None:
            message = mcp_types.LoggingMessageNotification(params=said)
            sent.append(started(session.send_notification(message, related_request_id=context.request_id)))

        async def answer(request: Any) -> Any:
            wanted = getattr(declared, "elicitation", None)
            if between:
                raise MCPError(mcp_types.INVALID_REQUEST, "This client cannot be asked in the midst of a call")
            if getattr(request.params, "mode", "") == "url" and getattr(wanted, "url", None) is None:
                raise MCPError(mcp_types.INVALID_PARAMS, "This client opens no addresses")
            related = ServerMessageMetadata(related_request_id=context.request_id)
            return await session.send_request(request, ANSWERS[request.method], metadata=related)

        answers = {name: getattr(params, name, None) for name in ("input_responses", "request_state")}
        able = able if between or session.can_send_request else NOBODY
        return ClientSide(client, able, between, level, log, lambda request: started(answer(request)), answers), sent


def _session(context: Context) -> str:
    """What tells one session of a client from another; over stdio there is one."""
    headers = getattr(context.request, "headers", None)
    return "" if headers is None else headers.get("mcp-session-id", "")
