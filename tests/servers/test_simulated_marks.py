"""Results that say that they are simulated, and servers that say it of themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mcp_types
from mcp.server.lowlevel import Server as McpServer

from core.domain.catalog import Connection
from core.domain.outcome import SIMULATED_MARK, CallMode
from tests.servers.conftest import Bench

HERE = Connection("stdio", command="in this process")
MARKS = {"marked": {SIMULATED_MARK: True}, "denied": {SIMULATED_MARK: False}, "other": {"else": True}, "plain": None}


def made() -> McpServer[Any]:
    """A server whose tools carry the marks of their names; one of them fails."""

    async def listed(*_: Any) -> mcp_types.ListToolsResult:
        names = (*MARKS, "fail")
        return mcp_types.ListToolsResult(tools=[mcp_types.Tool(name=n, input_schema={"type": "object"}) for n in names])

    async def called(_: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        text = mcp_types.TextContent(type="text", text="done")
        return mcp_types.CallToolResult(content=[text], is_error=params.name == "fail", _meta=MARKS.get(params.name))

    return McpServer("here", on_list_tools=listed, on_call_tool=called)


def test_only_a_marked_result_is_simulated(bench_with: Callable[..., Bench]) -> None:
    bench = bench_with(open_target=lambda *_: made())
    for tool in (*MARKS, "fail"):
        outcome = bench.call(HERE, tool)
        assert outcome.mode is (CallMode.VIRTUAL if tool == "marked" else CallMode.REAL), tool
        assert outcome.simulated is (tool == "marked"), tool
