"""Backends of a stdio process: an app of its own, or the process that has the store already."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

import anyio
import anyio.to_thread
import mcp_types
from anyio.abc import TaskGroup, TaskStatus
from mcp import MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared._httpx_utils import create_mcp_http_client

from core.app import App, open_app
from core.domain.execution import CLIENT_SIDE, NOBODY
from core.endpoint.base import Answer, EndpointOptions, PartRequest, Refusal, Request, Services
from core.endpoint.door import Owner, announced, owner_of
from core.endpoint.endpoint import DEFINITIONS, Endpoint
from core.endpoint.fallback import MOST_TRIES
from core.endpoint.http_app import PATH, TOO_MANY, EndpointApp
from core.endpoint.server import mcp_server
from core.governance.approvals import LONGEST_HOLD_S
from core.services.call.server_requests import own_session
from core.shared.errors import StoreBusyError, WayfareError
from core.shared.settings import Settings

if TYPE_CHECKING:
    from core.services.call.server_requests import OwnSession


# ----------------------------------------------------------------------------------------------------------------------
# The endpoint of a process without a console, so that other processes can share its store.


@contextmanager
def served(app: App, catalog: str) -> Generator[str]:
    """Serves `/mcp` over an app on a free port of this machine, in a thread. Yields its address."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route

    endpoint = EndpointApp(lambda: app, catalog=catalog)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with endpoint.running():
            yield

    with socket.create_server(("127.0.0.1", 0)) as listener:
        asgi = Starlette(routes=[Route(PATH, endpoint), *endpoint.metadata_routes()], lifespan=lifespan)
        config = uvicorn.Config(asgi, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name="wayfare-endpoint", daemon=True
        )
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=3)


TOKEN = "WAYFARE_TOKEN"  # noqa: S105 - the variable's name
ANSWER_S = 120.0 + LONGEST_HOLD_S  # time for an answer on top of the call's own limit
Whose = tuple[str, frozenset[str]]
"""The name of a client, and its abilities."""
REPEATABLE = {tool.name for tool in DEFINITIONS if tool.annotations is not None and tool.annotations.idempotent_hint}


def token_of(settings: Settings) -> str:
    """Returns the token of a stdio process, or ""."""
    return settings.environment.get(TOKEN, "").strip()


class OwnApp:
    """An app over the store, which it owns until `close`. Other processes can join it."""

    def __init__(self, settings: Settings, options: EndpointOptions) -> None:
        """Raises WayfareError, and StoreBusyError if another process has the store."""
        with ExitStack() as stack:
            app = stack.enter_context(open_app(settings))
            catalog = app.catalogs.open(options.catalog).name
            url = stack.enter_context(served(app, catalog))
            stack.enter_context(announced(settings.db, Owner(url)))
            self._stack = stack.pop_all()
        self._endpoint = Endpoint(Services(app))
        self._governance, self._token = app.governance, token_of(settings)
        threading.Thread(target=_made_ready, args=(app, catalog), name="wayfare-warm", daemon=True).start()

    async def call(self, request: Request) -> Answer:
        """Returns the app's own answer."""
        try:
            return await self._endpoint.call(replace(request, **self._known()))
        except Refusal as refusal:
            return refusal.answer()

    async def listed(self, request: PartRequest) -> list[mcp_types.Tool]:
        """Returns the tools that the client of this process sees. Raises MCPError."""
        return await self._endpoint.listed(self._with_token(request))

    async def part(self, request: PartRequest) -> Any:
        """Returns what the app has beside tools. Raises MCPError."""
        return await self._endpoint.part(self._with_token(request))

    def _with_token(self, request: PartRequest) -> PartRequest:
        """Returns a request other than tools/call under the name of the token. Raises MCPError."""
        try:
            return replace(request, **self._known())
        except Refusal as refusal:
            raise MCPError(mcp_types.INVALID_REQUEST, refusal.why) from refusal

    def _known(self) -> dict[str, Any]:
        """Returns the client of this process's token. Returns nothing without a token: the request counts as one of
        this machine then. Raises Refusal."""
        if not self._token:
            return {}
        client = self._governance.clients.of_token(self._token)
        if client is None:
            raise Refusal(
                "not_authorized",
                f"The token in {TOKEN} is unknown or was revoked.",
                "Ask the operator for one.",
            )
        return {"client": client.name, "known": True}

    def close(self) -> None:
        """Ends calls and sessions, commits the queue, releases the store."""
        self._stack.close()


