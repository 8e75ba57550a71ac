"""From a resolved connection to the streams of the SDK's client, also through an injected network."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import anyio
import anyio.to_thread
import httpx2
from mcp.client import Transport
from mcp.client.sse import sse_client
from mcp.client.streamable_http import MCP_SESSION_ID, streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId

from core.domain.leaks import inherited
from core.domain.settings import MAX_ANSWER_BYTES
from core.network.traces import Fault, FaultKind, Injection
from core.servers.messages import PLAIN, AnswerLimit, Tell, heard
from core.servers.oauth import ServerGrant, TokenAuth
from core.servers.results import mended
from core.servers.secrets import Launch, SecretVault
from core.servers.stdio import LINE_CHARS, StderrLog, stdio_transport
from core.servers.threads import NotConnectedError

HTTP_TIMEOUT = httpx2.Timeout(10.0, read=None)  # s; reading is bounded call by call
DRAIN_S, REASON_S = 0.2, 1.0
"""How long the rest of standard error is waited for: usually, and after a failed start that has given no reason yet."""
ON_SESSION_ID: ContextVar[Callable[[], None] | None] = ContextVar("ON_SESSION_ID", default=None)
"""Called when a server over HTTP gives the session of the current task an id, because it keeps state for it."""
Message = SessionMessage | Exception
OpenTarget = Callable[[Launch, StderrLog, Callable[[], None]], Transport | MCPServer]
"""Makes the target that the SDK's client connects to. The last argument is called once, when the server ends its stream."""


def open_target(
    launch: Launch,
    stderr_log: StderrLog,
    on_end: Callable[[], None],
    *,
    vault: SecretVault,
    max_answer_bytes: int = MAX_ANSWER_BYTES,
    inherit: tuple[str, ...] = (),
) -> Transport:
    """Returns the transport for a resolved connection. The transport starts when it is entered. The `vault` has the OAuth grants.
    A child process inherits variables, including the names in `inherit`.

    Raises NotConnectedError if the working directory does not exist.
    """
    limit = AnswerLimit(max_answer_bytes)
    if launch.transport == "stdio":
        if launch.cwd and not Path(launch.cwd).is_dir():
            raise NotConnectedError(f"the working directory {launch.cwd} does not exist")
        full_launch = replace(launch, env={**inherited(os.environ, inherit), **launch.env})
        return _stdio(full_launch, stderr_log, on_end, limit)
    auth = TokenAuth(ServerGrant(vault, launch.server, launch.url))
    if launch.transport == "sse":
        return _sse(launch, auth, stderr_log, on_end, limit)
    return _http(launch, auth, stderr_log, limit)


def quiet_sdk_log() -> None:
    """Keeps the SDK's tracebacks about broken servers out of the terminal, because outcomes and connection states report them."""
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)


@asynccontextmanager
async def _stdio(
    launch: Launch, stderr_log: StderrLog, on_end: Callable[[], None], limit: AnswerLimit
) -> AsyncGenerator[Any]:
    read_fd, write_fd = os.pipe()
    # a thread works alike on every platform; it ends with the last process that has the pipe open
    thread = threading.Thread(target=_log_lines, args=(read_fd, stderr_log), name="mcp-stderr", daemon=True)
    thread.start()
    opened, known = False, stderr_log.count
    try:
        with os.fdopen(write_fd, "w", encoding="utf-8") as errlog:
            async with stdio_transport(launch, errlog, stderr_log, limit) as (reader, writer):
                yield watched(reader, writer, stderr_log, on_end)
        opened = True
    finally:
        limit_s = DRAIN_S if opened or stderr_log.count > known else REASON_S
        with anyio.CancelScope(shield=True):  # a descendant outside its group may keep the pipe open
            await anyio.to_thread.run_sync(thread.join, limit_s)


def _log_lines(read_fd: int, stderr_log: StderrLog) -> None:
    with os.fdopen(read_fd, "r", encoding="utf-8", errors="replace") as reader:
        # bounded reads, because a server may write forever without a line break
        while line := reader.readline(16 * LINE_CHARS):
            stderr_log.add(line)


@asynccontextmanager
async def _http(launch: Launch, auth: TokenAuth, stderr_log: StderrLog, limit: AnswerLimit) -> AsyncGenerator[Any]:
    async with (
        _http_client(launch, auth, stderr_log, limit) as client,
        streamable_http_client(launch.url, http_client=client, max_sse_event_size=None) as (reader, writer),
    ):
        yield watched(reader, writer, stderr_log, lambda: None)


@asynccontextmanager
async def _sse(
    launch: Launch, auth: TokenAuth, stderr_log: StderrLog, on_end: Callable[[], None], limit: AnswerLimit
) -> AsyncGenerator[Any]:
    def factory(**_: Any) -> httpx2.AsyncClient:
        return _http_client(launch, auth, stderr_log, limit, incoming.send)

    incoming, read = anyio.create_memory_object_stream[Message](0)  # messages of the server, and refusals of requests
    async with (
        incoming,
        read,
        sse_client(launch.url, httpx_client_factory=cast(Any, factory)) as (reader, writer),
        anyio.create_task_group() as tasks,
    ):

        async def pass_on() -> None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async with incoming:
                    async for message in reader:
                        await incoming.send(message)

        tasks.start_soon(pass_on)
        try:
            yield watched(read, writer, stderr_log, on_end)
        finally:
            tasks.cancel_scope.cancel()


