"""The entrance of `/mcp`: bounded, fair between clients, and "busy" beyond."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types
import pytest
from mcp import Client, MCPError

from core.domain.execution import TURN_ENDS, Progress
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.gateway.entrance import Entrance
from core.store import Store
from tests.callers import RecordingCaller
from tests.gateway.conftest import ask
from tests.gateway.serving import served
from tests.importing import import_text
from tests.world import document, open_test_app


class HeldCaller(RecordingCaller):
    """Calls end when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.released = threading.Semaphore(0), threading.Event()

    def answer(self, call: ToolCall, report: Callable[[Progress], None], cancel: threading.Event) -> Outcome:
        """See RecordingCaller."""
        self.begun.release()
        assert self.released.wait(30)
        return Outcome(call, OutcomeKind.OK, started_at=datetime.now(UTC), latency_s=0.0)


class Visits:
    """Requests at an entrance: each begins when it may, and ends when the test says so."""

    def __init__(self, entrance: Entrance) -> None:
        self.entrance = entrance
        self.began: list[str] = []
        self.ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, *names: str) -> list[bool]:
        """`ann 1` is the first request of ann. Returns whether each may enter."""
        return [await self._come(name) for name in names]

    async def _come(self, name: str) -> bool:
        if self.entrance.busy_s(name.partition(" ")[0]):
            return False
        self.ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._visit(name))
        await self.settled()
        return True

    async def _visit(self, name: str) -> None:
        async with self.entrance.entered(name.partition(" ")[0]):
            self.began.append(name)
            await self.ends[name].wait()

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await self.settled()

    async def settled(self) -> None:
        """Until no task has anything left to do at once."""
        for _ in range(10):
            await asyncio.sleep(0)


def test_a_client_that_floods_leaves_room_and_turns_go_round() -> None:
    async def script() -> None:
        visits = Visits(Entrance(at_once=1, most_waiting=4))
        assert await visits.come("ann 1", "ann 2", "ann 3", "ann 4") == [True, True, True, False]
        assert await visits.come("bob 1", "bob 2") == [True, False]
        assert visits.began == ["ann 1"]
        for name in ("ann 1", "ann 2", "bob 1"):
            await visits.end(name)
        assert visits.began == ["ann 1", "ann 2", "bob 1", "ann 3"]
        assert await visits.come("bob 3", "cid 1") == [True, True]
        await visits.end("ann 3")
        await visits.end("bob 3")
        assert visits.began[-2:] == ["bob 3", "cid 1"]

    asyncio.run(asyncio.wait_for(script(), 30))


def test_a_client_that_leaves_gives_its_turn_away() -> None:
    async def script() -> None:
        visits = Visits(Entrance(at_once=1, most_waiting=8))
        await visits.come("ann 1", "ann 2", "bob 1", "cid 1")
        visits.tasks["ann 2"].cancel()
        visits.ends["ann 1"].set()
        await asyncio.sleep(0)  # its turn goes to bob, who
        visits.tasks["bob 1"].cancel()  # leaves before it begins
        await visits.settled()
        assert visits.began == ["ann 1", "cid 1"]

    asyncio.run(asyncio.wait_for(script(), 30))


def test_a_call_that_waits_for_its_server_leaves_its_turn_but_stays_inside() -> None:
    async def script() -> None:
        entrance = Entrance(at_once=1, most_inside=4, most_waiting=4)
        async with entrance.entered("ann"):
            await asyncio.to_thread(TURN_ENDS.get())
            async with entrance.entered("ann"):
                assert (entrance.busy_s("ann"), entrance.busy_s("bob")) == (1, 0)
        assert entrance.busy_s("ann") == 0

    asyncio.run(asyncio.wait_for(script(), 30))


def test_beyond_the_bound_agents_are_told_when_to_come_back(tmp_path: Path) -> None:
    held = HeldCaller()
    call = {"tool": "raw::echo"}

    async def script(url: str, mode: Any) -> None:
        def client(name: str) -> Client:
            return Client(f"{url}/mcp", client_info=mcp_types.Implementation(name=name, version="1"), mode=mode)

        held.released.clear()
        async with client("ann") as ann, client("bob") as bob, anyio.create_task_group() as tasks:
            await ann.list_tools()  # or it is asked for after each call, by the package
            for _ in range(4):
                tasks.start_soon(ann.call_tool, "execute_tool", call)
                assert await asyncio.to_thread(held.begun.acquire, timeout=30)
            with pytest.raises(MCPError, match=r"Wayfare is busy: try again in \d+ s\."):
                await ann.call_tool("execute_tool", call)
            await ask(bob, "search_tools", task="echo words")
            held.released.set()
        async with client("ann") as ann:
            await ask(ann, "search_tools", task="echo words")

    with open_test_app(tmp_path / "wayfare.duckdb", store=Store(), caller=lambda: held) as app:
        import_text(app.catalog_editor, document(), "world")
        with served(app, "world", entrance=Entrance(most_inside=8, at_once=1, turn_s=3600)) as url:
            for mode in ("auto", "legacy"):
                asyncio.run(asyncio.wait_for(script(url, mode), 60))
        app.governance.refused.write_due(everything=True)
        app.store.events.flush()
        assert set(app.store.activity.refused()["error"]) == {"busy"}


def test_busy_is_an_error_of_the_protocol_with_status_429(tmp_path: Path) -> None:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {}}
    headers = {"accept": "application/json, text/event-stream"}
    with (
        open_test_app(tmp_path / "wayfare.duckdb", store=Store()) as app,
        served(app, "sample", entrance=Entrance(most_inside=0)) as url,
        httpx2.Client(base_url=url, headers=headers, timeout=30) as http,
    ):
        answer = http.post("/mcp", json=message)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert answer.json()["id"] == 7
        assert answer.json()["error"]["message"] == "Wayfare is busy: try again in 1 s."
        for free in ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {**message, "method": "ping"}):
            assert http.post("/mcp", json=free).status_code != 429
        for odd in (b"[]", b"\xff", b'{"id": 1, "method": 5, "params": [1]}'):
            assert http.post("/mcp", content=odd).status_code < 500
