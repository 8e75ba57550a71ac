"""A client is told nothing of tools outside its scope; and which client a request without a token is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from core.app import App
from core.domain.errors import WayfareError
from core.domain.events import ActivityFilter
from core.domain.outcome import CallMode, OutcomeKind, ToolCall
from core.gateway.base import EndpointOptions, Services
from core.gateway.endpoint import Endpoint
from core.governance.budgets import Budget
from core.governance.policy import Scope
from tests.gateway.conftest import ask, refused, served, server_of, talk
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import RAW, open_test_app


def server(name: str, argument: str) -> dict[str, Any]:
    """A server that starts; only the name of its tools' argument differs between servers."""
    schema = {"type": "object", "properties": {argument: {"type": "number"}}, "required": [argument]}
    tools = [
        {"name": tool, "description": f"{about}.", "price_usd": 0.001, "inputSchema": schema, "annotations": {"readOnlyHint": True}}
        for tool, about in (("echo", "Echo words"), ("echoes", "Echo words twice"), ("mirror", "Echo words back"))
    ]  # fmt: skip
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}
    return {"name": name, "description": "Echo words.", "tools": tools, "connection": connection}


@pytest.fixture
def world(app: App) -> App:
    """Two servers, and the client ann, who may use one of them."""
    servers = [server("open", "words"), server("hidden", "hush")]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")
    for tool in ("echo", "echoes", "mirror"):  # they rank first
        app.feedback.label("Echo words.", f"hidden::{tool}", right=True, catalog="world")
    app.governance.clients.make("ann", Scope(tools=("open::*",)), origin="test")
    return app


def endpoint_for(app: App) -> Any:
    """Makes targets for clients with tokens that speak to one endpoint."""
    endpoint = Endpoint(Services(app, result_tokens=50))

    def of(name: str, **options: Any) -> Any:
        return server_of(app, endpoint, EndpointOptions(catalog="world", **options), name)

    return of


@pytest.mark.parametrize("router", ["ehrr", "react"])
def test_nothing_is_said_of_tools_outside_a_scope(world: App, router: str) -> None:
    answers: list[Any] = []

    async def script(client: Client) -> None:
        pages = [await ask(client, "search_tools", task="Echo words.", **more) for more in ({}, {"n": 1}, {"n": 20})]
        assert [len(page["candidates"]) <= most for page, most in zip(pages, (3, 1, 20), strict=True)] == [True] * 3
        route = {"route_id": pages[0]["route_id"]}
        answers.extend([*pages, await ask(client, "search_tools", task="Zzz.", server_hint="hidden")])
        for outside in ("hidden::echo", "hidden::not_there"):
            call = {"tool": outside, "arguments": {"wrong": "x"}}
            errors = [
                await refused(client, "execute_tool", **call),
                await refused(client, "execute_tool", **call, **route),
                await refused(client, "execute_readonly_tool", **call),
                await refused(client, "describe_tool", tools=[outside]),
            ]
            assert {error["error"] for error in errors} == {"not_allowed"}
            answers.extend(error["why"].replace(outside, "") + error["try"] for error in errors)
        for tool, more in (("ecko", {}), ("open::mirrors", {}), ("open::echo", {}), ("open::echo", route)):
            answers.append(await refused(client, "execute_tool", tool=tool, arguments={"wrong": 1}, **more))
        answers.append(await refused(client, "execute_tool", tool="open::mirror", arguments={"words": "x"}, **route))

    talk(endpoint_for(world)("ann", router=router, fallback=True), script)
    assert "open::echo" in json.dumps(answers)
    assert "words: number" in json.dumps(answers)
    assert [answer for answer in answers if "hidden" in json.dumps(answer) or "hush" in json.dumps(answer)] == []
    beside = [{**answer, "route_id": ""} for answer in answers[:4]]
    import_text(world.catalog_editor, json.dumps({"servers": [server("open", "words")]}), "world")
    answers.clear()
    talk(endpoint_for(world)("ann", router=router, fallback=True), script)
    assert [{**answer, "route_id": ""} for answer in answers[:4]] == beside


def test_handles_and_routes_are_of_their_client(world: App, path: Path) -> None:
    world.governance.clients.make("bob", origin="test")
    target, issued = endpoint_for(world), dict[str, Any]()

    async def anns(client: Client) -> None:
        issued["route"] = {"route_id": (await ask(client, "search_tools", task="Echo words."))["route_id"]}
        long = {"tool": "open::echo", "arguments": {"words": 1, "more": "word " * 200}, **issued["route"]}
        issued["handle"] = {"handle": (await ask(client, "execute_tool", **long))["result"]["handle"]}
        await ask(client, "read_result", **issued["handle"])

    async def bobs(client: Client) -> None:
        calls = {"execute_tool": {"tool": "open::echo", "arguments": {"words": 1}}, "report_outcome": {"useful": False}}
        for name, fields in (*calls.items(), ("read_result", {})):
            key, own_id = ("handle", issued["handle"]) if name == "read_result" else ("route_id", issued["route"])
            anothers = await refused(client, name, **fields, **own_id)
            nobodys = await refused(client, name, **fields, **{key: "not-there"})
            assert anothers == {**nobodys, "why": nobodys["why"].replace("not-there", own_id[key])}

    talk(target("ann"), anns)
    talk(target("bob"), bobs)
    words = {"hush": 1}  # a person tries another tool for the same search
    call = ToolCall("hidden", "echo", words, catalog="world", decision_id=issued["route"]["route_id"])
    assert world.governed.by_person(call, mode=CallMode.REAL, origin="console").report().outcome.kind is OutcomeKind.OK
    report = talk(target("ann"), lambda client: ask(client, "report_outcome", **issued["route"], useful=True))
    assert report["tool"] == "open::echo"
    assert [label.visitor for label in world.feedback.labels("world") if label.origin == "agent"] == ["ann"]
    world.close()
    with open_test_app(path) as later:  # the search is known from the store alone
        talk(endpoint_for(later)("bob"), bobs)
        talk(endpoint_for(later)("ann"), lambda client: ask(client, "report_outcome", **issued["route"], useful=True))


