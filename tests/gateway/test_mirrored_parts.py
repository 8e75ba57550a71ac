"""Resources and prompts of mirrored servers: the same as from the server itself, over stdio and HTTP, within a client's scope."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client, MCPError
from mcp_types import (
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplateReference,
    TextResourceContents,
)

from core.app import App
from core.domain.catalog import ServerId
from core.gateway.base import EndpointOptions, PartRequest, Services
from core.gateway.mirrored_parts import MirroredParts, fits_template
from core.governance.budgets import Budget, day_of
from core.governance.governed_calls import ServerRequests
from core.governance.policy import Mode, Sanitise, Scope
from tests.benchmarks.measuring import free_port, running
from tests.cases import each
from tests.gateway.conformance_server import (
    BINARY_URI,
    PROMPTS,
    SCHEMAS,
    TEMPLATE,
    TEXT_URI,
    WATCHED_URI,
    conformance_server,
)  # fmt: skip
from tests.gateway.conftest import ROOT, served, talk, with_token
from tests.gateway.serving import served as served_over_http
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import RAW

FIXTURE = "tests.gateway.conformance_server"
TOOLS = [{"name": name, "description": "A tool.", "inputSchema": schema} for name, schema in SCHEMAS.items()]
STDIO = {"type": "stdio", "command": "${python}", "args": ["-m", FIXTURE], "cwd": str(ROOT)}
DEAD = {"type": "stdio", "command": "${python}", "args": ["-c", "raise SystemExit(3)"]}


SHAPELESS = {"type": "stdio", "command": "${python}", "args": ["-S", RAW, "--shapeless"]}


def world_of(app: App, **connections: dict[str, Any]) -> App:
    """A catalog with one server for each connection, all of the same tools."""
    servers = [{"name": name, "tools": TOOLS, "connection": launch} for name, launch in connections.items()]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")
    return app


async def everything(client: Client) -> list[Any]:
    """All lists, and each request once."""
    city = {"name": "arg1", "value": "pa"}
    return [
        (await client.list_resources()).resources,
        (await client.list_resource_templates()).resource_templates,
        (await client.list_prompts()).prompts,
        [(await client.read_resource(uri)).contents for uri in (TEXT_URI, BINARY_URI, "test://template/7/data")],
        [(await client.get_prompt(name, {"arg1": "a", "arg2": "b", "resourceUri": "test://x"})).messages
         for name in [*PROMPTS][:4]],
        (await client.complete(PromptReference(name="test_prompt_with_arguments"), city)).completion,
        (await client.complete(ResourceTemplateReference(uri=TEMPLATE), {"name": "id", "value": "par"})).completion,
    ]  # fmt: skip


async def declared(client: Client) -> list[bool]:
    server = client.server_capabilities
    return [field is not None for field in (server.tools, server.resources, server.prompts, server.completions)]


@pytest.fixture(params=["stdio", "http"])
def launch(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The fixture server over either transport."""
    if request.param == "stdio":
        yield STDIO
        return
    port = free_port()
    with running(["-m", FIXTURE, "--http", str(port)], f"http://127.0.0.1:{port}/mcp", {}):
        yield {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}


def test_all_parts_are_the_servers_own(app: App, launch: dict[str, Any]) -> None:
    expected, world = talk(conformance_server(), everything), world_of(app, one=launch)
    world.server_requests.list(ServerId("world", "one"), "prompts/list", limit_s=60)  # a list waits 10 s for a start
    assert talk(served(world, mirror=("one",)), everything) == expected
    assert talk(served(world), declared) == [True, False, True, False]
    assert talk(served(world, mirror=("one",)), declared) == [True] * 4


def test_two_servers_a_dead_one_and_what_nobody_has(app: App) -> None:
    world = world_of(app, one=STDIO, two=STDIO, dead=DEAD, odd=SHAPELESS)

    async def script(client: Client) -> list[str]:
        assert len((await client.list_resources()).resources) == 3
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert (await client.get_prompt("two__test_simple_prompt")).messages
        for request in (client.get_prompt("test_simple_prompt"), client.read_resource("test://nowhere")):
            with pytest.raises(MCPError) as error:
                await request
            assert error.value.code == -32602
        return names

    names = talk(served(world, mirror=("*",)), script)
    assert names == [f"{server}__{name}" for server in ("one", "two") for name in PROMPTS]


def test_resources_and_prompts_are_cleaned_as_the_policy_says(app: App) -> None:
    world, key = world_of(app, one=STDIO), "AKIA" + "IOSFODNN7EXAMPLE"

    async def given(client: Client) -> str:
        resource = await client.read_resource(f"test://template/{key}/data")
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": key, "arg2": "b"})
        return "\n".join(
            [*(str(content) for content in resource.contents), *(str(message.content) for message in prompt.messages)]
        )

    async def script(client: Client) -> dict[Mode, str]:
        texts = dict[Mode, str]()
        for mode in ("off", "mark", "remove", "block"):
            policy(world, sanitise=(Sanitise(secrets=mode),))
            texts[mode] = await given(client)
        return texts

    texts = talk(served(world, mirror=("one",)), script)
    assert {mode: (text.count("1 x an AWS key"), "arg2='b'" in text) for mode, text in texts.items()} == {
        "off": (0, True), "mark": (2, True), "remove": (2, True), "block": (2, False)
    }  # fmt: skip
    assert f"arg1='{key}'" in texts["mark"]
    assert "arg1='[removed: an AWS key]'" in texts["remove"]