def _http_client(
    launch: Launch, auth: TokenAuth, stderr_log: StderrLog, limit: AnswerLimit, tell: Tell | None = None
) -> httpx2.AsyncClient:
    async def note(response: httpx2.Response) -> None:
        if response.status_code >= 400:
            stderr_log.add(f"HTTP {response.status_code} {response.reason_phrase}")
        if MCP_SESSION_ID in response.headers and (callback := ON_SESSION_ID.get()) is not None:
            callback()
        await heard(response, limit, tell)

    hooks: dict[str, list[Any]] = {"response": [note]}
    headers = {"Accept-Encoding": PLAIN, **launch.headers}
    return httpx2.AsyncClient(headers=headers, timeout=HTTP_TIMEOUT, event_hooks=hooks, auth=auth)


@dataclass
class WrappedStream:
    """A stream of the SDK. What a subclass does not change is the stream's own."""

    stream: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    async def __aenter__(self) -> Self:
        await self.stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.stream.__aexit__(kind, error, trace)


@dataclass
class AskingStream(WrappedStream):
    """A write stream that notes the methods of requests."""

    asked: dict[RequestId, str]

    async def send(self, item: SessionMessage, /) -> None:
        if isinstance(item.message, JSONRPCRequest):
            self.asked[item.message.id] = item.message.method
        await self.stream.send(item)


@dataclass
class WatchedStream(WrappedStream):
    """A read stream that calls `on_end` when the server ends it, logs output that is not a protocol message, and mends results by the
    methods that were `asked`."""

    stderr_log: StderrLog
    on_end: Callable[[], None]
    asked: dict[RequestId, str]
    modern: bool = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        try:
            item = await self.stream.__anext__()
        except StopAsyncIteration:
            self.on_end()
            raise
        if isinstance(item, Exception):
            details: Any = getattr(item, "errors", list[Any])()
            self.stderr_log.add(f"not a protocol message: {details[0].get('input', item) if details else item}")
        elif isinstance(item.message, JSONRPCError) and item.message.id is not None:
            self.asked.pop(coerce_request_id(item.message.id), "")
        elif isinstance(item.message, JSONRPCResponse):
            method = self.asked.pop(coerce_request_id(item.message.id), "")
            self.modern = self.modern and method != "initialize"
            item.message.result = mended(method, item.message.result, modern=self.modern)
        return item


def watched(
    reader: Any, writer: Any, stderr_log: StderrLog, on_end: Callable[[], None]
) -> tuple[WatchedStream, AskingStream]:
    """Returns the streams from a server and to it for the SDK."""
    methods: dict[RequestId, str] = {}
    return WatchedStream(reader, stderr_log, on_end, methods), AskingStream(writer, methods)


# The injected network acts below the protocol: connecting, listing tools, calls and probes all meet its faults. Time
# limits, cancelling, retries and reconnecting remain the pool's.


def injected(open_target: OpenTarget, injection: Injection, server: str) -> OpenTarget:
    """Returns a function that opens the target of `open_target` through the injected network. A server in this process
    has no network."""

    def opened(launch: Launch, stderr_log: StderrLog, on_end: Callable[[], None]) -> Transport | MCPServer:
        target = open_target(launch, stderr_log, on_end)
        return target if isinstance(target, MCPServer) else _troubled(target, injection, server, on_end)

    return opened


@asynccontextmanager
async def _troubled(
    target: Transport, injection: Injection, server: str, on_end: Callable[[], None]
) -> AsyncGenerator[Any]:
    """Waits for the injected connection time first. Raises NotConnectedError if connecting fails."""
    if (fault := injection.fault(server)) is not None:
        if fault.kind is FaultKind.DROPPED:
            raise NotConnectedError("the injected network refused the connection")
        if fault.kind is FaultKind.SILENT:
            await anyio.sleep(injection.give_up_s)
            raise NotConnectedError(f"no answer within {injection.give_up_s:g} s, in the injected network")
        await anyio.sleep(fault.delay_s)
    async with target as (reader, writer):
        yield reader, TroubledStream(writer, partial(injection.fault, server), on_end)


@dataclass
class TroubledStream(WrappedStream):
    """A write stream whose messages meet faults. Messages are delayed in parallel, so delays do not add up."""

    fault: Callable[[], Fault | None]
    on_end: Callable[[], None]

    async def send(self, item: SessionMessage, /) -> None:
        fault = self.fault()
        if fault is not None:
            if fault.kind is FaultKind.SILENT:
                return
            if fault.kind is FaultKind.DROPPED:
                self.on_end()
                raise anyio.BrokenResourceError
            await anyio.sleep(fault.delay_s)
        await self.stream.send(item)
