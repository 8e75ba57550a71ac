"""A tool that has run: the agent gets what it said, and no advice to do its work a second time."""

from __future__ import annotations

import json
import re
from typing import Any

from mcp import Client

from core.app import App
from tests.gateway.conftest import ROOT, ask, refused, served, talk
from tests.importing import import_text
from tests.servers import writing

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
        said = placed.structured_content
        assert (said["ok"], said["result"], said["note"]) == (True, "order 4711 was placed", MISFIT)
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
