"""`wayfare mcp`: the stdio side of the console that serves the store, which is started if there is none."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlencode, urlsplit

import anyio
import anyio.to_thread
import httpx2
import mcp_types
from anyio.abc import TaskGroup, TaskStatus
from mcp import MCPError
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import Subscription

from core.domain.console import CONNECT_S, Owner, owner_of
from core.domain.errors import Refusal, WayfareError
from core.domain.execution import CLIENT_SIDE, NOBODY, TOOLS
from core.domain.settings import Settings
from core.gateway.base import Answer, EndpointOptions, PartRequest, Request, no_progress, refused
from core.gateway.door import TOKEN, console_of
from core.gateway.endpoint import DEFINITIONS, IMPROVING_DEFINITIONS
from core.gateway.entrance import COOKIE, ENDING, PATH, TOO_MANY
from core.gateway.report import MOST_TRIES
from core.governance.governed_calls import own_session
from core.governance.policy import LONGEST_HOLD_S

if TYPE_CHECKING:
    from core.governance.governed_calls import OwnSession

ANSWER_S = 120.0 + LONGEST_HOLD_S  # time for an answer on top of the call's own limit
LIST_S = 1.0  # a client waits so long for its list of tools while the console starts
ENDING_S = 10.0
"""How long a console that was killed may take connections, and lose them, on a busy machine."""
HTTP_TIMEOUT = httpx2.Timeout(30.0, read=300.0)
T = TypeVar("T")
Whose = tuple[str, frozenset[str], bool]
"""The name of a client, its abilities, and whether it is asked during a call, as its revision of the protocol says."""
FORGOTTEN = {"Session terminated", "Session not found"}
"""The SDK's words for a 404: the next console knows no session, and took no request."""
REFUSED = {mcp_types.INVALID_REQUEST, mcp_types.INVALID_PARAMS, TOO_MANY}
"""Codes of requests that were not taken; the first is also of a token that is not in force."""
REPEATABLE = {
    tool.name
    for tool in (*DEFINITIONS, *IMPROVING_DEFINITIONS)
    if tool.annotations is not None and tool.annotations.idempotent_hint
}


class OwnerLostError(Exception):
    """The console does not answer. A request that is `unsent` was not taken by it."""

    def __init__(self, message: str, *, unsent: bool = False) -> None:
        super().__init__(message)
        self.unsent = unsent


def _refused(error: MCPError) -> Answer:
    return refused(Refusal("not_possible", error.message, "Change what the sentence names and call again."))


class JoinedOwner:
    """Sessions with the console: one for each client name with its abilities. Lives in a task group."""

    def __init__(self, url: str, options: EndpointOptions, tasks: TaskGroup, token: str, id_: str = "") -> None:
        self._limit_s = options.timeout_s * (MOST_TRIES if options.fallback else 1) + ANSWER_S
        self._url = url
        self._address = f"{url}{PATH}?{urlencode(options.pairs())}"
        self._tasks = tasks
        self._headers = {"Authorization": f"Bearer {token}"} if token else {"Cookie": f"{COOKIE}={id_}"}
        self._sessions: dict[Whose, OwnSession] = {}
        self._left = anyio.Event()

    def leave(self) -> None:
        self._left.set()

    async def goodbye(self) -> None:
        with suppress(Exception), anyio.move_on_after(CONNECT_S):
            async with httpx2.AsyncClient(headers=self._headers, timeout=HTTP_TIMEOUT) as http:
                await http.delete(self._address)

    async def call(self, request: Request) -> Answer:
        """Returns the console's answer. Its questions reach the client. Raises OwnerLostError."""
        CLIENT_SIDE.set(request.side)  # each request has a context of its own
        whose = _whose(request.client)
        try:
            session = await self._ready_session(whose, repeatable=request.tool in REPEATABLE)
        except MCPError as error:
            return _refused(error)
        try:
            progress = None if request.progress is no_progress else request.progress
            return await session.call(request.tool, request.arguments, self._limit_s, progress)
        except Exception as error:
            failure = self._said(whose, error)
            if failure.code not in REFUSED:  # the tool may have done its work
                self._sessions.pop(whose, None)
                raise OwnerLostError(failure.message) from error
            return _refused(failure)

    async def _ready_session(self, whose: Whose, *, repeatable: bool) -> OwnSession:
        """Returns a session. A call that must not be repeated is sent only if the console is still there. Raises MCPError if
        the console refuses, and OwnerLostError, by which nothing was sent."""
        try:
            if whose in self._sessions and not repeatable:
                address = urlsplit(self._url)
                with anyio.fail_after(CONNECT_S):
                    await (await anyio.connect_tcp(address.hostname or "", address.port or 80)).aclose()
            return await self._session(whose)
        except Exception as error:
            raise self._said(whose, error, sent=False) from error

    async def ask(self, request: PartRequest) -> Any:
        """Returns the console's tools, or its answer to another request. Raises MCPError if the console refuses, OwnerLostError."""
        whose = _whose(request.client)
        try:
            session = await self._session(whose)
            if request.method == TOOLS:
                return await session.tools()
            return await session.answer(request.method, request.params)
        except Exception as error:
            raise self._said(whose, error) from error

    def _said(self, whose: Whose, error: BaseException, *, sent: bool = True) -> MCPError:
        """Returns the console's error inside an exception of a session. Raises OwnerLostError if it did not answer, or ends."""
        inner = error
        while isinstance(inner, BaseExceptionGroup):  # of a session that could not begin
            inner = cast("BaseExceptionGroup[BaseException]", inner).exceptions[0]
        code = inner.code if isinstance(inner, MCPError) else mcp_types.CONNECTION_CLOSED
        untaken = code == ENDING or str(inner) in FORGOTTEN
        if isinstance(inner, MCPError) and code != mcp_types.CONNECTION_CLOSED and not untaken:
            return inner
        self._sessions.pop(whose, None)
        raise OwnerLostError(str(error), unsent=untaken or not sent) from error

    async def _session(self, whose: Whose) -> OwnSession:
        return self._sessions.get(whose) or await self._tasks.start(self._keep, whose)

    @asynccontextmanager
    async def listening(
        self, request: PartRequest, wanted: mcp_types.SubscriptionFilter
    ) -> AsyncGenerator[Subscription]:
        topics, info = wanted.model_dump(exclude_none=True), _info(request.client)
        async with (
            self._http() as target,
            own_session(target, info, request.owner.abilities, legacy=False) as session,
            session.listen(**topics) as events,
        ):
            yield events

    @asynccontextmanager
    async def _http(self) -> AsyncGenerator[Transport]:
        async with httpx2.AsyncClient(headers=self._headers, timeout=HTTP_TIMEOUT) as http:
            yield streamable_http_client(
                self._address, http_client=http, max_sse_event_size=None
            )  # the owner has a limit

    async def _keep(self, whose: Whose, *, task_status: TaskStatus[OwnSession]) -> None:
        (name, abilities, legacy), ready = whose, False
        try:
            async with self._http() as target, own_session(target, _info(name), abilities, legacy) as session:
                await session.tools()
                self._sessions[whose] = session
                ready = True
                task_status.started(session)
                await self._left.wait()
        except Exception:
            self._sessions.pop(whose, None)
            if not ready:  # later errors are reported by the call that meets them
                raise


