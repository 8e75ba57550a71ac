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


def simulated_result(tool: Tool, arguments: Mapping[str, Any], *, seed: int) -> mcp_types.CallToolResult:
    """Returns the result of a call, the same for the same seed, tool and arguments: a sentence that says that it is simulated and, if the
    call succeeds, a JSON value. The value is structured as well if the tool has an output schema.

    >>> search = Tool("shop", "find_books", "Finds books.", input_schema={"required": ["topic"]})
    >>> json.loads(simulated_result(search, {"topic": "tides"}, seed=1).content[1].text)["topic"]
    'tides'
    >>> simulated_result(search, {}, seed=1).content[0].text
    'Simulated error of shop::find_books: topic is required.'
    """
    if fault := arguments_fault(tool.input_schema, arguments):
        return failure(tool, f"{fault}.")
    schema = inferred_schema(tool, arguments) if tool.output_schema is None else tool.output_schema
    seed_text = json.dumps([seed, tool.id, dict(arguments)], sort_keys=True, default=str)
    try:
        value = value_for(schema, random.Random(seed_text), arguments)  # noqa: S311 - a simulation, not a secret
    except NoValueError as error:
        return failure(tool, f"its output schema cannot be met, {error}.")
    sentence = f"Simulated result of {tool.id}: nothing was looked up and nothing was done."
    result = _result(sentence, json.dumps(value, ensure_ascii=False, indent=2))
    return result if tool.output_schema is None else result.model_copy(update={"structured_content": value})


def failure(tool: Tool, reason: str) -> mcp_types.CallToolResult:
    return _result(f"Simulated error of {tool.id}: {reason}", is_error=True)


def _result(*texts: str, is_error: bool = False) -> mcp_types.CallToolResult:
    content: list[mcp_types.ContentBlock] = [mcp_types.TextContent(type="text", text=text) for text in texts]
    return mcp_types.CallToolResult(content=content, is_error=is_error, _meta={SIMULATED_MARK: True})


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
            return failure(Tool(self._server.name, params.name), "this server has no such tool.")
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
        if plan.ending is Ending.ERROR and not result.is_error:
            return failure(tool, "the tool failed; its declared success rate allows that now and then.")
        promised = listed(tool, context.protocol_version).output_schema is not None
        return result if promised else result.model_copy(update={"structured_content": None})


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


def serve(server: Server, behaviour: Behaviour, port: int | None) -> None:
    """Speaks MCP on standard input and output until the client leaves. With a port it speaks streamable HTTP on
    http://127.0.0.1:PORT/mcp (port 0: a free port) until the process is stopped, and prints the URL on standard error.

    A simulated crash ends the process, or over HTTP drops the connection of its call. Raises WayfareError if the port is taken.
    """
    profile, rng = PROFILES[behaviour.profile], random.Random(behaviour.seed)  # noqa: S311 - a simulation, not a secret
    plan = behaviour.recording or FailureModel(server, profile, rng=rng, speed=behaviour.speed)
    listener = None if port is None else _listener(port)
    mcp_server = VirtualServer(server, plan, drop=_drop if listener else _crash, seed=behaviour.seed or 0).mcp
    signal.signal(signal.SIGINT, _leave)  # over stdio a thread blocks on the input and would keep the process alive
    time.sleep(profile.start_s * behaviour.speed)
    if listener is None:
        anyio.run(_serve_stdio, mcp_server)
        return
    with listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        print(f"Virtual server {server.name} ({behaviour.profile}) on {url}", file=sys.stderr, flush=True)
        _serve_http(mcp_server, listener)


async def _serve_stdio(mcp_server: McpServer[Any]) -> None:
    async with stdio_server() as (reader, writer):
        await mcp_server.run(reader, writer, mcp_server.create_initialization_options())


def _serve_http(mcp_server: McpServer[Any], listener: socket.socket) -> None:
    import uvicorn

    app = dropping(mcp_server.streamable_http_app())
    # critical: uvicorn would report connections that were dropped on purpose
    config = uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


def _listener(port: int) -> socket.socket:
    try:
        if not 0 <= port < 2**16:
            raise OSError(0, "no port has this number")
        listener = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise WayfareError(
            f"Cannot listen on 127.0.0.1:{port} ({error.strerror}); choose another --http port."
        ) from None
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the second part of an answer waits 40 ms
    return listener


async def _crash(_: Context) -> None:
    print("Simulated crash: the virtual server ends after it accepted a call.", file=sys.stderr, flush=True)
    os._exit(CRASHED)


async def _drop(context: Context) -> None:
    request: Any = context.request
    request.scope[DROP].set()


def _leave(*_: object) -> None:
    os._exit(130)
