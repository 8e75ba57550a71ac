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

from core.app import App
from core.domain.outcome import CallMode, ToolCall
from tests.endpoint.conftest import ROOT, with_token
from tests.endpoint.serving import served
from tests.importing import import_text
from tests.mcp_bridge.conftest import eventually, running

Call = Callable[..., Any]
TOOLS = [{"name": name} for name in ("open", "commit", "pid", "end")]
INFO = mcp_types.Implementation(name="agent", version="1")


def with_server(app: App, **settings: Any) -> None:
    """A catalog with the server of repositories, as it comes and with these settings."""
    words = {"type": "stdio", "command": "${python}", "args": ["-S", str(ROOT / "tests/endpoint/repository_server.py")]}
    servers = [
        {"name": name, "description": "Repositories.", "tools": TOOLS, "connection": {**words, **more}}
        for name, more in (("git", {}), ("other", settings))
    ]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")


async def called(client: Client, tool: str, server: str = "git", **arguments: Any) -> str:
    """The text of a result."""
    result = await client.call_tool("execute_tool", {"tool": f"{server}::{tool}", "arguments": arguments})
    return "\n".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))


async def worked(folder: Path, one: Call, other: Call) -> None:
    """Two clients open a repository each; the commit of the first lands in its own, without the other's unfinished file."""
    for name in ("one", "other"):
        (folder / name).mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(folder / name)], check=True)
        (folder / name / f"{name}.txt").write_text("unfinished")
    await one("open", path=str(folder / "one"))
    await other("open", path=str(folder / "other"))
    assert str(folder / "one") in await one("commit", message="Of the first")

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
                made = Client(target, client_info=INFO, cache=None, mode=mode)
                entered = await open_clients.enter_async_context(made)
                return lambda tool, **arguments: called(entered, tool, **arguments)

            older = [await client(url, "legacy") for _ in range(2)]
            newer = [await client(url, "auto") for _ in range(2)]
            known = [await client(with_token(url, token), "legacy") for token in tokens]
            again = await client(with_token(url, tokens[0]), "auto")
            for number, pair in enumerate((older, newer, known, (page, older[0]), (newer[0], page))):
                await worked(tmp_path / str(number), *pair)
            assert await again("pid") == await known[0]("pid")  # a token is one client
            owners = {state.owner.partition(" ")[0] for state in app.pool.states() if state.pid is not None}
            assert owners == {"agent", "console", "ann", "bob"}
            pids = [int((await one("pid")).split()[0]) for one in (*older, known[0])]
        eventually(lambda: not running(pids[0]))  # their sessions have ended; that of a token goes on
        eventually(lambda: not running(pids[1]))
        assert running(pids[2])

    with served(app, "world") as url:
        anyio.run(run, f"{url}/mcp")


def test_a_shared_server_has_one_process(app: App) -> None:
    with_server(app, shared=True)

    async def run(url: str) -> None:
        async with Client(url, mode="legacy") as one, Client(url, mode="legacy") as other:
            assert await called(one, "pid", "other") == await called(other, "pid", "other")

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