def _info(name: str) -> mcp_types.Implementation:
    return mcp_types.Implementation(name=name, version="stdio")


def _whose(client: str) -> Whose:
    side = CLIENT_SIDE.get()
    return (client, NOBODY, False) if side is None else (client, side.abilities, side.asked_during)


async def _tries() -> AsyncGenerator[None]:
    """Yields for each try: two, and more while a console that was killed may still take connections."""
    end = anyio.current_time() + ENDING_S
    yield
    yield
    while anyio.current_time() < end:
        await anyio.sleep(0.2)
        yield


class StdioBackend:
    """Answers requests through the console that serves the store. Finds or starts the next one if it has ended."""

    def __init__(self, settings: Settings, options: EndpointOptions) -> None:
        self._settings = settings
        self._options = options
        self._joined: JoinedOwner | None = None
        self._id = secrets.token_urlsafe(16)
        self._lock = anyio.Lock()

    async def call(self, tasks: TaskGroup, request: Request) -> Answer:
        """Returns the answer. If the console has ended, the request is sent to the next one, unless its tool may have been called
        already."""
        async for _ in _tries():
            try:
                joined = await self.joined(tasks)
            except WayfareError as error:
                return refused(Refusal("not_reachable", str(error), "Tell the operator what the sentence says."))
            try:
                return await joined.call(request)
            except OwnerLostError as error:
                await self._forget(joined)
                if not (error.unsent or request.tool in REPEATABLE):
                    break
        return refused(
            Refusal(
                "connection_lost",
                "Wayfare's console ended during the call, or does not answer. Whether the tool was called is unknown.",
                "The tool may have done its work: look before you call it again, unless it just reads.",
            )
        )

    async def listed(self, tasks: TaskGroup, request: PartRequest) -> list[mcp_types.Tool]:
        """Returns the tools that the client sees. The tools that all clients have are given without the console if it is still
        starting; errors are left to the client's first call."""
        if request.options.mirror:
            return await self.part(tasks, request)
        definitions, over = list[mcp_types.Tool](), anyio.Event()

        async def ask() -> None:
            with suppress(OwnerLostError, MCPError, WayfareError):
                definitions.extend(await (await self.joined(tasks)).ask(request))
            over.set()

        tasks.start_soon(ask)
        with anyio.move_on_after(LIST_S):
            await over.wait()
        return definitions or DEFINITIONS

    async def part(self, tasks: TaskGroup, request: PartRequest) -> Any:
        """Returns the console's answer to a request that only reads, and is repeated if the console has ended. Raises MCPError."""
        async for _ in _tries():
            try:
                joined = await self.joined(tasks)
            except WayfareError as error:
                raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from error
            try:
                return await joined.ask(request)
            except OwnerLostError:
                await self._forget(joined)
        raise MCPError(mcp_types.INTERNAL_ERROR, "Wayfare's console does not answer.")

    async def joined(self, tasks: TaskGroup) -> JoinedOwner:
        async with self._lock:
            if self._joined is None:
                self._joined = self._with(await anyio.to_thread.run_sync(console_of, self._settings), tasks)
            return self._joined

    async def running(self, tasks: TaskGroup) -> JoinedOwner | None:
        """Returns sessions with the running console for the caller alone, or None without a console."""
        owner = await anyio.to_thread.run_sync(owner_of, self._settings.db)
        return None if owner is None else self._with(owner, tasks)

    def _with(self, console: Owner, tasks: TaskGroup) -> JoinedOwner:
        token = self._settings.environment.get(TOKEN, "").strip()
        return JoinedOwner(console.url, self._options, tasks, token, self._id)

    async def goodbye(self) -> None:
        if self._joined is not None:
            await self._joined.goodbye()

    async def _forget(self, owner: JoinedOwner) -> None:
        owner.leave()
        async with self._lock:
            if self._joined is owner:
                self._joined = None
