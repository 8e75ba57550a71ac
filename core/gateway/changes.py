"""Notifies clients of changes of their lists: after an edit of a catalog, a pin, a decision about a definition, or a search in the mode attention.

Up to 2025-11-25 a session that has listed tools is notified. From 2026-07-28 on a client asks for it with `subscriptions/listen`. The client
of `wayfare mcp` is notified of the console's changes, and after its end of the next console's changes.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types
from anyio.abc import TaskGroup
from cachetools import LRUCache
from mcp import MCPError
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)

from core.app import App
from core.domain.catalog import ServerId
from core.domain.documents import digest
from core.domain.errors import WayfareError
from core.domain.execution import SessionOwner
from core.gateway.base import PartRequest
from core.gateway.endpoint import Endpoint
from core.gateway.entrance import Uses
from core.gateway.mirror import chosen
from core.gateway.mirrored_parts import errors_of_the_protocol

if TYPE_CHECKING:
    from core.gateway.joining import StdioBackend

EVERY_S = 1.0
AGAIN_S = 15.0
"""Between two tries to subscribe at a server that ended its session."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
"""Between two tries to hear a console."""
MOST, MOST_URIS = 1024, 64
EVENTS = {"tools": ToolsListChanged(), "resources": ResourcesListChanged(), "prompts": PromptsListChanged()}
Wanted = mcp_types.SubscriptionFilter
LISTS = Wanted(tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True)
_log = logging.getLogger(__name__)

Tell = Callable[[ServerEvent], Awaitable[None]]
Subscription = tuple[SessionOwner, ServerId, str]
"""The client in whose session with a server a resource is subscribed to."""


@dataclass(eq=False)
class Listener:
    """A client that gets notifications: its request for tools, and the last states of its lists that it was notified of."""

    request: PartRequest
    tell: Tell
    tools: str
    state: tuple[Any, ...]
    parts: tuple[Any, ...]
    uris: dict[str, tuple[ServerId, int]] = field(default_factory=dict[str, tuple[ServerId, int]])
    """Its subscribed resources, each with the server and the number of that server's updates."""


