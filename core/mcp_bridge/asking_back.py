"""What a server sends while it works on a call, to the client that made the call: log messages, and questions.

Up to 2025-11-25 nothing in either says to which call it belongs. So it is passed on only where one call alone is under way on the
session, and a session whose clients can be asked takes one call at a time then. A server may say something of a call that has ended:
for a second no message goes to another client than the one whose call that was. From 2026-07-28 on a call ends with its questions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import mcp_types
from cachetools import TTLCache
from mcp import Client
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from core.domain.execution import ClientSide, Waiting
from core.domain.outcome import ToolCall
from core.mcp_bridge.codec import Redact, without_secrets

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
LATE_S = 1.0
"""So long after a call a message may still be of it."""
Under = tuple[ClientSide, Redact]
_CURRENT: ContextVar[Under | None] = ContextVar("_CURRENT", default=None)


class AskingBack:
    """The requests under way on one session. All methods belong to the event loop of its session."""

    def __init__(self, abilities: frozenset[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.abilities = abilities
        self._ended = TTLCache[str, None](1024, LATE_S, clock)
        self.turn = asyncio.Lock()
        self._under_way: list[Under | None] = []

    def callbacks(self) -> dict[str, Any]:
        """What the SDK's client is to call; it declares to the server what it has a callback for."""
        asked = {"sampling": self._sample, "elicitation": self._elicit, "roots": self._roots}
        names = {"sampling": "sampling_callback", "elicitation": "elicitation_callback", "roots": "list_roots_callback"}
        chosen = {names[ability]: asked[ability] for ability in sorted(self.abilities)}
        return {**chosen, "logging_callback": self._log}

    @contextmanager
    def under_way(self, side: ClientSide | None, redact: Redact) -> Generator[None]:
        """A request is on its way until the end of the block."""
        mine = None if side is None else (side, redact)
        self._under_way.append(mine)
        token = _CURRENT.set(mine)
        try:
            yield
        finally:
            _CURRENT.reset(token)
            self._under_way.remove(mine)
            self._ended["" if side is None else side.client] = None

    def _whose(self) -> Under | None:
        return _CURRENT.get() or (self._under_way[0] if len(self._under_way) == 1 else None)

    async def _sample(self, _: Any, params: mcp_types.CreateMessageRequestParams) -> Any:
        return await self._ask(mcp_types.CreateMessageRequest(params=params))

    async def _elicit(self, _: Any, params: mcp_types.ElicitRequestParams) -> Any:
        return await self._ask(mcp_types.ElicitRequest(params=params))

    async def _roots(self, _: Any) -> Any:
        return await self._ask(mcp_types.ListRootsRequest())

    async def _ask(self, request: Any) -> Any:
        """The client's answer, or why there is none, which is what a client says that cannot be asked."""
        whose = self._whose()
        if whose is None:
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message="Nobody can be asked now")
        side, redact = whose
        try:
            with _waited(side.waiting):
                return await asyncio.wrap_future(side.ask(without_secrets(request, redact)))
        except Exception as error:  # noqa: BLE001  whatever the client's side throws is its answer
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=str(error) or type(error).__name__)

    async def _log(self, params: mcp_types.LoggingMessageNotificationParams) -> None:
        whose = self._whose()
        if whose is not None and whose[0].log_level and not self._may_be_late(whose[0].client):
            side, redact = whose
            if LEVELS.index(params.level) >= LEVELS.index(side.log_level):
                side.log(without_secrets(params, redact))

    def _may_be_late(self, client: str) -> bool:
        """Whether a message that says nothing of its call may be of one that has just ended, of another client."""
        return _CURRENT.get() is None and any(name != client for name in self._ended)


@contextmanager
def _waited(waiting: Waiting) -> Generator[None]:
    """An answer is awaited until the end of the block."""
    began = time.perf_counter()
    waiting.now += 1
    try:
        yield
    finally:
        waiting.now -= 1
        waiting.total_s += time.perf_counter() - began


def log_meta(client: Client, side: ClientSide | None) -> Any:
    """What a request says of the log messages that its client wants; from 2026-07-28 on a server sends none without it."""
    wanted = side is not None and side.log_level and client.protocol_version in MODERN_PROTOCOL_VERSIONS
    return {LOG_LEVEL_META_KEY: side.log_level} if side is not None and wanted else None


async def called(
    client: Client, call: ToolCall, side: ClientSide | None, progress: ProgressFnT | None
) -> mcp_types.CallToolResult:
    """One tools/call. Questions go to a client that can be asked meanwhile, or else are kept for it in place of the result."""
    meta, limit_s, arguments = log_meta(client, side), call.timeout_s, dict(call.arguments)
    if side is None or not side.asked_between:
        return await client.call_tool(call.tool, arguments, limit_s, progress, meta=meta)
    given = await client.session.call_tool(
        call.tool,
        arguments,
        limit_s,
        progress,
        meta=meta,
        input_responses=side.answers.get("input_responses"),
        request_state=side.answers.get("request_state"),
        allow_input_required=True,
    )
    if isinstance(given, mcp_types.InputRequiredResult):
        _, redact = _CURRENT.get() or (side, str)
        side.questions.append(without_secrets(given, redact))
        return mcp_types.CallToolResult(content=[])
    return given
