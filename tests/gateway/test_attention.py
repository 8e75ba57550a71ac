"""Tool Attention for agents: what a client sees before and after a search, and which calls are refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import anyio
import pytest
from mcp import Client

from core.app import App
from core.domain.errors import ParameterError
from core.domain.execution import WAYFARE
from core.gateway.attending import Attending, Turn
from core.gateway.base import Answer, EndpointOptions, Request, Services, answer
from core.gateway.search import search
from tests.cases import each
from tests.gateway.conftest import ask, talk
from tests.governance.conftest import policy

LIMIT_S = 30.0
OWN = ["search_tools", "execute_tool", "read_result", "report_outcome"]
HELLO = '{"text": "hello"}'
ADDRESS = "?mode=attention&set=similarity=views&set=theta=0.3"


@pytest.fixture(autouse=True)
def nothing_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns off the regular look for changes; a client is told with the answer to its call."""
    monkeypatch.setattr("core.gateway.changes.EVERY_S", 3_600.0)


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def test_the_list_has_all_summaries_and_the_definitions_of_the_last_search(world: App, url: str) -> None:
    async def script(client: Client) -> None:
        assert "tool_not_available" in (client.instructions or "")
        assert await names(client) == OWN
        pool = (await client.list_tools()).tools[0].description or ""
        assert {"raw::echo: Echo words.", "mail::send: Send a letter."} <= set(pool.splitlines())
        search = await ask(client, "search_tools", task="Echo words.")
        first = search["candidates"][0]
        assert (first["tool"], first["listed_as"]) == ("raw::echo", "echo")
        assert await names(client) == [*OWN, *(candidate["listed_as"] for candidate in search["candidates"])]
        assert "send" not in await names(client)
        assert (await client.list_tools()).tools[0].description == pool
        await ask(client, "search_tools", task="Send a letter.")
        assert await names(client) == [*OWN, "send"]

    talk(url + ADDRESS, script)


