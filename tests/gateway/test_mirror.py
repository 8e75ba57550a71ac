"""The mirror: what is listed under which names, that its calls are recorded and governed, results as they are, both ways in."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from mcp import Client, MCPError

from core.app import App
from tests.gateway.conftest import ROOT, ask, refused, served, talk
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.servers import writing
from tests.world import RAW

READS = {"annotations": {"readOnlyHint": True}}


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": "Echo words back.", **fields}


@pytest.fixture
def world(app: App) -> App:
    """Two servers with a name in common, and a server that is not chosen."""
    raw = {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}
    tools = [
        tool("echo", **READS),
        tool("pid"),
        tool("read_result"),
        tool("say", inputSchema={"required": ["n"], "type": "object"}),
    ]
    import_text(app.catalog_editor, json.dumps({"servers": [
        {"name": "one", "description": "Echo.", "tools": tools, "connection": raw},
        {"name": "one.b", "description": "Echo.", "tools": [tool("echo"), tool("x" * 80)], "connection": raw},
        {"name": "mail", "description": "Post.", "tools": [tool("send")]},
    ]}), "world")  # fmt: skip
    return app


async def names_of(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def test_tools_are_listed_under_names_that_nobody_else_has(world: App) -> None:
    names = talk(served(world, mirror=("one*",)), names_of)
    assert names[:4] == ["one__echo", "pid", "one__read_result", "say"]
    assert names[4] == "one_b__echo"
    assert (len(names[5]), names[6:]) == (64, ["read_result"])
    policy(world, deny=("one::pid",))
    assert "pid" not in talk(served(world, mirror=("one*",)), names_of)

    async def nobodys(client: Client) -> None:
        with pytest.raises(MCPError, match="No server"):
            await client.list_tools()

    talk(served(world, mirror=("nobody",)), nobodys)


def test_a_call_is_recorded_governed_and_its_result_is_the_tools_own(world: App) -> None:
    async def script(client: Client) -> None:
        result = await client.call_tool("one__echo", {"tool": "mine"})
        assert (result.is_error, result.structured_content) == (False, None)
        assert [block.text for block in result.content] == ['{"tool": "mine"}']
        assert (await refused(client, "say"))["error"] == "invalid_arguments"
        assert "one__echo" in (await refused(client, "echo"))["try"]
        assert (await refused(client, "search_tools", task="x"))["error"] == "unknown_tool"
        policy(world, deny=("one::pid",))
        assert (await refused(client, "pid"))["error"] == "not_allowed"

    talk(served(world, mirror=("one*",)), script, name="crab")
    world.store.events.flush()
    calls = world.store.activity.calls()
    assert [*zip(calls["server"], calls["tool"], calls["kind"], calls["client"], strict=True)] == [
        ("one", "echo", "ok", "crab")
    ]


AGAIN = re.compile(r"\bagain\b|change the arguments|other arguments|another tool|or try ")
PLACED = b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"order 4711 was placed"}]}}'
MISFIT = "The tool has run, but its result does not fit its output schema: it has no structured content."


def given(answer: bytes) -> dict[str, Any]:
    """The arguments for an answer of these bytes."""
    return {"hex": answer.hex()}


def test_what_has_run_is_said_and_not_asked_for_again(app: App) -> None:
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", writing.__file__], "cwd": str(ROOT)}
    tools = [{**tool, "description": "Places an order."} for tool in writing.TOOLS]
    server = {"name": "shop", "description": "Orders.", "tools": tools, "connection": connection}
    import_text(app.catalog_editor, json.dumps({"servers": [server]}), "world")

    async def script(client: Client) -> None:
        placed = await client.call_tool("execute_tool", {"tool": "shop::measure", "arguments": given(PLACED)})
        structured = placed.structured_content
        assert (structured["ok"], structured["result"], structured["note"]) == (True, "order 4711 was placed", MISFIT)
        assert [block.text for block in placed.content] == ["order 4711 was placed", f"[{MISFIT}]"]
        assert "note" not in await ask(client, "execute_tool", tool="shop::write", arguments=given(PLACED))
        for answer, why in (
            (b'{"jsonrpc":"2.0","id":ID,"result":null}', "its result is null"),
            (b'{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"out of stock"}}', "out of stock"),
            (PLACED.replace(b"]}}", b'],"isError":true}}'), "order 4711 was placed"),
        ):
            failed = await refused(client, "execute_tool", tool="shop::write", arguments=given(answer))
            assert failed["error"] == "tool_error"
            assert why in failed["why"]
            assert not AGAIN.search(failed["try"]), failed

    async def mirrored(client: Client) -> Any:
        return await client.call_tool("measure", given(PLACED))

    talk(served(app, catalog="world"), script)
    result = talk(served(app, catalog="world", mirror=("shop",)), mirrored)
    # as a result without an error, a strict client would refuse it and lose its text
    assert (result.is_error, [block.text for block in result.content]) == (
        True,
        ["order 4711 was placed", f"[{MISFIT}]"],
    )
