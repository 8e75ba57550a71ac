"""Each client has servers of its own: two agents with two repositories, over one console."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import mcp_types
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types.version import LATEST_MODERN_VERSION

from core.app import App
from core.domain.outcome import CallMode, ToolCall
from core.servers.asking_back import _subscribed
from tests.gateway.conftest import ROOT, with_token
from tests.gateway.repository_server import FOLDER
from tests.gateway.serving import served
from tests.importing import import_text
from tests.servers.conftest import eventually, running

Call = Callable[..., Any]
TOOLS = [{"name": name} for name in ("open", "commit", "pid", "end")]
INFO = mcp_types.Implementation(name="agent", version="1")


def with_server(app: App, **settings: Any) -> None:
    """A catalog with the server of repositories, plain and with these settings."""
    words = {"type": "stdio", "command": "${python}", "args": ["-S", str(ROOT / "tests/gateway/repository_server.py")]}
    servers = [
        {"name": name, "description": "Repositories.", "tools": TOOLS, "connection": {**words, **more}}
        for name, more in (("git", {}), ("other", settings))
    ]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")


async def called(client: Client, tool: str, server: str = "git", **arguments: Any) -> str:
    """The text of a result."""
    result = await client.call_tool("execute_tool", {"tool": f"{server}::{tool}", "arguments": arguments})
    return "\n".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))


async def worked(folder: Path, first: Call, other: Call) -> None:
    """Two clients open a repository each; the commit of the first lands in its own, without the other's unfinished file."""
    for name in ("one", "other"):
        (folder / name).mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(folder / name)], check=True)
        (folder / name / f"{name}.txt").write_text("unfinished")
    await first("open", path=str(folder / "one"))
    await other("open", path=str(folder / "other"))
    assert str(folder / "one") in await first("commit", message="Of the first")

    def git(name: str, *words: str) -> str:
        line = ["git", "-C", str(folder / name), *words]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    assert git("one", "log", "--format=%s", "--name-only").split("\n") == ["Of the first", "", "one.txt", ""]
    assert git("other", "status", "--short") == "?? other.txt\n"


def test_the_commit_of_an_agent_lands_in_its_own_repository(app: App, tmp_path: Path) -> None:
    with_server(app)
    tokens = [app.governance.clients.make(name, origin="test") for name in ("ann", "bob")]

    async def page(tool: str, **arguments: Any) -> str:
        call = ToolCall("git", tool, arguments, catalog="world")
        handle = app.governed.by_person(call, mode=CallMode.REAL, origin="console", approved_by="console")
        return (await anyio.to_thread.run_sync(handle.report)).outcome.content[0].text

    async def run(url: str) -> None:
        async with AsyncExitStack() as open_clients:

            async def client(target: Any, mode: Any) -> Call:
                agent = Client(target, client_info=INFO, cache=None, mode=mode)
                entered = await open_clients.enter_async_context(agent)
                return lambda tool, **arguments: called(entered, tool, **arguments)

            older = [await client(url, "legacy") for _ in range(2)]
            newest = [await client(url, LATEST_MODERN_VERSION) for _ in range(2)]  # their first request is a call
            registered = [await client(with_token(url, token), "legacy") for token in tokens]
            same_client = await client(with_token(url, tokens[0]), "auto")
            for number, pair in enumerate((older, newest, registered, (page, older[0]))):
                await worked(tmp_path / str(number), *pair)
            assert await same_client("pid") == await registered[0]("pid")  # a token is one client
            owners = {state.owner.partition(" ")[0] for state in app.pool.states() if state.pid is not None}
            assert owners == {"agent", "console", "ann", "bob"}
            pids = [int((await call("pid")).split()[0]) for call in (*older, registered[0])]
        eventually(lambda: not running(pids[0]))  # their sessions have ended; that of a token goes on
        eventually(lambda: not running(pids[1]))
        assert running(pids[2])

    with served(app, "world") as url:
        anyio.run(run, f"{url}/mcp")


def test_a_client_that_nothing_tells_from_others_shares_with_none(app: App, tmp_path: Path) -> None:
    with_server(app)

    async def forget(request: Any) -> None:
        request.headers.pop("cookie", None)

    async def run(url: str) -> None:
        async with create_mcp_http_client() as http:
            http.event_hooks = {"request": [forget]}
            async with Client(streamable_http_client(url, http_client=http), client_info=INFO, cache=None) as client:
                first = await called(client, "open", path=str(tmp_path))
                assert "gone at the next call" in first
                assert str(tmp_path) not in await called(client, "pid")

    with served(app, "world") as url:
        anyio.run(run, f"{url}/mcp")


def test_what_a_client_subscribes_to_and_reads_is_of_its_own_process(app: App, tmp_path: Path) -> None:
    with_server(app)

    async def script(url: str, mode: Any) -> None:
        updated = anyio.Event()

        async def heard(message: Any) -> None:
            if isinstance(message, mcp_types.ResourceUpdatedNotification):
                updated.set()

        async def roots(*_: Any) -> mcp_types.ListRootsResult:
            return mcp_types.ListRootsResult(roots=[])

        options: Any = {"mode": mode, "message_handler": heard, "list_roots_callback": roots, "cache": None}
        async with Client(f"{url}?mirror=git", **options) as client, AsyncExitStack() as stack:
            if mode == "legacy":
                await _subscribed(client, FOLDER)
                hear: Call = updated.wait
            else:
                hear = (await stack.enter_async_context(client.listen(resource_subscriptions=[FOLDER]))).__anext__
            await client.call_tool("open", {"path": str(tmp_path)})
            with anyio.fail_after(30):
                await hear()
            read: Any = (await client.read_resource(FOLDER)).contents[0]
            assert read.text == str(tmp_path)

    with served(app, "world") as url:
        for mode in ("legacy", "auto"):
            anyio.run(script, f"{url}/mcp", mode)
        owners = [state.owner.partition(" ")[0] for state in app.pool.states()]
    assert sorted(owners) == ["Wayfare", "mcp"]  # the session of the older client has ended


def test_a_shared_server_has_one_process(app: App) -> None:
    with_server(app, shared=True)

    async def run(url: str) -> None:
        async with Client(url, mode="legacy") as first, Client(url, mode="legacy") as second:
            assert await called(first, "pid", "other") == await called(second, "pid", "other")

    with served(app, "world") as url:
        anyio.run(run, f"{url}/mcp")
    assert [state.owner for state in app.pool.states()] == ["all clients"]


def test_a_call_says_that_the_state_of_its_server_is_new(app: App) -> None:
    with_server(app, idle_timeout_sec=0.2)

    async def run(url: str) -> None:
        async with Client(url, mode="legacy") as client:
            assert "anew" not in await called(client, "open", "other", path="/")
            await anyio.to_thread.run_sync(eventually, lambda: app.pool.states()[0].state == "idle")
            assert "nothing was called for 0.2 s" in await called(client, "pid", "other")
            await called(client, "open", path="/")
            await called(client, "end")
            result = await client.call_tool("execute_tool", {"tool": "git::pid"})
            assert "anew" in (result.structured_content or {})["note"]
            assert "anew" not in await called(client, "pid")

    with served(app, "world") as url:
        anyio.run(run, f"{url}/mcp")
