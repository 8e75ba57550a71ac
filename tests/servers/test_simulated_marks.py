"""Results that say that they are simulated, and servers that say it of themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import mcp_types
import pytest
from mcp.server.lowlevel import Server as McpServer

from core.domain.catalog import Connection, Server
from core.domain.outcome import SIMULATED_MARK, CallMode, OutcomeKind
from core.servers.discovery import discover
from tests.cases import each
from tests.servers.conftest import Bench

HERE = Connection("stdio", command="in this process")
MARKS = {"marked": {SIMULATED_MARK: True}, "denied": {SIMULATED_MARK: False}, "other": {"else": True}, "plain": None}


def made(*, virtual: bool) -> McpServer[Any]:
    """A server whose tools carry the marks of their names; one of them hangs, one fails."""

    async def listed(*_: Any) -> mcp_types.ListToolsResult:
        names = (*MARKS, "hang", "fail")
        return mcp_types.ListToolsResult(tools=[mcp_types.Tool(name=n, input_schema={"type": "object"}) for n in names])

    async def called(_: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        if params.name == "hang":
            await anyio.sleep_forever()
        text = mcp_types.TextContent(type="text", text="done")
        return mcp_types.CallToolResult(content=[text], is_error=params.name == "fail", _meta=MARKS.get(params.name))

    server: McpServer[Any] = McpServer("here", on_list_tools=listed, on_call_tool=called)
    server.extensions = {SIMULATED_MARK: {}} if virtual else {}
    return server


@pytest.fixture
def bench_of(bench_with: Callable[..., Bench]) -> Callable[[bool], Bench]:
    """A pool whose only server is the one above."""
    return lambda virtual: bench_with(open_target=lambda *_: made(virtual=virtual))


@each("tool", [*MARKS, "fail"])
def test_only_a_marked_result_is_simulated(bench_of: Callable[[bool], Bench], tool: str) -> None:
    outcome = bench_of(False).call(HERE, tool)
    assert outcome.mode is (CallMode.VIRTUAL if tool == "marked" else CallMode.REAL)
    assert outcome.simulated is (tool == "marked")


def test_all_that_becomes_of_a_call_to_a_virtual_server_is_simulated(bench_of: Callable[[bool], Bench]) -> None:
    bench = bench_of(True)
    kinds = {
        tool: bench.call(HERE, tool, timeout_s=0.1 if tool == "hang" else 30) for tool in ("plain", "fail", "hang")
    }
    assert [outcome.kind for outcome in kinds.values()] == [OutcomeKind.OK, OutcomeKind.TOOL_ERROR, OutcomeKind.TIMEOUT]
    assert all(outcome.mode is CallMode.VIRTUAL for outcome in kinds.values())


@pytest.mark.parametrize("virtual", [True, False])
def test_discovery_learns_it(bench_of: Callable[[bool], Bench], virtual: bool) -> None:
    (found,) = discover(bench_of(virtual).pool, "", [Server("here", connection=HERE)])
    assert found.server is not None
    assert found.server.virtual is virtual
