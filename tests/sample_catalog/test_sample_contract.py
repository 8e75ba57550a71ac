"""Every tool of every sample server: described, and right when it is called over MCP."""

import asyncio
import importlib
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, Tool

from sample_catalog.authoring.profiles import PROFILES
from tests.cases import each

from .checks import E
from .examples import EXAMPLES

SERVERS: dict[str, MCPServer] = {
    (module := importlib.import_module(f"sample_catalog.runnable.{profile.module}")).server.name: module.server
    for profile in PROFILES
}


async def _tools(server: MCPServer) -> list[Tool]:
    async with Client(server) as client:
        return (await client.list_tools()).tools


TOOLS = {f"{name}::{tool.name}": tool for name, server in SERVERS.items() for tool in asyncio.run(_tools(server))}


def _without_description(schema: dict[str, Any], place: str) -> list[str]:
    """Parameters, also of nested objects, that say nothing about themselves."""
    silent = []
    for name, parameter in schema.get("properties", {}).items():
        if len(parameter.get("description", "")) < 3:
            silent.append(f"{place}.{name}")
    for name, nested in schema.get("$defs", {}).items():
        silent += _without_description(nested, f"{place}.{name}")
    return silent


def test_there_are_fifteen_servers_and_well_over_ninety_tools() -> None:
    assert len(SERVERS) == 15
    assert len(TOOLS) >= 90


def test_examples_are_of_tools_and_every_server_has_some() -> None:
    assert set(EXAMPLES) <= set(TOOLS)
    assert {name.partition("::")[0] for name in EXAMPLES} == set(SERVERS)


def test_a_tool_describes_itself_and_its_parameters() -> None:
    for name, tool in TOOLS.items():
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is not None
        assert _without_description(tool.input_schema, name) == []


@each("server", SERVERS)
def test_a_call_gives_the_known_result(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def call(tool: str, example: E) -> CallToolResult:
        async with Client(SERVERS[server], read_timeout_seconds=60) as client:
            await client.list_tools()
            for prior, arguments in example.before:
                assert not (await client.call_tool(prior, arguments)).is_error
            return await client.call_tool(tool, example.arguments)

    for name, example in EXAMPLES.items():
        owner, tool = name.split("::")
        if owner == server and example.check is not None:
            (sandbox := tmp_path / tool).mkdir()
            monkeypatch.setenv("WAYFARE_SANDBOX", str(sandbox))
            result = asyncio.run(call(tool, example))
            assert example.check(result), (name, result.content)
