"""A catalog's server over MCP: its tool definitions as they are, simulated results, and failures by a profile."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as McpServer
from mcp_types import methods
from pydantic import ValidationError

from core.domain.catalog import Server, Tool
from core.domain.outcome import SIMULATED_MARK
from core.virtual import SENTENCE
from core.virtual.document import hint_names
from core.virtual.failure_model import Ending, FailureModel
from core.virtual.responses import SimulatedResult, failure, simulated_result

VERSION = "virtual"
Context = ServerRequestContext[Any, Any]
Sleep = Callable[[float], Awaitable[None]]
Drop = Callable[[Context], Awaitable[None]]


class VirtualServer:
    """Serves one server of a catalog. `drop` ends the connection of a call; `sleep` waits, in s."""

    def __init__(
        self, server: Server, failures: FailureModel, *, drop: Drop, sleep: Sleep = anyio.sleep, seed: int = 0
    ) -> None:
        self._tools = {tool.name: tool for tool in server.tools}
        self._server = server
        self._failures = failures
        self._drop = drop
        self._sleep = sleep
        self._seed = seed
        self._listed: dict[str, dict[str, mcp_types.Tool]] = {}
        self.mcp = McpServer[Any](
            server.name,
            version=VERSION,
            title=server.title or None,
            description=f"{SENTENCE} {server.description}".strip(),
            instructions=f"{SENTENCE} Nothing is looked up and nothing is done. {server.description}".strip(),
            on_list_tools=self._list,
            on_call_tool=self._call,
        )
        self.mcp.extensions = {SIMULATED_MARK: {}}

    async def _list(self, context: Context, _: mcp_types.PaginatedRequestParams | None) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=list(self._definitions(context).values()))

    async def _call(self, context: Context, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            return _result(
                failure(Tool(self._server.name, params.name), "this server has no such tool."), promised=False
            )
        planned = self._failures.next(tool)
        if planned.wait_s > 0:
            await self._sleep(planned.wait_s)
        if planned.ending is Ending.DROP:
            await self._drop(context)
        if planned.ending in {Ending.DROP, Ending.HANG}:
            await anyio.sleep_forever()
        made = simulated_result(tool, params.arguments or {}, seed=self._seed)
        if planned.ending is Ending.ERROR and not made.failed:
            made = failure(tool, "the tool failed, as its declared success rate lets it do now and then.")
        return _result(made, promised=self._definitions(context)[tool.name].output_schema is not None)

    def _definitions(self, context: Context) -> dict[str, mcp_types.Tool]:
        version = context.protocol_version
        if version not in self._listed:
            self._listed[version] = {tool.name: listed(tool, version) for tool in self._server.tools}
        return self._listed[version]


def listed(tool: Tool, protocol_version: str) -> mcp_types.Tool:
    """The tool's definition as the catalog has it, without what this version of the protocol does not allow:
    an output schema of another type than object (older versions), an invalid input schema (all versions)."""
    hints = hint_names(tool.hints)
    whole = mcp_types.Tool(
        name=tool.name,
        title=tool.title or None,
        description=tool.description,
        input_schema={"type": "object", **(tool.input_schema or {})},
        output_schema=None if tool.output_schema is None else dict(tool.output_schema),
        annotations=mcp_types.ToolAnnotations.model_validate(hints) if hints else None,
    )
    bare: dict[str, Any] = {"input_schema": {"type": "object"}}
    silent: dict[str, Any] = {"output_schema": None}
    candidates = (whole.model_copy(update=update) for update in ({}, silent, bare))
    fitting = (one for one in candidates if _carried(one, protocol_version))
    return next(fitting, whole.model_copy(update=bare | silent))


def _carried(tool: mcp_types.Tool, protocol_version: str) -> bool:
    result = mcp_types.ListToolsResult(tools=[tool])
    document = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    try:
        methods.validate_server_result("tools/list", protocol_version, document)
    except ValidationError:
        return False
    return True


def _result(made: SimulatedResult, *, promised: bool) -> mcp_types.CallToolResult:
    texts = [made.sentence] if made.failed else [made.sentence, json.dumps(made.value, ensure_ascii=False, indent=2)]
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text=text) for text in texts],
        structured_content=made.value if promised and not made.failed else None,
        is_error=made.failed,
        _meta={SIMULATED_MARK: True},
    )
