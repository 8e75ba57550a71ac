"""Resources that a result links to are read on through Wayfare, in a client's scope, over a real server process."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from mcp import Client

from core.app import App
from core.governance.budgets import Budget
from core.governance.policy import Sanitise
from tests.gateway.conftest import ask, refused, served, talk
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import spending

SERVER = """
import sys
from mcp.server.mcpserver import MCPServer
from mcp_types import ResourceLink, ToolAnnotations
server = MCPServer("linker")
@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def links() -> list[ResourceLink]:
    return [ResourceLink(type="resource_link", uri=f"note://{name}", name=name) for name in ("long", "bytes", "gone", "key")]
@server.resource("note://long")
def long() -> str:
    return "word " * 700
@server.resource("note://key")
def key() -> str:
    return "password: hunter2024, for all"
@server.resource("note://bytes", mime_type="application/octet-stream")
def some_bytes() -> bytes:
    return bytes(3)
server.run()
"""


@pytest.fixture
def linking(app: App, tmp_path: Any) -> App:
    script = tmp_path / "linker.py"
    script.write_text(SERVER)
    tools = [{"name": "links", "description": "Link to notes.", "annotations": {"readOnlyHint": True}}]
    connection = {"type": "stdio", "command": "${python}", "args": [str(script)]}
    catalog = {"servers": [{"name": "linker", "description": "Notes.", "tools": tools, "connection": connection}]}
    import_text(app.catalog_editor, json.dumps(catalog), "world")
    return app


async def handles(client: Client) -> dict[str, str]:
    result = await ask(client, "execute_tool", tool="linker::links")
    return {link["name"]: link["handle"] for link in result["links"]}


def test_a_linked_text_is_read_on_and_counts(linking: App) -> None:
    policy(linking, budgets=(Budget(tokens=100_000),))

    async def script(client: Client) -> str:
        links = await handles(client)
        policy(linking, sanitise=(Sanitise(secrets="remove"),))
        key = (await ask(client, "read_result", handle=links["key"]))["text"]
        assert key.startswith("password: [removed: a secret], for all\n[Sanitised: 1 x a secret in part 1, removed.")
        handle, parts, offset = links["long"], list[str](), 0
        while offset is not None:
            page = await ask(client, "read_result", handle=handle, offset=float(offset))
            parts.append(page["text"])
            offset = page["next_offset"]
        assert len(parts) > 2
        return "".join(parts)

    assert talk(served(linking), script) == "word " * 700
    spent = [row for row in spending(linking.store) if row.tool in {"read_result", "resources/read"}]
    assert {(row.catalog, row.server) for row in spent} == {("world", "linker")}
    assert (sum(row.calls for row in spent), sum(row.tokens for row in spent) >= 700) == (2, True)


def test_what_is_read_on_is_of_the_budgets_of_its_server(linking: App) -> None:
    policy(linking, budgets=(Budget(server="other", tokens=0),))  # with the first budget a client's name is another

    async def script(client: Client) -> None:
        links = await handles(client)
        policy(linking, budgets=(Budget(server="linker", tokens=249), Budget(server="other", tokens=0)))
        page = await ask(client, "read_result", handle=links["long"])
        refusal = await refused(client, "read_result", handle=links["long"], offset=page["next_offset"])
        assert (refusal["error"], "of 249 tokens are left" in refusal["why"]) == ("budget_spent", True)
        policy(linking, budgets=(Budget(catalog="world", server="linker", calls=2),))  # the call and one reading
        refusal = await refused(client, "read_result", handle=links["bytes"])
        assert (refusal["error"], "0 of 2 calls" in refusal["why"]) == ("budget_spent", True)

    talk(served(linking), script)


def test_bytes_come_as_the_server_gives_them_and_what_is_gone_or_denied_is_said(linking: App) -> None:
    async def script(client: Client) -> None:
        links = await handles(client)
        (block,) = (await client.call_tool("read_result", {"handle": links["bytes"]})).content
        assert base64.b64decode(block.resource.blob) == bytes(3)
        refusal = await refused(client, "read_result", handle=links["gone"])
        assert (refusal["error"], "note://gone" in refusal["why"]) == ("not_possible", True)
        policy(linking, deny=("linker::*",))
        assert (await refused(client, "read_result", handle=links["long"]))["error"] == "not_allowed"

    talk(served(linking), script)
