"""One client session: the task that keeps it open, its state for callers, and the greeting that its server accepts."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, get_args

import anyio
import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT, DiscoverResult
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic_core import from_json

from core.domain.catalog import Connection
from core.domain.errors import WayfareError
from core.domain.execution import ITEMS, NOBODY, TOOLS
from core.domain.json_schema import misfit
from core.domain.outcome import SIMULATED_MARK
from core.servers.asking_back import AskingBack
from core.servers.messages import REFUSED, Refused
from core.servers.results import all_pages
from core.servers.secrets import Launch
from core.servers.stdio import ON_SPAWN, StderrLog
from core.servers.threads import (
    CallTimeoutError,
    CancelledCallError,
    InvalidResponseError,
    NotConnectedError,
    NotSentError,
    bounded,
    first_leaf,
    kill_group,
    retrieved,
    sentence,
)
from core.servers.transports import ON_SESSION_ID, OpenTarget

Way = Literal["probe", "legacy", "modern", "sse"]
"""`legacy` begins with `initialize`, `modern` with `server/discover`, `probe` with the latter and falls back to the former. `sse` is legacy
over the older transport, at an address that was given for the newer transport."""
MODES: dict[Way, Any] = {"probe": "auto", "modern": LATEST_MODERN_VERSION}
T = TypeVar("T")


async def all_tools(client: Client) -> tuple[list[mcp_types.Tool], list[str]]:
    """Returns the server's tools, and phrases about odd tools. Both are empty if it has no tools. Raises MCPError."""
    try:
        return await all_pages(lambda cursor: client.list_tools(cursor=cursor), ITEMS[TOOLS])
    except MCPError as error:
        if client.server_capabilities.tools is None or error.code == METHOD_NOT_FOUND:
            return [], []
        raise


async def tools_by_name(client: Client) -> dict[str, mcp_types.Tool] | None:
    """Returns the tools by name, or None if the server lists none. Listing them lets the client validate results."""
    try:
        return {tool.name: tool for tool in (await all_tools(client))[0]}
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise
        return None


def check_results(client: Client, tools: dict[str, mcp_types.Tool]) -> None:
    """Validates results against the output schemas of these tools with a compiled validator. The SDK's own check is in
    Python on the event loop: all servers would wait 3 s for a result of 9 MB. A result that does not fit raises
    InvalidResponseError, which keeps it, because the tool has run."""

    async def check(name: str, result: mcp_types.CallToolResult) -> None:
        if name not in tools or not await asyncio.to_thread(_misfit, tools[name], result):
            return
        tools.update(await tools_by_name(client) or {})  # the server may have changed the schema
        if problem := await asyncio.to_thread(_misfit, tools[name], result):
            raise InvalidResponseError(
                f"The tool has run, but its result does not fit its output schema: {problem}.", result
            )

    client.session.validate_tool_result = check


def _misfit(tool: mcp_types.Tool, result: mcp_types.CallToolResult) -> str:
    if tool.output_schema is None:
        return ""
    if "structured_content" in result.model_fields_set:
        return misfit(tool.output_schema, result.structured_content)
    for block in result.content:  # some servers give the value as a text alone
        with suppress(ValueError):
            value: Any = from_json(getattr(block, "text", ""))
            if isinstance(value, dict) and not misfit(tool.output_schema, cast("dict[str, Any]", value)):
                result.structured_content = value
                return ""
    return "it has no structured content"


async def discover(client: Client) -> None:
    """Greets a server from 2026-07-28 on. Asks again while it starts, because the SDK does not wait for that. Raises MCPError."""
    while True:
        try:
            answer = await client.session.send_discover(LATEST_MODERN_VERSION)
            break
        except MCPError as error:
            if error.code != REQUEST_TIMEOUT:
                raise
    client.session.adopt(DiscoverResult.model_validate(answer))


MOST_GREETINGS = 2000
REFUSES_POST = ("HTTP 400", "HTTP 404", "HTTP 405")


@dataclass
class Greetings:
    """The ways that worked, in a file, or in memory without a file. A file that cannot be written loses only time."""

    file: Path | None = None
    _known: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, connection: Connection) -> Way:
        way: Any = self._read().get(_digest(connection))
        return way if way in get_args(Way) else "probe"

    def keep(self, connection: Connection, way: Way) -> None:
        """Keeps the way that worked; `probe` forgets it."""
        ways, key = self._read(), _digest(connection)
        if ways.get(key, "probe") == way:
            return
        others = {digest: other for digest, other in ways.items() if digest != key}
        ways = others if way == "probe" else {**others, key: way}
        self._known = dict(list(ways.items())[-MOST_GREETINGS:])
        if self.file is not None:
            with suppress(OSError):
                self.file.parent.mkdir(parents=True, exist_ok=True)
                new = self.file.with_name(f"{self.file.name}.{os.getpid()}")
                new.write_text(json.dumps(self._known))
                new.replace(self.file)

    def _read(self) -> dict[str, str]:
        if self.file is not None:
            with suppress(OSError, ValueError):
                document: Any = json.loads(self.file.read_text())
                self._known = document if isinstance(document, dict) else {}
        return self._known