class Changes:
    """The listeners of one endpoint. All methods belong to its event loop."""

    def __init__(self, app: App, endpoint: Endpoint, uses: Uses) -> None:
        self._app = app
        self._uses = uses
        self._endpoint = endpoint
        self._sessions: LRUCache[str, Listener] = LRUCache(MOST)
        self._streams: set[Listener] = set()
        self._subscribers: Counter[Subscription] = Counter()
        self._tried_s: dict[ServerId, float] = {}  # when a lost subscription at a server was last renewed

    async def listed(self, session_id: str, session: Any, request: PartRequest, tools: list[mcp_types.Tool]) -> None:
        """Notes the list that a session of the older protocol has now."""
        previous = self._sessions.get(session_id)
        listener = Listener(request, by_notification(session), fingerprint(tools), *await self._state(request))
        if previous is not None:
            listener.uris = previous.uris
        self._sessions[session_id] = listener

    async def subscribe(self, session_id: str, session: Any, request: PartRequest, uri: str, *, wanted: bool) -> None:
        """Begins or ends a subscription of a session of the older protocol to a resource. Raises MCPError."""
        if session_id not in self._sessions:
            await self.listed(session_id, session, request, await self._endpoint.offered(request))
        listener = self._sessions[session_id]
        with errors_of_the_protocol():
            if wanted:
                await self._subscribe(listener, uri)
            else:
                await self._unsubscribe(listener, [uri])

    async def left(self, session_id: str) -> None:
        listener = self._sessions.pop(session_id, None)
        if listener is not None:
            await self._unsubscribe(listener, list(listener.uris))

    async def _subscribe(self, listener: Listener, uri: str) -> None:
        if uri in listener.uris:
            return
        if len(listener.uris) >= MOST_URIS:
            raise MCPError(mcp_types.INVALID_PARAMS, f"A client may subscribe to {MOST_URIS} resources at once.")
        server = await self._endpoint.parts.subscribed(listener.request, uri)
        listener.uris[uri] = server, self._app.upkeep.updates(server, uri)
        self._subscribers[listener.request.owner, server, uri] += 1

    async def _unsubscribe(self, listener: Listener, uris: Iterable[str]) -> None:
        """Ends subscriptions. The last subscriber also ends the subscription at the server."""
        for uri in uris:
            server, _ = listener.uris.pop(uri, (None, 0))
            if server is None:
                continue
            subscription = listener.request.owner, server, uri
            self._subscribers[subscription] -= 1
            if not self._subscribers[subscription]:
                del self._subscribers[subscription]
                try:
                    await self._endpoint.parts.subscribe(server, uri, listener.request.owner, wanted=False)
                except (MCPError, WayfareError) as error:
                    _log.info("%s of %s: %s", uri, server.server, error)

    async def look(self, owner: SessionOwner) -> None:
        """Notifies a client at once of changes by its own call."""
        for listener in (*self._sessions.values(), *self._streams):
            if listener.request.owner == owner:
                await self._told(listener)

    async def listen(self, context: Any, params: Any, request: PartRequest) -> Any:
        """Answers `subscriptions/listen` until the client leaves. Raises MCPError."""
        if len(self._streams) >= MOST:
            raise MCPError(mcp_types.INTERNAL_ERROR, "Too many clients listen")
        bus = InMemorySubscriptionBus()
        listener = Listener(request, bus.publish, await self._tools(request), *await self._state(request))
        async with self._listening(listener, params.notifications.resource_subscriptions or ()):
            honoured = params.notifications.model_copy(update={"resource_subscriptions": list(listener.uris) or None})
            return await ListenHandler(bus)(context, params.model_copy(update={"notifications": honoured}))

    @asynccontextmanager
    async def _listening(self, listener: Listener, uris: Iterable[str]) -> AsyncGenerator[None]:
        self._streams.add(listener)
        try:
            for uri in uris:
                with suppress(MCPError), errors_of_the_protocol():  # it is not acknowledged
                    await self._subscribe(listener, uri)
            with self._uses.use("agent", listener.request.client) if listener.uris else nullcontext():
                yield
        finally:
            self._streams.discard(listener)
            with anyio.CancelScope(shield=True):
                await self._unsubscribe(listener, list(listener.uris))

    async def watch(self) -> None:
        async with anyio.create_task_group() as tasks:
            while True:
                await anyio.sleep(EVERY_S)
                for session_id, listener in list(self._sessions.items()):
                    if not await self._told(listener):
                        await self.left(session_id)
                for listener in list(self._streams):
                    if not await self._told(listener) and self._revoked(listener.request):
                        self._streams.discard(listener)
                        await self._unsubscribe(listener, list(listener.uris))
                if self._subscribers:
                    for subscription in await anyio.to_thread.run_sync(self._lost, list(self._subscribers)):
                        tasks.start_soon(self._begin_again, subscription)

    def _lost(self, candidates: list[Subscription]) -> list[Subscription]:
        now_s, is_lost = time.monotonic(), self._endpoint.parts.lost
        keys = [key for key in candidates if now_s >= self._tried_s.get(key[1], -math.inf) + AGAIN_S and is_lost(*key)]
        self._tried_s |= {server: now_s for _, server, _ in keys}
        return keys

    async def _begin_again(self, subscription: Subscription) -> None:
        """Renews a subscription, which opens the next session with the server."""
        owner, server, uri = subscription
        if subscription not in self._subscribers:
            return
        try:
            await self._endpoint.parts.subscribe(server, uri, owner, wanted=True)
        except (MCPError, WayfareError) as error:
            _log.info("%s of %s is not heard of: %s", uri, server.server, error)

    def _revoked(self, request: PartRequest) -> bool:
        return request.known and self._app.governance.clients.in_force(request.client) is None

    async def _told(self, listener: Listener) -> bool:
        """Notifies a listener of changes. Returns whether it is still connected, and its token in force."""
        request = listener.request
        if self._revoked(request):
            return False
        try:
            state, parts = await self._state(request)
            kinds = ["resources", "prompts"] if parts != listener.parts else []
            if state != listener.state or kinds:
                self._endpoint.parts.forget(request.options.catalog)
                tools = await self._tools(request)
                kinds += ["tools"] if tools != listener.tools else []
                listener.tools = tools
            listener.state, listener.parts = state, parts
            for kind in kinds:
                await listener.tell(EVENTS[kind])
            if "resources" in kinds:  # perhaps it may not read them any more
                allows = partial(self._endpoint.parts.may_read, request)
                uris = [uri for uri, (id_, _) in listener.uris.items() if id_.server in parts[0] and allows(id_.server)]
                await self._unsubscribe(listener, listener.uris.keys() - uris)
            for uri, (server, known_updates) in list(listener.uris.items()):
                updates = self._app.upkeep.updates(server, uri)
                if updates != known_updates:
                    listener.uris[uri] = server, updates
                    await listener.tell(ResourceUpdated(uri=uri))
        except Exception as error:  # noqa: BLE001  one failing client must not block the rest
            _log.debug("a client is told no changes any more: %s", error)
            return False
        return True

    async def _tools(self, request: PartRequest) -> str:
        try:
            return fingerprint(await self._endpoint.offered(request))
        except MCPError:
            return ""  # it may see nothing now

    async def _state(self, request: PartRequest) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return await anyio.to_thread.run_sync(self._read_state, request)

    def _read_state(self, request: PartRequest) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Returns the state that decides the tools of a client, and the state that decides its resources and prompts."""
        options, governance, client = request.options, self._app.governance, request.client
        state, servers = list[Any](), tuple[str, ...]()
        with suppress(WayfareError):  # a catalog was removed, or has none of these servers
            for name in options.catalogs:
                catalog = self._app.catalogs.catalog(name)
                state += [id(catalog), catalog, *self._app.health.down(name)]
                servers = tuple(chosen(governance.admission, client, catalog, options.mirror)) if options.mirror else ()
        clients = governance.clients
        scope = governance.policy, clients.in_force(client), clients.any_client, clients.without_token
        active = self._endpoint.attending.turn(request.owner, options).active
        parts = (servers, scope, self._app.upkeep.heard(options.catalog)) if options.mirror else ()
        return (*state, governance.definitions.version, scope, active), parts


def by_notification(session: Any) -> Tell:
    async def tell(event: ServerEvent) -> None:
        await session.send_notification(event_to_notification(event, {}))

    return tell


def fingerprint(tools: list[mcp_types.Tool]) -> str:
    """Returns a short text that differs if two lists differ."""
    return digest(json.dumps([tool.model_dump(mode="json") for tool in tools]))


class JoinedChanges:
    """Notifies the client of `wayfare mcp`, by `subscriptions/listen` at the console. Lives in a task group."""

    def __init__(self, backend: StdioBackend, tasks: TaskGroup) -> None:
        self._backend = backend
        self._tasks = tasks
        self._tools: str | None = None
        self._uris: dict[str, anyio.CancelScope] = {}

    async def listed(self, _: str, session: Any, request: PartRequest, tools: list[mcp_types.Tool]) -> None:
        first, self._tools = self._tools is None, fingerprint(tools)
        if first:
            self._tasks.start_soon(self._hear, LISTS, request, by_notification(session))

    async def subscribe(self, _: str, session: Any, request: PartRequest, uri: str, *, wanted: bool) -> None:
        if not wanted and uri in self._uris:
            self._uris.pop(uri).cancel()
        elif wanted and uri not in self._uris:
            if len(self._uris) >= MOST_URIS:
                raise MCPError(mcp_types.INVALID_PARAMS, f"A client may subscribe to {MOST_URIS} resources at once.")
            topics = Wanted(resource_subscriptions=[uri])
            honored, scope = await self._begun(topics, request, by_notification(session))
            if not honored.resource_subscriptions:
                scope.cancel()
                raise MCPError(mcp_types.INVALID_PARAMS, f"{uri} is no resource that can be subscribed to here.")
            self._uris[uri] = scope

    async def look(self, _: Any) -> None:
        """Does nothing, because the console notifies by itself."""

    async def listen(self, context: Any, params: Any, request: PartRequest) -> Any:
        bus = InMemorySubscriptionBus()
        honored, scope = await self._begun(params.notifications, request, bus.publish)
        try:
            return await ListenHandler(bus)(context, params.model_copy(update={"notifications": honored}))
        finally:
            scope.cancel()

    async def _begun(self, topics: Wanted, request: PartRequest, tell: Tell) -> tuple[Wanted, anyio.CancelScope]:
        """Begins to listen to the console. Returns the topics that the console honors, and the scope that ends it. Starts a console if
        there is none. Raises MCPError."""
        try:
            await self._backend.joined(self._tasks)
        except WayfareError as error:
            raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from error
        return await self._tasks.start(self._hear, topics, request, tell)

    async def _hear(
        self, topics: Wanted, request: PartRequest, tell: Tell, *, task_status: Any = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Passes on the notifications of each console in turn. After a loss, every list and resource may have changed."""
        wait_s, heard = FIRST_WAIT_S, False
        with anyio.CancelScope() as scope:
            while True:
                try:
                    if (joined := await self._backend.running(self._tasks)) is not None:
                        async with joined.listening(request, topics) as events:
                            missed_events = _all_of(events.honored) if heard else await self._missed(topics, request)
                            if heard and not missed_events:
                                raise LookupError("the next console honors nothing of it yet")
                            if not heard:
                                task_status.started((events.honored, scope))
                            wait_s, heard = FIRST_WAIT_S, True
                            for event in missed_events:
                                await tell(event)
                            async for event in events:
                                await tell(event)
                except Exception as error:
                    if not heard and topics is not LISTS:
                        raise MCPError(mcp_types.INTERNAL_ERROR, "Wayfare's console tells of no changes.") from error
                    _log.debug("no changes are heard: %s", error)
                await anyio.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    async def _missed(self, topics: Wanted, request: PartRequest) -> list[ServerEvent]:
        if topics is not LISTS or fingerprint(await self._backend.listed(self._tasks, request)) == self._tools:
            return []
        return [EVENTS["tools"]]


def _all_of(topics: Wanted) -> list[ServerEvent]:
    lists = [event for kind, event in EVENTS.items() if getattr(topics, f"{kind}_list_changed")]
    return [*lists, *(ResourceUpdated(uri=uri) for uri in topics.resource_subscriptions or ())]


TellsClients = Changes | JoinedChanges
