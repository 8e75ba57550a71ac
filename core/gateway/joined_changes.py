"""The client of `wayfare mcp` is told of the changes that the console tells of, also by the next console if one ends.

The console is heard by `subscriptions/listen`, whatever protocol the client speaks. Who only listens starts no console.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types
from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ResourceUpdated, ServerEvent

from core.domain.errors import WayfareError
from core.gateway.base import PartRequest
from core.gateway.changes import EVENTS, MOST_URIS, Tell, by_notification, fingerprint

if TYPE_CHECKING:
    from core.gateway.joining import StdioBackend

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
Wanted = mcp_types.SubscriptionFilter
LISTS = Wanted(tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True)
_log = logging.getLogger(__name__)


class JoinedChanges:
    """See `TellsClients`: the changes for the one client of this process. Lives in a task group."""

    def __init__(self, backend: StdioBackend, tasks: TaskGroup) -> None:
        self._backend = backend
        self._tasks = tasks
        self._tools: str | None = None
        self._uris: dict[str, anyio.CancelScope] = {}

    async def listed(self, _: str, session: Any, request: PartRequest, tools: list[mcp_types.Tool]) -> None:
        """See `TellsClients`."""
        first, self._tools = self._tools is None, fingerprint(tools)
        if first:
            self._tasks.start_soon(self._hear, LISTS, request, by_notification(session))

    async def subscribe(self, _: str, session: Any, request: PartRequest, uri: str, *, wanted: bool) -> None:
        """See `TellsClients`."""
        if not wanted and uri in self._uris:
            self._uris.pop(uri).cancel()
        elif wanted and uri not in self._uris:
            if len(self._uris) >= MOST_URIS:
                raise MCPError(mcp_types.INVALID_PARAMS, f"A client may subscribe to {MOST_URIS} resources at once.")
            about = Wanted(resource_subscriptions=[uri])
            honored, scope = await self._begun(about, request, by_notification(session))
            if not honored.resource_subscriptions:
                scope.cancel()
                raise MCPError(mcp_types.INVALID_PARAMS, f"{uri} is no resource that can be subscribed to here.")
            self._uris[uri] = scope

    async def look(self, _: Any) -> None:
        """See `TellsClients`: the console tells by itself."""

    async def listen(self, context: Any, params: Any, request: PartRequest) -> Any:
        """See `TellsClients`."""
        bus = InMemorySubscriptionBus()
        honored, scope = await self._begun(params.notifications, request, bus.publish)
        try:
            return await ListenHandler(bus)(context, params.model_copy(update={"notifications": honored}))
        finally:
            scope.cancel()

    async def _begun(self, wanted: Wanted, request: PartRequest, tell: Tell) -> tuple[Wanted, anyio.CancelScope]:
        """Begins to hear what the console honors of the wish. Returns that, and the scope that ends it. Starts a console if there is
        none. Raises MCPError."""
        try:
            await self._backend.joined(self._tasks)
        except WayfareError as error:
            raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from error
        return await self._tasks.start(self._hear, wanted, request, tell)

    async def _hear(
        self, wanted: Wanted, request: PartRequest, tell: Tell, *, task_status: Any = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Tells what the consoles tell, one after the other. After a loss, every wanted list and resource may have changed."""
        wait_s, heard = FIRST_WAIT_S, False
        with anyio.CancelScope() as scope:
            while True:
                try:
                    if (joined := await self._backend.running(self._tasks)) is not None:
                        async with joined.listening(request, wanted) as events:
                            missed = _all_of(events.honored) if heard else await self._missed(wanted, request)
                            if heard and not missed:
                                raise LookupError("the next console honors nothing of it yet")
                            if not heard:
                                task_status.started((events.honored, scope))
                            wait_s, heard = FIRST_WAIT_S, True
                            for event in missed:
                                await tell(event)
                            async for event in events:
                                await tell(event)
                except Exception as error:
                    if not heard and wanted is not LISTS:
                        raise MCPError(mcp_types.INTERNAL_ERROR, "Wayfare's console tells of no changes.") from error
                    _log.debug("no changes are heard: %s", error)
                await anyio.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    async def _missed(self, wanted: Wanted, request: PartRequest) -> list[ServerEvent]:
        """Returns what changed between the client's list and the begin of hearing."""
        if wanted is not LISTS or fingerprint(await self._backend.listed(self._tasks, request)) == self._tools:
            return []
        return [EVENTS["tools"]]


def _all_of(wanted: Wanted) -> list[ServerEvent]:
    lists = [event for kind, event in EVENTS.items() if getattr(wanted, f"{kind}_list_changed")]
    return [*lists, *(ResourceUpdated(uri=uri) for uri in wanted.resource_subscriptions or ())]
