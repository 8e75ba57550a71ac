"""A catalog's server over MCP: its tool definitions, simulated results, failures by a profile, over stdio or HTTP."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as McpServer
from mcp.server.stdio import stdio_server
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, methods
from pydantic import ValidationError

from core.domain.catalog import Server, Tool
from core.domain.errors import WayfareError
from core.domain.json_schema import arguments_fault
from core.domain.outcome import SIMULATED_MARK
from core.virtual import SENTENCE
from core.virtual.launch import DEFAULT_PROFILE, PROFILES, Ending, FailureModel, Recording, hint_names
from core.virtual.sample_values import inferred_schema
from core.virtual.schema_values import NoValueError, value_for


@dataclass(frozen=True, slots=True)
class SimulatedResult:
    """The result of a call: a sentence that says that it is simulated and, if the call succeeded, a JSON value.

    The value is `structured` if the tool has an output schema. `failed` marks a tool error.
    """

    sentence: str
    value: Any = None
    structured: bool = False
    failed: bool = False


def simulated_result(tool: Tool, arguments: Mapping[str, Any], *, seed: int) -> SimulatedResult:
    """Returns the result of a call, the same for the same seed, tool and arguments.

    >>> search = Tool("shop", "find_books", "Finds books.", input_schema={"required": ["topic"]})
    >>> simulated_result(search, {"topic": "tides"}, seed=1).value["topic"]
    'tides'
    >>> simulated_result(search, {}, seed=1).sentence
    'Simulated error of shop::find_books: topic is required.'
    """
    if fault := arguments_fault(tool.input_schema, arguments):
        return failure(tool, f"{fault}.")
    structured = tool.output_schema is not None
    schema = tool.output_schema if tool.output_schema is not None else inferred_schema(tool, arguments)
    seed_text = json.dumps([seed, tool.id, dict(arguments)], sort_keys=True, default=str)
    try:
        value = value_for(schema, random.Random(seed_text), arguments)  # noqa: S311 - a simulation, not a secret
    except NoValueError as error:
        return failure(tool, f"its output schema cannot be met, {error}.")
    return SimulatedResult(
        f"Simulated result of {tool.id}: nothing was looked up and nothing was done.", value, structured
    )


def failure(tool: Tool, reason: str) -> SimulatedResult:
    return SimulatedResult(f"Simulated error of {tool.id}: {reason}", failed=True)


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
DROP = "wayfare.drop"
STARTED = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}


def dropping(app: App) -> App:
    """Returns the app with an event `DROP` in each request's scope. Setting it ends the connection without a response, like a server that dies
    after it accepted a call."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        drop = scope[DROP] = anyio.Event()
        started = False

        async def watched(message: Scope) -> None:
            nonlocal started
            started = True
            await send(message)

        async with anyio.create_task_group() as tasks:

            async def respond() -> None:
                await app(scope, receive, watched)
                tasks.cancel_scope.cancel()

            tasks.start_soon(respond)
            await drop.wait()
            tasks.cancel_scope.cancel()
        if drop.is_set() and not started:
            await send(STARTED)  # a response that never ends: the web server closes the connection
        return None

    return wrapped


Context = ServerRequestContext[Any, Any]
Sleep = Callable[[float], Awaitable[None]]
Drop = Callable[[Context], Awaitable[None]]


class VirtualServer:
    """Serves one server of a catalog. `drop` ends the connection of a call; `sleep` waits, in s."""

    def __init__(
        self, server: Server, plan: FailureModel | Recording, *, drop: Drop, sleep: Sleep = anyio.sleep, seed: int = 0
    ) -> None:
        self._tools = {tool.name: tool for tool in server.tools}
        self._server = server
        self._plan = plan
        self._drop = drop
        self._sleep = sleep
        self._seed = seed
        self.mcp = McpServer[Any](
            server.name,
            version="virtual",
            title=server.title or None,
            description=f"{SENTENCE} {server.description}".strip(),
            instructions=f"{SENTENCE} Nothing is looked up and nothing is done. {server.description}".strip(),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        self.mcp.extensions = {SIMULATED_MARK: {}}

    async def _list(self, context: Context, _: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(
            tools=[listed(tool, context.protocol_version) for tool in self._tools.values()]
        )

    async def _call(self, context: Context, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            return _result(
                failure(Tool(self._server.name, params.name), "this server has no such tool."), promised=False
            )
        plan = self._plan.next(tool, params.arguments or {})
        if plan.wait_s > 0:
            await self._sleep(plan.wait_s)
        if plan.ending is Ending.DROP:
            await self._drop(context)
        if plan.ending in {Ending.DROP, Ending.HANG}:
            await anyio.sleep_forever()
        if plan.answer is not None:
            return _played(plan.answer)
        result = simulated_result(tool, params.arguments or {}, seed=self._seed)
        if plan.ending is Ending.ERROR and not result.failed:
            result = failure(tool, "the tool failed; its declared success rate allows that now and then.")
        return _result(result, promised=listed(tool, context.protocol_version).output_schema is not None)


def listed(tool: Tool, protocol_version: str) -> mcp_types.Tool:
    """Returns the tool's definition from the catalog, without parts that this version of the protocol forbids: an
    output schema of another type than object (older versions), an invalid input schema (all versions)."""
    hints = hint_names(tool.hints)
    definition = mcp_types.Tool(
        name=tool.name,
        title=tool.title or None,
        description=tool.description,
        input_schema={"type": "object", **(tool.input_schema or {})},
        output_schema=None if tool.output_schema is None else dict(tool.output_schema),
        annotations=mcp_types.ToolAnnotations.model_validate(hints) if hints else None,
    )
    bare: dict[str, Any] = {"input_schema": {"type": "object"}}
    silent: dict[str, Any] = {"output_schema": None}
    candidates = (definition.model_copy(update=update) for update in ({}, silent, bare))
    matches = (candidate for candidate in candidates if _carried(candidate, protocol_version))
    return next(matches, definition.model_copy(update=bare | silent))


def _carried(tool: mcp_types.Tool, protocol_version: str) -> bool:
    result = mcp_types.ListToolsResult(tools=[tool])
    document = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    try:
        methods.validate_server_result("tools/list", protocol_version, document)
    except ValidationError:
        return False
    return True


def _result(run: SimulatedResult, *, promised: bool) -> mcp_types.CallToolResult:
    texts = [run.sentence] if run.failed else [run.sentence, json.dumps(run.value, ensure_ascii=False, indent=2)]
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text=text) for text in texts],
        structured_content=run.value if promised and not run.failed else None,
        is_error=run.failed,
        _meta={SIMULATED_MARK: True},
    )


