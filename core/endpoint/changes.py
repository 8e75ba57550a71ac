"""Clients of mirrors are told when what they are offered changes: a catalog was edited, a server switched off, a definition accepted.

Up to 2025-11-25 a session that has listed tools is told. From 2026-07-28 on a client asks for it with `subscriptions/listen`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from cachetools import LRUCache
from mcp import MCPError
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged

from core.app import App
from core.endpoint.base import PartRequest, Refusal
from core.endpoint.endpoint import Endpoint
from core.endpoint.mirror import chosen
from core.shared.errors import WayfareError

EVERY_S = 1.0
MOST = 1024
NOTIFICATIONS = {
    "tools": mcp_types.ToolListChangedNotification,
    "resources": mcp_types.ResourceListChangedNotification,
    "prompts": mcp_types.PromptListChangedNotification,
}
EVENTS = {"tools": ToolsListChanged, "resources": ResourcesListChanged, "prompts": PromptsListChanged}
_log = logging.getLogger(__name__)


@dataclass(eq=False)
class Listener:
    """A client that is told of changes: its request for tools, and what it knows of the state that its lists follow from."""

    request: PartRequest
    tell: Callable[[str], Awaitable[None]]
    tools: str
    state: tuple[Any, ...]
    parts: tuple[Any, ...]


class Changes:
    """The listeners of one endpoint. All methods belong to its event loop."""

    def __init__(self, app: App, endpoint: Endpoint) -> None:
        self._app = app
        self._endpoint = endpoint
        self._sessions: LRUCache[str, Listener] = LRUCache(MOST)
        self._streams: set[Listener] = set()

    async def listed(self, session_id: str, session: Any, request: PartRequest, tools: list[mcp_types.Tool]) -> None:
        """A session of the older protocol has this list now."""

        async def tell(kind: str) -> None:
            await session.send_notification(NOTIFICATIONS[kind]())

        self._sessions[session_id] = Listener(request, tell, _fingerprint(tools), *await self._state(request))

    async def listen(self, context: Any, params: Any, request: PartRequest) -> Any:
        """Answers `subscriptions/listen` until the client leaves. Raises MCPError."""
        if len(self._streams) >= MOST:
            raise MCPError(mcp_types.INTERNAL_ERROR, "Too many clients listen")
        bus = InMemorySubscriptionBus()

        async def tell(kind: str) -> None:
            await bus.publish(EVENTS[kind]())

        listener = Listener(request, tell, await self._tools(request), *await self._state(request))
        with self._listening(listener):
            return await ListenHandler(bus)(context, params)

    @contextmanager
    def _listening(self, listener: Listener) -> Generator[None]:
        if listener.request.options.mirror:  # Wayfare's own tools never change
            self._streams.add(listener)
        try:
            yield
        finally:
            self._streams.discard(listener)

    async def watch(self) -> None:
        """Tells listeners of changes, until it is cancelled."""
        while True:
            await anyio.sleep(EVERY_S)
            for session_id, listener in list(self._sessions.items()):
                if not await self._told(listener):
                    self._sessions.pop(session_id, None)
            for listener in list(self._streams):
                await self._told(listener)

    async def _told(self, listener: Listener) -> bool:
        """Tells a listener what has changed. Returns whether it is still there."""
        try:
            state, parts = await self._state(listener.request)
            kinds = ["resources", "prompts"] if parts != listener.parts else []
            if state != listener.state or kinds:
                self._endpoint.forget(listener.request.options.catalog)
                tools = await self._tools(listener.request)
                kinds += ["tools"] if tools != listener.tools else []
                listener.tools = tools
            listener.state, listener.parts = state, parts
            for kind in kinds:
                await listener.tell(kind)
        except Exception as error:  # noqa: BLE001  whatever became of one client: the others are told
            _log.debug("a client is told no changes any more: %s", error)
            return False
        return True

    async def _tools(self, request: PartRequest) -> str:
        try:
            return _fingerprint(await self._endpoint.offered(request))
        except MCPError:
            return ""  # it may see nothing now

    async def _state(self, request: PartRequest) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return await anyio.to_thread.run_sync(self._read_state, request)

    def _read_state(self, request: PartRequest) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Returns everything that the tools of a client follow from, and the same for its resources and prompts."""
        name, governance = request.options.catalog, self._app.governance
        try:
            catalog = self._app.catalogs.catalog(name)
            servers = tuple(chosen(catalog, request.options.mirror))
        except (WayfareError, Refusal):  # it was removed, or has none of these servers
            catalog, servers = None, ()
        clients = governance.clients
        client = governance.policy, clients.in_force(request.client), clients.any_client, clients.without_token
        return (id(catalog), catalog, governance.definitions.version, client), (
            servers,
            client,
            self._app.upkeep.heard(name),
        )


def _fingerprint(tools: list[mcp_types.Tool]) -> str:
    """Returns what makes a list another one. Icons and metadata come from a server only while it can be reached."""
    return json.dumps([tool.model_dump(exclude={"icons", "meta"}, mode="json") for tool in tools])