async def called(client: Client, server: str = "open") -> str:
    """The error of a call, or ok."""
    arguments = {"words" if server == "open" else "hush": 1}
    result = await client.call_tool("execute_tool", {"tool": f"{server}::echo", "arguments": arguments})
    return result.structured_content["error"] if result.is_error else "ok"


def test_without_a_token_everybody_is_one_client_where_clients_are_told_apart(world: App) -> None:
    clients, target = world.governance.clients, endpoint_for(world)
    clients.revoke("ann", origin="test")

    def calls(*names: str, server: str = "open", **options: Any) -> list[str]:
        return [talk(served(world, **options), lambda client: called(client, server), name=name) for name in names]

    assert calls("crab") == ["ok"]
    policy(world, budgets=(Budget(calls=2),))
    assert calls("a", "b", "c", "operator") == ["ok", "ok", "budget_spent", "budget_spent"]
    policy(world, budgets=())
    clients.make("ann", origin="test")
    assert calls("ann", server="hidden") == ["ok"]  # ann may use everything, and so may anonymous
    clients.revoke("ann", origin="test")
    token = clients.make("ann", Scope(tools=("open::*",)), origin="test")
    assert token.startswith("wf_")
    assert calls("ann", "whoever") == ["not_authorized"] * 2
    assert talk(target("ann"), called) == "ok"

    async def listed(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    with pytest.raises(ExceptionGroup) as error:
        talk(served(world, mirror=("*",)), listed)
    assert error.group_contains(MCPError, match="nothing may be used without one")
    assert clients.make("anonymous", Scope(servers=("hidden",)), origin="test") == ""
    assert [calls("ann", "x"), calls("ann", server="hidden")] == [["not_allowed"] * 2, ["ok"]]
    assert talk(served(world, mirror=("*",)), listed)[-2:] == ["mirror", "read_result"]
    for name in ("ann", "anonymous"):
        clients.revoke(name, origin="test")
    assert calls("crab", server="hidden") == ["ok"]
    world.store.events.flush()
    call_rows = world.store.activity.calls(ActivityFilter(origin="agent"))
    assert sorted(call_rows["client"]) == ["ann", *["anonymous"] * 4, *["crab"] * 2]
    assert {"not_authorized", "not_allowed", "budget_spent"} == set(world.store.activity.refused()["error"])
    assert set(world.store.activity.refused()["client"]) == {"anonymous"}


def test_a_client_keeps_its_routes_and_results_when_requests_without_a_token_become_one_client(app: App) -> None:
    servers = [server("open", "words")]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")
    target = endpoint_for(app)

    async def begun(client: Client) -> tuple[str, str]:
        route = (await ask(client, "search_tools", task="Echo words."))["route_id"]
        call = {"tool": "open::echo", "arguments": {"words": 10**300}, "route_id": route}
        return route, (await ask(client, "execute_tool", **call))["result"]["handle"]

    async def gone_on(client: Client) -> None:
        assert (await ask(client, "read_result", handle=handle))["text"]
        assert (await ask(client, "report_outcome", route_id=route, useful=True))["tool"] == "open::echo"

    async def strange(client: Client) -> None:
        assert (await refused(client, "read_result", handle=handle))["error"] == "unknown_handle"
        assert (await refused(client, "report_outcome", route_id=route, useful=True))["error"] == "unknown_route"

    route, handle = talk(target(""), begun, name="crab")
    for _ in range(2):
        talk(target(""), gone_on, name="crab")
        talk(target(""), strange, name="crow")
        policy(app, budgets=(Budget(calls=900),))
    app.governance.clients.make("crab", origin="test")  # from now on the name is another's
    talk(target(""), lambda client: refused(client, "report_outcome", route_id=route, useful=True), name="crab")
    talk(target("crab"), lambda client: refused(client, "read_result", handle=handle))


def test_anonymous_is_no_person_and_people_are_no_clients(world: App) -> None:
    clients = world.governance.clients
    with pytest.raises(WayfareError, match="cannot sign in"):
        clients.make("anonymous", Scope(pages=True), origin="test")
    clients.revoke("ann", origin="test")
    clients.make("ops", Scope(pages=True), origin="test")
    assert not clients.any_client