def test_a_tool_without_its_definition_cannot_be_called_by_any_name(world: App, url: str) -> None:
    async def gated(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
        result = await client.call_tool(name, arguments)
        assert result.is_error
        assert result.structured_content["error"] == "tool_not_available"
        return result.structured_content

    async def script(client: Client) -> None:
        assert (await gated(client, "echo"))["available"] == []
        await ask(client, "search_tools", task="Send a letter.")
        refusal = await gated(client, "echo", text="hello")
        assert refusal["available"] == ["send"]
        assert refusal["tools"] == ["send() -- Send a letter."]
        assert await gated(client, "execute_tool", tool="raw::echo")
        assert await gated(client, "invented")
        await ask(client, "search_tools", task="Echo words.")
        result = await client.call_tool("echo", {"text": "hello"})
        assert (result.is_error, result.content[0].text) == (False, HELLO)
        assert (await ask(client, "execute_tool", tool="raw::echo", arguments={"text": "hello"}))["result"] == HELLO

    async def ungated(client: Client) -> None:
        assert (await client.call_tool("echo", {"text": "hello"})).content[0].text == HELLO

    talk(url + ADDRESS, script)
    talk(url + ADDRESS + "&set=hallucination_gate=off", ungated)


def with_needy_nap(world: App) -> None:
    """Lets nap need an output of echo."""

    def needy(tool: Any) -> Any:
        needs = ('has_prior_tool_output(prefix="raw::echo")',)
        return replace(tool, preconditions=needs) if tool.name == "nap" else tool

    raw = next(server for server in world.catalogs.catalog("world").servers if server.name == "raw")
    world.catalogs.edit(
        "world", lambda catalog: catalog.with_server(replace(raw, tools=tuple(needy(tool) for tool in raw.tools)))
    )


def test_the_output_of_a_tool_opens_those_that_need_it(world: App, url: str) -> None:
    with_needy_nap(world)

    async def script(client: Client) -> None:
        await ask(client, "search_tools", task="Echo or delay words.")
        assert "nap" not in await names(client)
        assert not (await client.call_tool("echo", {"dry_run": True})).is_error  # an argument of the tool's own
        assert "nap" in await names(client)
        await ask(client, "search_tools", task="Delay words.")
        assert "nap" in await names(client)  # a later search knows of the output, too

    talk(url + ADDRESS, script)


def test_a_slow_call_takes_back_nothing_that_came_meanwhile(world: App, monkeypatch: pytest.MonkeyPatch) -> None:
    options = EndpointOptions.of_pairs(parse_qsl(f"{ADDRESS[1:]}&set=hallucination_gate=off"), catalog="world")
    attending, meanwhile = Attending(Services(world)), list[Request]()

    async def own(request: Request) -> Answer:
        if request.tool == "search_tools":
            return answer(search(world, request))
        for other in meanwhile[:]:
            meanwhile.clear()
            await attending.answered(attending.services, other, own)
        return answer({})

    def ended(**arguments: Any) -> Turn:
        asyncio.run(attending.answered(attending.services, request(**arguments), own))
        return attending.turn(WAYFARE, options)

    def request(**arguments: Any) -> Request:
        return Request("search_tools" if "task" in arguments else "execute_tool", arguments, options=options)

    ended(task="Echo words.")
    meanwhile.append(request(tool="raw::stall"))
    assert ended(tool="raw::crash").seen == ("raw::stall", "raw::crash")
    meanwhile.append(request(task="Send a letter."))
    later = ended(tool="files::read")
    assert (later.active, len(later.seen)) == (("mail::send",), 3)

    def searched(app: App, asked: Request) -> dict[str, Any]:
        ended(task="Send a letter.")
        return search(app, asked)

    with_needy_nap(world)
    ended(task="Echo words.")
    monkeypatch.setattr("core.gateway.attending.search", searched)
    assert ended(tool="raw::echo").active == ("mail::send",)


def test_a_call_by_its_own_name_belongs_to_the_last_search(world: App, url: str) -> None:
    with_needy_nap(world)

    async def script(client: Client) -> str:
        route = (await ask(client, "search_tools", task="Echo or delay words."))["route_id"]
        for name in ("echo", "nap"):  # nap came up without a search
            assert not (await client.call_tool(name, {"seconds": 0})).is_error
        report = await ask(client, "report_outcome", route_id=route, useful=True)
        assert report["tool"] == "raw::nap"
        return route

    route = talk(url + ADDRESS, script)
    assert [call.tool for call in world.store.activity.decision_outcomes(route)] == ["echo", "nap"]


def test_clients_have_lists_of_their_own_and_see_nothing_outside_their_scope(world: App, url: str) -> None:
    async def script(client: Client) -> None:
        await ask(client, "search_tools", task="Send a letter.")
        assert await names(client) == OWN
        assert "mail::send" not in ((await client.list_tools()).tools[0].description or "")
        async with Client(url + ADDRESS) as other:
            await ask(other, "search_tools", task="Echo words.")
            assert "echo" in await names(other)
        assert await names(client) == OWN

    policy(world, deny=("mail::*",))
    talk(url + ADDRESS, script)


def test_a_client_is_told_of_its_new_list_with_the_answer(world: App, url: str) -> None:
    async def listening() -> None:
        async with Client(url + ADDRESS) as client, client.listen(tools_list_changed=True) as events:
            await ask(client, "search_tools", task="Echo words.")
            with anyio.fail_after(LIMIT_S):
                await anext(events)

    async def notified() -> None:
        messages: asyncio.Queue[Any] = asyncio.Queue()
        async with Client(url + ADDRESS, mode="legacy", message_handler=messages.put) as client:
            await client.list_tools()
            await ask(client, "search_tools", task="Echo words.")
            with anyio.fail_after(LIMIT_S):
                assert "ToolListChanged" in type(await messages.get()).__name__

    asyncio.run(listening())
    asyncio.run(notified())


@each("more", ["&router=ehrr", "&mirror=raw", "&catalog=world&catalog=sample"])
def test_the_mode_has_one_catalog_its_router_and_no_mirror(more: str) -> None:
    with pytest.raises(ParameterError, match="mode=attention"):
        EndpointOptions.of_pairs(parse_qsl(f"mode=attention{more}"))
