"""Clients of `wayfare mcp --mirror` are told what clients over HTTP are told, in both eras of the protocol, and by the next console."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client, MCPError

from core.app import App
from core.domain.console import Owner, announced
from core.gateway.entrance import Uses
from core.servers.asking_back import _subscribed
from tests.catalogs.test_upkeep import config, living
from tests.gateway.conftest import stdio
from tests.gateway.serving import served

LIMIT_S = 60.0
URI = "file:///tools"
IMPATIENT = """
from core.cli import main
from core.gateway import changes

changes.FIRST_WAIT_S = changes.LONGEST_WAIT_S = 0.1
main()
"""
Told = Callable[[], Awaitable[Any]]


def test_a_client_over_stdio_is_told(
    app: App, path: Path, encoder_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.gateway.changes.EVERY_S", 0.05)
    monkeypatch.setattr("core.catalogs.upkeep.AGAIN_S", 0.1)
    tools = tmp_path / "tools.txt"
    tools.write_text("echo Gives the text back.\n")
    app.catalog_editor.discover(app.catalog_editor.read(config(living=living(tools)), "test"), "mine", "test")
    app.upkeep.start()
    (wayfare := tmp_path / "wayfare.py").write_text(IMPATIENT)
    target = stdio(path, encoder_cache, "--catalog", "mine", "--mirror", "living")
    target.args[:2] = [str(wayfare)]
    uses, console = Uses(), ExitStack()

    def begin() -> None:
        url = console.enter_context(served(app, "mine", uses=uses))
        console.enter_context(announced(path, Owner(url)))

    def replace_console() -> None:
        console.close()
        begin()

    async def until(next_event: Told, *expected: str) -> None:
        missing = set(expected)
        with anyio.fail_after(LIMIT_S):
            while missing:
                event = await next_event()
                text = f"{type(event).__name__} {event}"
                missing -= {word for word in missing if word in text}

    async def both(work: Callable[[], Any], tells: list[Told], *expected: str) -> None:
        await anyio.to_thread.run_sync(work)
        async with anyio.create_task_group() as tasks:
            for next_event in tells:
                tasks.start_soon(until, next_event, *expected)

    def add(line: str) -> Callable[[], object]:
        return lambda: tools.write_text(f"{tools.read_text()}{line}\n")

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
                assert uses.active("agent") >= 2  # a console does not end while they wait
                tells: list[Told] = [heard.get, lambda: anext(events)]
                await both(add("new Is new."), tells, "Tool", URI)
                assert "new" in {tool.name for tool in (await old.list_tools()).tools}
                await anyio.to_thread.run_sync(replace_console)
                assert "new" in {tool.name for tool in (await old.list_tools()).tools}  # by the next console
                await both(lambda: None, tells, "Tool", "Resource", "Prompt", URI)  # whatever changed meanwhile
                await both(add("newer Is newer."), tells, URI)
                await _subscribed(old, URI, wanted=False)

    with console:
        begin()
        anyio.run(script)