def _digest(connection: Connection) -> str:
    words = (connection.transport, connection.command, connection.args, connection.cwd, connection.url)
    return hashlib.sha256(repr(words).encode()).hexdigest()[:24]


def next_way(way: Way, transport: str, error: Exception | None, last_words: str) -> Way | None:
    """Returns the way to try after a failed way, or None. Without an error the time was up."""
    if error is None:
        return "legacy" if way == "modern" else None  # an older version may be silent at `server/discover`
    if isinstance(error, OSError | WayfareError | httpx2.TransportError):
        return None
    if transport != "stdio" or not isinstance(error, MCPError):
        if way == "probe" and isinstance(error, MCPError) and error.code == METHOD_NOT_FOUND:
            return "modern"  # it knows no `initialize`: it was too slow for the probe before
        first = "sse" if transport == "http" and last_words.startswith(REFUSES_POST) else None
        return first if way == "probe" else "probe"
    if error.code == CONNECTION_CLOSED:  # some servers end at a request before `initialize`
        return "probe" if way == "legacy" else "legacy"
    return "legacy" if way == "modern" else "modern"


CLIENT_INFO = mcp_types.Implementation(name="wayfare", version="0.1.0")
LEAVE_S = 3.0
PROBE_EVERY_S, PROBE_LIMIT_S = 5.0, 10.0
STDERR_WAIT_S = 0.2


@dataclass(frozen=True)
class Lease:
    """A session for one use. `connect_s` is the connect time in s if this use had to wait for a connection, else None."""

    session: Session
    client: Client
    connect_s: float | None


Work = Callable[[Lease], Awaitable[T]]


