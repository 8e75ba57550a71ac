"""Clients of a mirror are told of changes of their lists, in both eras of the protocol, and of nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client, MCPError
from mcp.shared.subscriptions import ResourceUpdated

from core.app import App
from core.domain.catalog import Server, ServerId, Tool
from core.domain.execution import SessionOwner
from core.gateway.base import EndpointOptions, PartRequest, Services
from core.gateway.changes import Changes, Listener
from core.gateway.endpoint import Endpoint
from core.gateway.entrance import Uses
from core.governance.governed_calls import ServerRequests
from core.governance.policy import Scope
from core.servers.asking_back import _subscribed
from tests.catalogs.test_upkeep import config, living
from tests.gateway.conftest import ROOT
from tests.gateway.test_mirrored_questions import elicited
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.servers.conftest import Web, web
from tests.world import call

__all__ = ["web"]  # a fixture
LIMIT_S = 30.0
SILENCE_S = 0.25  # five looks
Told = Callable[[], Awaitable[str]]


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for changes, and begins lost subscriptions again, without the usual second between."""
    monkeypatch.setattr("core.gateway.changes.EVERY_S", 0.05)
    monkeypatch.setattr("core.gateway.changes.AGAIN_S", 0.1)
    monkeypatch.setattr("core.servers.asking_back.FIRST_WAIT_S", 0.1)
    monkeypatch.setattr("core.servers.session.PROBE_EVERY_S", 2.0)  # a server is back before the next ping


def kind_of(message: Any) -> str:
    """tools, resources or prompts, of a notification or an event."""
    return (
        type(message)
        .__name__.replace("Notification", "")
        .replace("List", "")
        .replace("Changed", "")
        .rstrip("s")
        .lower()
    )


async def by_notification(url: str, script: Callable[[Client, Told], Awaitable[None]]) -> None:
    kinds: asyncio.Queue[str] = asyncio.Queue()

    async def handler(message: Any) -> None:
        kinds.put_nowait(kind_of(message))

    async with Client(url, mode="legacy", message_handler=handler) as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        await client.list_tools()
        await script(client, kinds.get)


async def by_listening(url: str, script: Callable[[Client, Told], Awaitable[None]]) -> None:
    async with Client(url) as client:
        resources = client.server_capabilities.resources
        assert resources is not None
        assert (resources.list_changed, resources.subscribe) == (True, True)
        async with client.listen(
            tools_list_changed=True, resources_list_changed=True, prompts_list_changed=True
        ) as events:

            async def told() -> str:
                return kind_of(await anext(events))

            await script(client, told)


@pytest.mark.parametrize("era", [by_notification, by_listening])
def test_a_client_is_told(era: Any, world: App, url: str, tmp_path: Path) -> None:
    tools = tmp_path / "tools.txt"
    tools.write_text("echo Gives the text back.\n")
    world.catalog_editor.discover(world.catalog_editor.read(config(living=living(tools)), "test"), "world", "test")
    mail = Server("mail", tools=(Tool("mail", "send", "Post a letter."),))
    world.catalogs.edit("world", lambda catalog: catalog.with_server(mail))
    first_tool = world.catalogs.catalog("world").tools[0]
    world.governance.definitions.first_use("world", first_tool, approved=False, origin="test")

    async def script(client: Client, next_kind: Told) -> None:
        async def after(work: Callable[[], object], *kinds: str) -> list[str]:
            await anyio.to_thread.run_sync(work)
            with anyio.fail_after(LIMIT_S):
                assert {await next_kind() for _ in kinds} == set(kinds)
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[-2:] == ["send", "read_result"]
            return names[:-2]

        def rewrite(text: str) -> Callable[[], object]:
            def work() -> None:
                tools.write_text(text)
                world.servers.discover("world", "living")

            return work

        assert await after(rewrite("echo Gives the text back.\nnew Is new.\n"), "tool") == ["echo", "new"]
        assert await after(rewrite("echo Says more.\nnew Is new.\n"), "tool") == ["new"]  # held back
        decide = world.governance.definitions.decide
        assert await after(lambda: decide("world", "living::echo", approve=True, origin="test"), "tool") == [
            "echo",
            "new",
        ]
        assert await after(lambda: policy(world, deny=("living::new",)), "tool", "resource", "prompt") == ["echo"]
        assert await after(
            lambda: world.upkeep.list_changed(ServerId("world", "living"), "prompts"), "resource", "prompt"
        ) == ["echo"]

        price = replace(world.catalogs.catalog("world").servers[0], ask_usd=0.5)
        world.catalogs.edit("world", lambda catalog: catalog.with_server(price))
        with anyio.move_on_after(SILENCE_S):
            pytest.fail(f"a price is nobody's list: {await next_kind()}")
        assert await after(lambda: world.servers.disable("world", "living"), "tool", "resource", "prompt") == []

    anyio.run(era, f"{url}?mirror=living&mirror=mail&catalog=world", script)


