"""A session with one server outside the pool: what the server says meanwhile goes to the client whose request it works on."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import mcp_types
from mcp import Client
from mcp.client import Transport
from mcp.shared.dispatcher import ProgressFnT

from core.domain.outcome import ToolCall
from core.execution.client_side import CLIENT_SIDE
from core.mcp_bridge.asking_back import AskingBack, called
from core.mcp_bridge.parts import answered


class OwnSession:
    """Declares that it can be asked for `abilities`, which are those of the clients whose requests it makes. An async context."""

    def __init__(self, target: Transport, client_info: mcp_types.Implementation, abilities: frozenset[str]) -> None:
        self._asking = AskingBack(abilities)
        self._client = Client(target, client_info=client_info, cache=None, **self._asking.callbacks())

    async def __aenter__(self) -> Self:
        """Connect. Raises whatever the transport does."""
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave."""
        await self._client.__aexit__(kind, error, trace)

    async def tools(self) -> list[mcp_types.Tool]:
        """What the server lists. Raises MCPError."""
        return (await self._client.list_tools()).tools

    async def call(
        self, tool: str, arguments: Mapping[str, Any], limit_s: float, progress: ProgressFnT | None
    ) -> mcp_types.CallToolResult:
        """One tools/call. Raises MCPError."""
        side = CLIENT_SIDE.get()
        with self._asking.under_way(side, str):
            return await called(self._client, ToolCall("", tool, arguments, timeout_s=limit_s), side, progress)

    async def answer(self, method: str, params: Any) -> Any:
        """The answer to a request that is no call of a tool. Raises MCPError."""
        side = CLIENT_SIDE.get()
        with self._asking.under_way(side, str):
            return await answered(self._client, side, method, params)