class Session:
    """Owns the task of `async with Client(...)`. All methods belong to the pool's event loop.

    The task is never cancelled from outside: the SDK shields the shutdown of a child process (close its input, wait,
    terminate, kill) only against its own cancel scopes. Leaving goes through an event or the scope.
    """

    def __init__(
        self,
        launch: Launch,
        open_target: OpenTarget,
        stderr_log: StderrLog,
        abilities: frozenset[str] = NOBODY,
        way: Way = "probe",
    ) -> None:
        self.stderr_log = stderr_log
        self.asking = AskingBack(abilities)
        self.client: Client | None = None
        self.tools: dict[str, mcp_types.Tool] | None = None
        """The server's list at the opening, None if it lists nothing."""
        self.simulated = False
        """Whether the server declares itself virtual."""
        self.error: Exception | None = None
        self.protocol_version = ""
        self.server_version = ""
        self.in_flight = 0
        self.suspect = False
        self.closed_by_us = False
        self.used = self.passing = False
        self.renewed = ""
        """The reason why the previous session ended, until a call of its client has named it. "" if that session had no state."""
        self._has_id = False
        self.pid: int | None = None
        self.refused = Refused()
        self.log_start = stderr_log.count
        self.launch = launch
        self._way: Way = way
        self._open_target = open_target
        self._scope = anyio.CancelScope()
        self._opened = asyncio.Event()
        self._leave = asyncio.Event()
        self.task = asyncio.ensure_future(self._keep())

    @property
    def alive(self) -> bool:
        return self.client is not None and not self._leave.is_set()

    @property
    def stateless(self) -> bool:
        """Whether the server keeps nothing for a session, because it is on HTTP and gave no session id."""
        return self.launch.transport == "http" and self.client is not None and not self._has_id

    async def in_turn(self, work: Work[T], lease: Lease) -> T:
        """Runs `work`. It waits for the previous work if a question of the server could belong to either."""
        if not self.asking.abilities or self.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return await work(lease)
        async with self.asking.turn:
            if self.closed_by_us:
                raise CancelledCallError("the connection was closed by the operator")
            return await work(self.lease(lease.connect_s))

    def lease(self, connect_s: float | None) -> Lease:
        """Returns the session for one use. Raises NotSentError if it has ended."""
        if self.client is None or not self.alive:
            raise NotSentError("it was disconnected before the call could be sent", connect_s)
        return Lease(self, self.client, connect_s)

    async def opened(self, limit_s: float) -> None:
        """Waits until calls may be sent.

        Raises NotConnectedError with the reason if the session was not opened within `limit_s`, and CancelledCallError
        if it was closed meanwhile.
        """
        try:
            await asyncio.wait_for(self._opened.wait(), limit_s)
        except TimeoutError:
            self.close()
            hint = "; startup_timeout_sec in its configuration gives it more time" if self.launch.command else ""
            raise NotConnectedError(self._with_stderr(f"no answer within {limit_s:g} s{hint}")) from None
        if self.client is not None:
            return
        await self.ended()
        if self.error is None:
            raise CancelledCallError("the connection was closed while it was being opened")
        raise NotConnectedError(self._with_stderr(sentence(self.error, self.launch)))

    async def responds(self, limit_s: float) -> bool:
        """Whether the server still answers a small request. It is checked after a call that timed out."""
        if self.client is None:
            return False
        note = Refused()
        REFUSED.set(note)
        try:
            await bounded(self.client.list_tools(), limit_s)
        except MCPError as error:
            return error.code != CONNECTION_CLOSED and note.status < 400
        except (CallTimeoutError, RuntimeError):
            return False
        return self.alive

    def close(self) -> None:
        """Ends the session now. Calls in progress lose their connection."""
        self.closed_by_us = True
        self._depart()
        if self.client is None:
            self._scope.cancel()

    def retire(self) -> None:
        """Takes no new calls, and ends once no call is in progress."""
        self.suspect = True
        if self.in_flight == 0:
            self._depart()

    def kill(self) -> None:
        if self.pid is not None:
            kill_group(self.pid)

    async def ended(self) -> None:
        """Waits a little for the end, so that its error and the server's last output are known."""
        await asyncio.wait({self.task}, timeout=STDERR_WAIT_S)

    def _depart(self) -> None:
        self._leave.set()
        self._scope.deadline = asyncio.get_running_loop().time() + LEAVE_S

    @property
    def last_words(self) -> str:
        return self.stderr_log.last(self.log_start)

    def _with_stderr(self, reason: str) -> str:
        words = self.stderr_log.cause(self.log_start) if self.launch.command else self.last_words
        return f"{reason} (last words: {words})" if words and words not in reason else reason

    def _heard(self, client: Client) -> AbstractAsyncContextManager[Client]:
        """A client for listening. Over HTTP it is a separate client, because the SDK ends a client whose stream breaks."""
        if self.launch.transport == "stdio":
            return nullcontext(client)
        target = self._open_target(self.launch, self.stderr_log, lambda: None)
        return Client(target, client_info=CLIENT_INFO, cache=None)

    async def _probed(self, client: Client) -> None:
        """Pings a server over HTTP up to 2025-11-25 while a client waits to hear of a resource. Ends the session if the server has forgotten it,
        because nothing else tells this without calls."""
        if self.launch.transport != "http" or client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        while self.alive:
            await asyncio.sleep(PROBE_EVERY_S)
            if not self.asking.uris or self.in_flight:
                continue
            try:
                ping = client.session.send_request(mcp_types.PingRequest(), mcp_types.EmptyResult)
                await bounded(ping, PROBE_LIMIT_S)
            except Exception as error:  # noqa: BLE001  the SDK raises many kinds for a server that is gone
                if getattr(error, "code", 0) != METHOD_NOT_FOUND and not self.in_flight:
                    self._depart()

    async def _keep(self) -> None:
        ON_SPAWN.set(partial(setattr, self, "pid"))
        ON_SESSION_ID.set(partial(setattr, self, "_has_id", True))
        REFUSED.set(self.refused)
        try:
            launch = replace(self.launch, transport="sse") if self._way == "sse" else self.launch
            options = {"client_info": CLIENT_INFO, "cache": None, "mode": MODES.get(self._way, "legacy")}
            target = self._open_target(launch, self.stderr_log, self._depart)
            with self._scope:
                async with Client(target, **options, **self.asking.callbacks()) as client:
                    if self._way == "modern":
                        await discover(client)
                    self.tools = await tools_by_name(client)
                    check_results(client, self.tools or {})
                    self.simulated = SIMULATED_MARK in (client.server_capabilities.extensions or {})
                    self.protocol_version = client.protocol_version
                    self.server_version = client.server_info.version if client.server_info is not None else ""
                    self.client = client
                    self._opened.set()
                    jobs = (self.asking.listen(client, partial(self._heard, client)), self._probed(client))
                    tasks = [asyncio.ensure_future(work) for work in jobs]
                    for task in tasks:
                        task.add_done_callback(retrieved)
                    try:
                        await self._leave.wait()
                    finally:
                        for task in tasks:
                            task.cancel()
        except Exception as error:  # noqa: BLE001  any error of the server or the SDK ends only this session
            self.error = first_leaf(error)
        finally:
            self._leave.set()
            self._opened.set()
            self.kill()
