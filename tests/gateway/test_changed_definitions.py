"""A definition that changes after it was approved is held back, whatever changed, and a client that may only read learns of no tool that writes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client, MCPError

from core.app import App
from core.domain.catalog import Tool, ToolHints
from core.governance.policy import ApprovalRules, Scope
from tests.gateway.conftest import ask, refused, served, talk
from tests.gateway.serving import served as served_over_http
from tests.gateway.test_status import get
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import RAW

SCHEMA = {"type": "object", "properties": {"to": {"type": "string", "default": 1}}}
SEND = Tool("mail", "send", "Post a letter.", title="Send", input_schema=SCHEMA, hints=ToolHints(read_only=False))
READ = Tool("mail", "look", "Look at letters.", hints=ToolHints(read_only=True))
CHANGES: dict[str, dict[str, Any]] = {
    "whitespace": {"description": "Post a  letter."},
    "a confusable letter": {"description": "Post \N{CYRILLIC SMALL LETTER A} letter."},
    "schema": {"input_schema": {**SCHEMA, "required": ["to"]}},
    "a default": {"input_schema": {"type": "object", "properties": {"to": {"type": "string", "default": 1.0}}}},
    "an output schema": {"output_schema": {"type": "object"}},
    "title": {"title": "Send!"},
    "a hint": {"hints": ToolHints(read_only=True)},
    "another hint": {"hints": ToolHints(read_only=False, idempotent=True)},
}


@pytest.fixture
def world(app: App) -> App:
    """A server with an approved tool that writes, and a tool that reads."""
    raw = {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}
    server = {"name": "mail", "tools": [{"name": "send"}], "connection": raw}
    import_text(app.catalog_editor, json.dumps({"servers": [server, {**server, "name": "hidden"}]}), "world")
    take(app, SEND)
    app.governance.definitions.decide("world", "mail::send", approve=True, origin="test")
    return app


def take(app: App, send: Tool) -> None:
    server = app.catalogs.catalog("world").server("mail")
    app.catalogs.edit("world", lambda catalog: catalog.with_server(replace(server, tools=(send, READ))))


def test_every_change_holds_a_definition_back_and_a_turned_hint_opens_nothing(world: App) -> None:
    async def both(client: Client) -> set[str]:
        names = ("execute_tool", "execute_readonly_tool")
        return {(await refused(client, name, tool="mail::send"))["error"] for name in names}

    for kind, change in CHANGES.items():
        take(world, replace(SEND, **change))
        assert (kind, talk(served(world), both)) == (kind, {"definition_changed"})
    take(world, replace(SEND, **CHANGES["a hint"]))
    policy(world, changed_definitions=False, approvals=ApprovalRules(writes=True, hold_s=0))
    assert talk(served(world), both) == {"approval_needed", "not_read_only"}
    take(world, SEND)

    async def writes(client: Client) -> str:
        return (await refused(client, "execute_readonly_tool", tool="mail::send"))["error"]

    assert talk(served(world), writes) == "not_read_only"


def test_a_client_that_may_only_read_learns_of_no_tool_that_writes(world: App) -> None:
    world.governance.clients.make("ann", Scope(servers=("mail",), read_only=True), origin="test")

    async def own(client: Client) -> None:
        for name in ("execute_tool", "execute_readonly_tool"):
            there, nowhere = [await refused(client, name, tool=f"mail::{tool}") for tool in ("send", "sent")]
            assert there == {**nowhere, "why": nowhere["why"].replace("sent", "send")}
        search = await ask(client, "search_tools", task="Post a letter.")
        assert "send" not in json.dumps(search)
        assert "not shown" not in search["left_out"]
        assert search["left_out"].startswith("0 of 1 tools")

    async def mirrored(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["look", "read_result"]
        there, nowhere = [await refused(client, tool) for tool in ("send", "sent")]
        assert there == {**nowhere, "why": nowhere["why"].replace("sent", "send")}

    async def error(client: Client) -> str:
        with pytest.raises(MCPError) as raised:
            await client.list_tools()
        return str(raised.value)

    for turned in (SEND, replace(SEND, **CHANGES["a hint"])):
        take(world, turned)
        talk(served(world, client="ann"), own)
        talk(served(world, client="ann", mirror=("mail",)), mirrored)
    there, nowhere = [talk(served(world, client="ann", mirror=(name,)), error) for name in ("hidden", "nobody")]
    assert there == nowhere.replace("nobody", "hidden")
    world.store.events.flush()
    assert "mail::send may not be used" in " ".join(world.store.activity.refused()["why"])  # the operator sees it


def test_metrics_are_for_clients_that_may_know_of_everything(world: App) -> None:
    make = world.governance.clients.make
    with served_over_http(world, "world") as url:
        assert get(f"{url}/metrics")[0] == 200
        tokens = [
            make(name, scope, origin="test") for name, scope in (("all", Scope()), ("ann", Scope(read_only=True)))
        ]
        answers = [get(f"{url}/metrics", {"Authorization": f"Bearer {token}"}) for token in tokens]
        assert [status for status, _ in [*answers, get(f"{url}/metrics")]] == [200, 403, 403]
        assert "send the token of a client whose scope is everything" in answers[1][1]