def _made_ready(app: App, catalog: str) -> None:
    """Prepares the app before the first request. Errors are left to that request."""
    with suppress(WayfareError):
        app.make_ready(catalog)
        app.open_the_rest(catalog)


class OwnerLostError(Exception):
    """The process that has the store does not answer."""


class JoinedOwner:
    """Sessions with the process that has the store: one for each client name with its abilities. Lives in a task group."""

    def __init__(self, url: str, options: EndpointOptions, tasks: TaskGroup, token: str) -> None:
        self._limit_s = options.timeout_s * (MOST_TRIES if options.fallback else 1) + ANSWER_S
        self._address = f"{url}{PATH}?{urlencode(options.pairs())}"
        self._tasks = tasks
        self._headers = {"Authorization": f"Bearer {token}"} if token else None
        self._sessions: dict[Whose, OwnSession] = {}

    async def call(self, request: Request) -> Answer:
        """Returns the owner's answer. Its questions reach the client. Raises OwnerLostError."""
        CLIENT_SIDE.set(request.side)  # each request has a context of its own
        whose = _whose(request.client)
        try:
            session = await self._session(whose)
            return await session.call(request.tool, request.arguments, self._limit_s, request.progress)
        except Exception as error:
            said = self._said(whose, error)
            if said.code not in {mcp_types.INVALID_PARAMS, TOO_MANY}:  # the tool may have done its work
                self._sessions.pop(whose, None)
                raise OwnerLostError(said.message) from error
            return Refusal("not_possible", said.message, "Change what the sentence names and call again.").answer()

    async def listed(self, request: PartRequest) -> list[mcp_types.Tool]:
        """Returns the owner's list. Raises MCPError if the owner refuses, OwnerLostError."""
        whose = _whose(request.client)
        try:
            return await (await self._session(whose)).tools()
        except Exception as error:
            raise self._said(whose, error) from error

    async def part(self, request: PartRequest) -> Any:
        """Returns what the owner has beside tools. Raises MCPError if the owner refuses, OwnerLostError."""
        whose = _whose(request.client)
        try:
            return await (await self._session(whose)).answer(request.method, request.params)
        except Exception as error:
            raise self._said(whose, error) from error

    def _said(self, whose: Whose, error: BaseException) -> MCPError:
        """Returns the owner's error inside an exception of a session. Raises OwnerLostError if the owner did not
        answer."""
        inner = error
        while isinstance(inner, BaseExceptionGroup):  # of a session that could not begin
            inner = cast("BaseExceptionGroup[BaseException]", inner).exceptions[0]
        if isinstance(inner, MCPError) and inner.code != mcp_types.CONNECTION_CLOSED:
            return inner
        self._sessions.pop(whose, None)
        raise OwnerLostError(str(error)) from error

    async def _session(self, whose: Whose) -> OwnSession:
        return self._sessions.get(whose) or await self._tasks.start(self._keep, whose)

    async def _keep(self, whose: Whose, *, task_status: TaskStatus[OwnSession]) -> None:
        (name, abilities), ready = whose, False
        info = mcp_types.Implementation(name=name, version="stdio")
        try:
            http = create_mcp_http_client(headers=self._headers)
            target = streamable_http_client(
                self._address, http_client=http, max_sse_event_size=None
            )  # the owner has a limit
            async with http, own_session(target, info, abilities) as session:
                await session.tools()
                self._sessions[whose] = session
                ready = True
                task_status.started(session)
                await anyio.sleep_forever()
        except Exception:
            self._sessions.pop(whose, None)
            if not ready:  # later errors are reported by the call that meets them
                raise


def _whose(client: str) -> Whose:
    side = CLIENT_SIDE.get()
    return client, NOBODY if side is None else side.abilities