def _played(answer: Mapping[str, Any]) -> mcp_types.CallToolResult:
    """Returns a recorded result. Raises MCPError if the server gave an error in its place."""
    if "result" not in answer:
        code = INVALID_PARAMS if answer["outcome"] == "invalid_arguments" else INTERNAL_ERROR
        raise MCPError(code, answer.get("error", ""))
    result = mcp_types.CallToolResult.model_validate(answer["result"])
    return result.model_copy(update={"meta": {**(result.meta or {}), SIMULATED_MARK: True}})


CRASHED = 70  # the exit code of a simulated crash


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of a virtual server. `speed` is a factor on every wait: 1 is real time, 0 never waits.

    A seed makes results and failures repeatable. Without a seed, results use seed 0, and failures differ at each start.
    With a recording its answers are played, and nothing is drawn.
    """

    profile: str = DEFAULT_PROFILE
    seed: int | None = None
    speed: float = 1.0
    recording: Recording | None = None


def virtual_server(server: Server, behaviour: Behaviour, drop: Drop) -> VirtualServer:
    if behaviour.profile not in PROFILES:
        raise WayfareError(f"There is no profile {behaviour.profile!r}; choose one of: {', '.join(PROFILES)}.")
    rng = random.Random(behaviour.seed)  # noqa: S311 - a simulation, not a secret
    failures = FailureModel(server, PROFILES[behaviour.profile], rng=rng, speed=behaviour.speed)
    return VirtualServer(server, behaviour.recording or failures, drop=drop, seed=behaviour.seed or 0)


def serve(server: Server, behaviour: Behaviour, port: int | None) -> None:
    """Speaks MCP over HTTP on a port until the process is stopped, or without a port on standard input and output until the client leaves.
    Raises WayfareError if the port is taken."""
    if port is None:
        serve_stdio(server, behaviour)
    else:
        serve_http(server, behaviour, port)


def serve_stdio(server: Server, behaviour: Behaviour) -> None:
    mcp_server = virtual_server(server, behaviour, _crash).mcp
    signal.signal(signal.SIGINT, _leave)  # a thread blocks on the input and would keep the process alive
    time.sleep(PROFILES[behaviour.profile].start_s * behaviour.speed)

    async def run() -> None:
        async with stdio_server() as (reader, writer):
            await mcp_server.run(reader, writer, mcp_server.create_initialization_options())

    anyio.run(run)


def serve_http(server: Server, behaviour: Behaviour, port: int) -> None:
    """Speaks streamable HTTP on http://127.0.0.1:PORT/mcp (port 0: a free port) and prints the URL on standard error.

    A simulated crash drops the connection of its call. Raises WayfareError if the port is taken.
    """
    import uvicorn

    mcp_server = virtual_server(server, behaviour, _drop).mcp
    try:
        if not 0 <= port < 2**16:
            raise OSError(0, "no port has this number")
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise WayfareError(
            f"Cannot listen on 127.0.0.1:{port} ({error.strerror}); choose another --http port."
        ) from None
    with listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the second part of an answer waits 40 ms
        signal.signal(signal.SIGINT, _leave)  # before the URL is printed, after which it may be stopped
        time.sleep(PROFILES[behaviour.profile].start_s * behaviour.speed)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        print(f"Virtual server {server.name} ({behaviour.profile}) on {url}", file=sys.stderr, flush=True)
        app = dropping(mcp_server.streamable_http_app())
        # critical: uvicorn would report connections that were dropped on purpose
        config = uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


async def _crash(_: Context) -> None:
    print("Simulated crash: the virtual server ends after it accepted a call.", file=sys.stderr, flush=True)
    os._exit(CRASHED)


async def _drop(context: Context) -> None:
    request: Any = context.request
    request.scope[DROP].set()


def _leave(*_: object) -> None:
    os._exit(130)