def test_a_client_that_can_be_asked_is_told_of_the_list_of_its_own_process(world: App, url: str) -> None:
    asking = {"command": sys.executable, "args": ["-m", "tests.gateway.asking_server"], "cwd": str(ROOT)}
    world.catalog_editor.discover(world.catalog_editor.read(config(asking=asking), "test"), "world", "test")
    world.upkeep.start()

    async def script() -> None:
        kinds: asyncio.Queue[str] = asyncio.Queue()

        async def handler(message: Any) -> None:
            kinds.put_nowait(kind_of(message))

        target = f"{url}?mirror=asking&catalog=world"
        async with Client(target, mode="legacy", message_handler=handler, elicitation_callback=elicited) as client:
            await client.list_tools()
            await client.call_tool("grow", {})
            with anyio.fail_after(LIMIT_S):
                while await kinds.get() != "tool":  # it logs, too
                    pass
            assert "grown_0" in [tool.name for tool in (await client.list_tools()).tools]

    anyio.run(script)


def test_a_client_with_a_token_is_told_nothing_of_its_own_requests_and_nothing_once_its_token_is_revoked(
    world: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, owner = "file:///tools", SessionOwner("ann")
    events, subscribed = list[Any](), list[bool]()
    monkeypatch.setattr(ServerRequests, "list", lambda *_, **__: [mcp_types.Resource(uri=uri, name="tools")])
    monkeypatch.setattr(ServerRequests, "subscribe", lambda *_, wanted, **__: subscribed.append(wanted))
    monkeypatch.setattr(ServerRequests, "hears", lambda *_: True)
    token = world.governance.clients.make("ann", origin="test")
    request = PartRequest(
        "", None, options=EndpointOptions("world", mirror=("raw",)), client="ann", known=True, owner=owner
    )
    changes = Changes(world, Endpoint(Services(world)), Uses())

    async def tell(event: Any) -> None:
        events.append(event)

    async def script() -> None:
        listener = Listener(request, tell, await changes._tools(request), *await changes._state(request))
        async with changes._listening(listener, [uri]), anyio.create_task_group() as tasks:
            tasks.start_soon(changes.watch)
            assert world.governance.clients.of_token(token) is not None
            await anyio.sleep(SILENCE_S)
            assert events == []
            world.upkeep.list_changed(ServerId("world", "raw"), uri)
            await happened(lambda: events == [ResourceUpdated(uri=uri)])
            world.governance.clients.revoke("ann", origin="test")
            world.upkeep.list_changed(ServerId("world", "raw"), uri)
            await happened(lambda: subscribed == [True, False])
            await anyio.sleep(SILENCE_S)
            assert len(events) == 1
            tasks.cancel_scope.cancel()

    anyio.run(script)


def test_a_client_without_a_token_is_told_of_what_the_scope_of_anonymous_lets_it_read(
    world: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri, subscribed = "file:///tools", list[bool]()
    monkeypatch.setattr(ServerRequests, "list", lambda *_, **__: [mcp_types.Resource(uri=uri, name="tools")])
    monkeypatch.setattr(ServerRequests, "subscribe", lambda *_, wanted, **__: subscribed.append(wanted))
    monkeypatch.setattr(ServerRequests, "hears", lambda *_: True)
    world.governance.clients.make("anonymous", origin="test")
    request = PartRequest(
        "", None, options=EndpointOptions("world", mirror=("raw",)), client="crab", owner=SessionOwner("crab")
    )
    changes = Changes(world, Endpoint(Services(world)), Uses())

    async def tell(_: Any) -> None:
        """Says nothing."""

    async def script() -> None:
        listener = Listener(request, tell, await changes._tools(request), *await changes._state(request))
        async with changes._listening(listener, [uri]):
            world.governance.clients.change("anonymous", Scope(tools=("raw::nap",)), origin="test")
            assert await changes._told(listener)
            assert subscribed == [True, False]

    anyio.run(script)


async def happened(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(LIMIT_S):
        while not is_so():
            await anyio.sleep(0.01)


async def _until(next_event: Told, work: Callable[[], object], uri: str) -> None:
    with anyio.fail_after(LIMIT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_again, work)
            while uri not in await next_event():
                pass
            tasks.cancel_scope.cancel()


async def _again(work: Callable[[], object]) -> None:
    while True:
        await anyio.to_thread.run_sync(work)
        await anyio.sleep(0.1)


def _crash(world: App, webs: Iterable[Web]) -> None:
    """Ends the servers; HTTP servers begin again."""
    for pid in {state.pid for state in world.pool.states() if state.server == "living"} - {None}:
        os.kill(pid, signal.SIGKILL)
    for server in webs:
        server.stop()
        server.start()


def test_a_subscription_to_a_resource_is_passed_on_and_goes_on_after_its_server_ended_and_came_back(
    world: App, url: str, tmp_path: Path, web: Callable[..., Web]
) -> None:
    tools = tmp_path / "tools.txt"
    tools.write_text("echo Gives the text back.\n")
    webs = {"its-home": web(), "older": web("legacy")}
    servers = config(living=living(tools), **{name: {"url": server.connection.url} for name, server in webs.items()})
    world.catalog_editor.discover(world.catalog_editor.read(servers, "test"), "world", "test")
    uris = ["file:///tools", "page://home", "page://older"]
    target = f"{url}?catalog=world&mirror=*"

    def touch() -> None:
        world.calls.run(call("touch", "its-home"))

    def write() -> None:
        tools.write_text(tools.read_text() + "\n")

    async def older_protocol() -> None:
        messages: asyncio.Queue[str] = asyncio.Queue()

        async def handler(message: Any) -> None:
            messages.put_nowait(str(message))

        async with Client(target, mode="legacy", message_handler=handler) as client:
            for uri in uris[:2]:
                await _subscribed(client, uri)
            await _until(messages.get, write, uris[0])
            await _until(messages.get, touch, uris[1])
            with pytest.raises(MCPError):
                await _subscribed(client, "none://such")
            for uri in uris[:2]:
                await _subscribed(client, uri, wanted=False)

    async def newer_protocol() -> None:
        async with Client(target) as client, client.listen(resource_subscriptions=[*uris, "none://such"]) as events:
            assert events.honored.resource_subscriptions == uris

            async def heard() -> str:
                return str(await anext(events))

            await _until(heard, write, uris[0])
            await _until(heard, touch, uris[1])
            await anyio.to_thread.run_sync(_crash, world, webs.values())
            missing = set(uris)
            with anyio.fail_after(LIMIT_S):
                while missing:  # no server is in use: each resource is told of because it may have changed
                    event = await heard()
                    missing -= {uri for uri in uris if uri in event}
            await _until(heard, write, uris[0])

    anyio.run(older_protocol)
    anyio.run(newer_protocol)


def test_wayfares_own_tools_change_with_the_summary_of_the_servers_alone(world: App, url: str) -> None:
    async def script() -> None:
        async with Client(url) as client, client.listen(tools_list_changed=True) as events:
            server = {"name": "a", "tools": [{"name": "b"}]}
            import_text(world.catalog_editor, json.dumps({"servers": [server]}), "world")
            with anyio.fail_after(LIMIT_S):
                await anext(events)
            search, *rest = (await client.list_tools()).tools
            assert (search.description.endswith("Servers behind it (1): a"), len(rest)) == (True, 5)
            server["tools"][0]["description"] = "Does b."
            import_text(world.catalog_editor, json.dumps({"servers": [server]}), "world")
            with anyio.move_on_after(SILENCE_S):
                pytest.fail(str(await anext(events)))

    anyio.run(script)