class StdioBackend:
    """Answers requests through the owner of the store, which may be this process. Finds the new owner if the old one
    has left."""

    def __init__(self, settings: Settings, options: EndpointOptions) -> None:
        """Raises WayfareError if the store can be neither opened nor joined."""
        self._settings = settings
        self._options = options
        self._own: OwnApp | None = None
        self._joined: JoinedOwner | None = None
        self._url = self._resolved()
        self._lock = anyio.Lock()

    async def call(self, tasks: TaskGroup, request: Request) -> Answer:
        """Returns the answer. Repeats a repeatable request once if the owner has left."""
        for attempt in range(2):
            try:
                return await (await self._answering(tasks)).call(request)
            except OwnerLostError:
                await self._forget_owner()
                if attempt == 0 and request.tool in REPEATABLE:
                    continue
            except StoreBusyError as error:
                return Refusal("not_reachable", str(error), "Start `wayfare up`, or end that process.").answer()
        return Refusal(
            "connection_lost",
            "The Wayfare that has the store ended during the call, or does not answer.",
            "The tool may have done its work: call it again only if it just reads.",
        ).answer()

    async def listed(self, tasks: TaskGroup, request: PartRequest) -> list[mcp_types.Tool]:
        """Returns the tools that the client sees. Wayfare's own tools are known without a request; the owner is told later."""
        if not request.options.mirror:
            tasks.start_soon(self._tell, tasks, request)
            return DEFINITIONS
        for attempt in range(2):
            try:
                return await (await self._answering(tasks)).listed(request)
            except OwnerLostError:
                await self._forget_owner()
                if attempt:
                    raise
        return []

    async def _tell(self, tasks: TaskGroup, request: PartRequest) -> None:
        """Has the owner note that the client is there. An error is left to the client's first call."""
        with suppress(OwnerLostError, MCPError, WayfareError):
            await (await self._answering(tasks)).listed(request)

    async def part(self, tasks: TaskGroup, request: PartRequest) -> Any:
        """Returns what mirrored servers have beside tools. These requests only read, so they are repeated if the owner
        has left."""
        for _ in range(2):
            try:
                return await (await self._answering(tasks)).part(request)
            except OwnerLostError:
                await self._forget_owner()
        raise MCPError(mcp_types.INTERNAL_ERROR, "The Wayfare that has the store does not answer.")

    def close(self) -> None:
        """Releases the app, if this process owns it."""
        if self._own is not None:
            self._own.close()

    async def _answering(self, tasks: TaskGroup) -> OwnApp | JoinedOwner:
        async with self._lock:
            if self._own is None and not self._url:
                self._url = await anyio.to_thread.run_sync(self._resolved)
            if self._own is not None:
                return self._own
            if self._joined is None:
                self._joined = JoinedOwner(self._url, self._options, tasks, token_of(self._settings))
            return self._joined

    async def _forget_owner(self) -> None:
        async with self._lock:
            self._joined, self._url = None, ""

    def _resolved(self) -> str:
        """Opens the store, or returns the address of its owner. Raises WayfareError."""
        try:
            self._own = OwnApp(self._settings, self._options)
        except StoreBusyError:
            owner = owner_of(self._settings.db)
            if owner is None:
                raise
            return owner.url
        return ""


# ----------------------------------------------------------------------------------------------------------------------
# The stdio server, for clients that start a command: standard output carries only the protocol.


def serve_stdio(settings: Settings, options: EndpointOptions) -> None:
    """Speaks MCP on standard input and output until the input ends. Raises WayfareError if it cannot serve."""
    options.parameters()  # wrong options fail at the start, not at the first search
    backend = StdioBackend(settings, options)

    def leave(*_: object) -> None:
        backend.close()
        os._exit(0)  # a thread may block on the input, and native code may still run in another

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            served = mcp_server(
                partial(backend.call, tasks),
                lambda _: options,
                listing=partial(backend.listed, tasks),
                part=partial(backend.part, tasks) if options.mirror else None,
            )
            async with stdio_server() as (reader, writer):
                await served.run(reader, writer, served.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(run)
    leave()
