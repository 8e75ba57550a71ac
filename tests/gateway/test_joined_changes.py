"""Clients of `wayfare mcp --mirror` are told what clients over HTTP are told, in both eras of the protocol, and after a kill of the console."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client, MCPError

from core.cli import main
from core.domain.console import asked, owner_of
from core.servers.asking_back import _subscribed
from tests.catalogs.test_upkeep import config, living
from tests.cli.conftest import wait_for
from tests.gateway.conftest import stdio

LIMIT_S = 60.0
URI = "file:///tools"
IMPATIENT = """
from core.cli import main
from core.gateway import door
from core.gateway import joined_changes
from core.catalogs import upkeep
from dashboard import session

door.CONSOLE = (__file__, *door.CONSOLE[3:])
joined_changes.FIRST_WAIT_S = joined_changes.LONGEST_WAIT_S = upkeep.AGAIN_S = session.FIRST_VISITOR_S = 0.1
main()
"""
Told = Callable[[], Awaitable[Any]]


def test_a_client_over_stdio_is_told(warm_store: Path, encoder_cache: Path, tmp_path: Path) -> None:
    db, tools, servers = tmp_path / "wayfare.duckdb", tmp_path / "tools.txt", tmp_path / "mcp.json"
    shutil.copy(warm_store, db)
    tools.write_text("echo Gives the text back.\n")
    servers.write_text(config(living=living(tools)))
    main(["discover", str(servers), "--name", "mine", "--db", str(db)])
    (wayfare := tmp_path / "wayfare.py").write_text(IMPATIENT)
    target = stdio(db, encoder_cache, "--catalog", "mine", "--mirror", "living")
    target.args[:2] = [str(wayfare)]  # it and its consoles wait neither for a visitor nor between two looks

    async def until(told: Told, *wanted: str) -> None:
        missing = set(wanted)
        with anyio.fail_after(LIMIT_S):
            while missing:
                event = await told()
                said = f"{type(event).__name__} {event}"
                missing -= {one for one in missing if one in said}

    async def both(work: Callable[[], Any], tells: list[Told], *wanted: str) -> None:
        await anyio.to_thread.run_sync(work)
        async with anyio.create_task_group() as tasks:
            for told in tells:
                tasks.start_soon(until, told, *wanted)

    def add(line: str) -> Callable[[], object]:
        return lambda: tools.write_text(f"{tools.read_text()}{line}\n")

    def kill() -> None:
        console = owner_of(db)
        assert console is not None
        os.kill(console.pid, signal.SIGKILL)
        wait_for(lambda: not console.answers)

    async def script() -> None:
        heard: asyncio.Queue[Any] = asyncio.Queue()

        async def handler(message: Any) -> None:
            heard.put_nowait(message)

        async with Client(target, mode="legacy", message_handler=handler) as old, Client(target) as new:
            assert old.server_capabilities.tools is not None
            assert old.server_capabilities.tools.list_changed
            assert [tool.name for tool in (await old.list_tools()).tools] == ["echo", "read_result"]
            await _subscribed(old, URI)
            with pytest.raises(MCPError, match="none://such"):
                await _subscribed(old, "none://such")
            lists = dict.fromkeys(("tools_list_changed", "resources_list_changed", "prompts_list_changed"), True)
            async with new.listen(**lists, resource_subscriptions=[URI, "none://such"]) as events:
                assert events.honored.resource_subscriptions == [URI]
                console = owner_of(db)
                assert console is not None
                told = await anyio.to_thread.run_sync(asked, console, "GET")
                assert sum(use["active"] for use in told["uses"]) == 2  # the console does not end while they wait
                tells: list[Told] = [heard.get, lambda: anext(events)]
                await both(add("new Is new."), tells, "Tool", URI)
                assert "new" in {tool.name for tool in (await old.list_tools()).tools}
                await anyio.to_thread.run_sync(kill)
                assert "new" in {tool.name for tool in (await old.list_tools()).tools}  # by the next console
                await both(lambda: None, tells, "Tool", "Resource", "Prompt", URI)  # whatever changed meanwhile
                await both(add("newer Is newer."), tells, URI)
                await _subscribed(old, URI, wanted=False)

    try:
        anyio.run(script)
    finally:
        main(["stop", "--db", str(db)])
