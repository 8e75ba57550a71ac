"""Calls to a sample server in the test's own process."""

import asyncio
from collections.abc import Iterable
from typing import Any

from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult

Call = tuple[str, dict[str, Any]]


def call_all(server: MCPServer, calls: Iterable[Call]) -> list[CallToolResult]:
    """Several calls in one session."""

    async def run() -> list[CallToolResult]:
        async with Client(server, read_timeout_seconds=60) as client:
            await client.list_tools()
            return [await client.call_tool(tool, arguments) for tool, arguments in calls]

    return asyncio.run(run())


def call(server: MCPServer, tool: str, **arguments: Any) -> CallToolResult:
    """One call."""
    return call_all(server, [(tool, arguments)])[0]


def text(result: CallToolResult) -> str:
    """The first text of a result."""
    return result.content[0].text