def test_requests_are_governed_and_counted(app: App) -> None:
    world = world_of(app, one=STDIO, two=STDIO)
    one_call = (Budget(calls=1),)
    rules = replace(world.governance.policy, deny=("two::*", "one::prompts/get"), budgets=one_call)
    world.governance.set_policy(rules, origin="test")

    async def script(client: Client) -> None:
        assert (await client.list_prompts()).prompts == []
        assert [item.uri for item in (await client.list_resources()).resources] == [TEXT_URI, BINARY_URI, WATCHED_URI]
        assert (await client.read_resource(TEXT_URI)).contents
        with pytest.raises(MCPError) as error:
            await client.read_resource(TEXT_URI)
        assert error.value.data["error"] == "budget_spent"
        world.governance.set_policy(replace(rules, deny=("*",)), origin="test")
        with pytest.raises(MCPError, match="No server"):
            await client.read_resource(TEXT_URI)

    talk(served(world, mirror=("*",)), script)
    world.store.events.flush()
    spent = world.store.governance.spending(day_of(world.settings.now()))
    assert {(row.client, row.catalog, row.server) for row in spent} == {("anonymous", "world", "one")}
    assert (sum(row.calls for row in spent), sum(row.tokens for row in spent) > 0) == (1, True)


def test_a_part_that_does_not_fit_its_servers_token_budget_is_not_given_and_does_not_count(app: App) -> None:
    world = world_of(app, one=STDIO, two=STDIO)
    tokens = (Budget(server="one", tokens=5), Budget(server="two", tokens=5))  # a prompt of 4 and an embedded text
    policy(world, budgets=tokens)

    async def script(client: Client) -> None:
        embedding = ("two__test_prompt_with_embedded_resource", {"resourceUri": "test://x"})
        for request in (client.read_resource(TEXT_URI), client.get_prompt(*embedding)):
            with pytest.raises(MCPError, match="5 of 5 tokens are left"):
                await request

    talk(served(world, mirror=("*",)), script)
    spent = world.store.governance.spending(day_of(world.settings.now()))
    assert [(row.server, row.calls, row.tokens) for row in spent] == [("one", 1, 0), ("two", 1, 0)]


@each("given_up_while", ["it is admitted", "the server answers"])
def test_a_client_that_gives_up_sends_nothing_more_and_costs_no_tokens(
    app: App, monkeypatch: pytest.MonkeyPatch, given_up_while: str
) -> None:
    world, admit = world_of(app, one=STDIO), app.governance.request
    waiting, go_on, requests, sent = threading.Event(), threading.Event(), list[threading.Thread](), list[str]()

    def step(name: str) -> None:
        if name == given_up_while:
            requests.append(threading.current_thread())
            waiting.set()
            assert go_on.wait(60)

    def admitted(*words: Any) -> None:
        admit(*words)
        step("it is admitted")

    def send(_: object, __: ServerId, method: str, ___: object, **____: object) -> ReadResourceResult:
        sent.append(method)
        step("the server answers")
        return ReadResourceResult(contents=[TextResourceContents(uri=TEXT_URI, text="Some words.")])

    def listed(_: object, __: ServerId, method: str, **___: object) -> list[Resource]:
        return [Resource(uri=TEXT_URI, name="x")] if method == "resources/list" else []

    monkeypatch.setattr(world.governance, "request", admitted)
    monkeypatch.setattr(ServerRequests, "send", send)
    monkeypatch.setattr(ServerRequests, "list", listed)
    parts, options = MirroredParts(Services(world)), EndpointOptions("world", mirror=("one",))
    asked = PartRequest("resources/read", ReadResourceRequestParams(uri=TEXT_URI), options=options, client="ann")

    async def given_up() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(parts.answer, asked)
            assert await anyio.to_thread.run_sync(waiting.wait, 60)
            tasks.cancel_scope.cancel()
        go_on.set()

    anyio.run(given_up)
    requests[0].join(60)  # the loop has ended, and its threads end with it
    assert len(sent) == (given_up_while == "the server answers")
    assert {row.tokens for row in world.store.governance.spending(day_of(world.settings.now()))} == {0}


def test_a_client_sees_nothing_of_servers_outside_its_scope(app: App) -> None:
    world = world_of(app, one=STDIO, two=STDIO)
    token = world.governance.clients.make("ann", Scope(servers=("two",)), origin="test")

    async def script(client: Client) -> tuple[str, int]:
        assert (await client.get_prompt("test_simple_prompt")).messages
        assert (await client.read_resource(TEXT_URI)).contents
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert "measure" in tools  # no name tells that another server has such a tool
        assert "one__measure" not in tools
        return (await client.list_prompts()).prompts[0].name, len((await client.list_resources()).resources)

    with served_over_http(world, "world") as url:
        assert talk(with_token(f"{url}/mcp?mirror=*", token), script) == ("test_simple_prompt", 3)
    world.store.events.flush()
    spent = world.store.governance.spending(day_of(world.settings.now()))
    assert {(row.client, row.server) for row in spent} == {("ann", "two")}


@each(
    ("uri", "template", "fits"),
    [
        ("db://t/7", "db://t/{id}/row", False),
        ("db://t", "db://t", True),
        ("r://o/n/tree/a/b", "r://{owner}/{name}/tree{/path*}", True),
        ("s://q?x=1", "s://q{?x}", True),
        (f"x://{'a' * 20_000}b", f"x://{'{v}a' * 2_000}b", False),  # more than anybody needs
    ],
)
def test_an_address_is_of_a_template(uri: str, template: str, fits: bool) -> None:
    assert fits_template(uri, template) is fits
