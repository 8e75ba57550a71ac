"""One console for all users of a store, whether an agent, a long command or an operator came first; killed, replaced, and left alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from core.domain.console import announced_owner, asked, owner_of
from tests.benchmarks.measuring import free_port
from tests.cli.conftest import RAW, Run, wait_for
from tests.gateway.conftest import ROOT, ask, program, stdio
from tests.gateway.test_http import MILES, TASK, TOOL

Wayfare = Callable[..., Run]
OPERATORS = "a value of the operator"


@pytest.fixture
def db(warm_store: Path, tmp_path: Path) -> Path:
    """A store of the test's own."""
    return Path(shutil.copy(warm_store, tmp_path / "wayfare.duckdb"))


@pytest.fixture
def wayfare(db: Path, encoder_cache: Path) -> Iterator[Wayfare]:
    """Runs a command as a process. Ends the console at the end of the test."""
    environment = {**os.environ, "WAYFARE_DB": str(db), "WAYFARE_CACHE": str(encoder_cache)}

    def run(*words: object) -> Run:
        line = [*program(), *map(str, words)]
        done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=90, check=False)
        return Run(done.returncode, done.stdout, done.stderr)

    yield run
    run("stop")


async def in_thread(work: Callable[..., Any], *words: object) -> Any:
    return await anyio.to_thread.run_sync(lambda: work(*words))


def working(db: Path) -> bool:
    """Whether a call is under way in the console."""
    return any(use["active"] for use in asked(owner_of(db), "GET")["uses"])


def test_two_agents_share_a_console_through_a_kill_until_nobody_uses_it(
    db: Path, encoder_cache: Path, wayfare: Wayfare
) -> None:
    call = {"tool": TOOL, "arguments": MILES}
    both, first_is_done = anyio.Event(), anyio.Event()

    async def other(client: Client) -> None:
        """An agent that begins at the same moment, and does nothing while the first one works."""
        await ask(client, "search_tools", task=TASK)
        both.set()
        await first_is_done.wait()
        assert (await ask(client, "execute_tool", **call))["ok"]  # its session was with the console that was killed

    async def first(client: Client) -> None:
        await ask(client, "search_tools", task=TASK)
        await both.wait()
        console = owner_of(db)
        told = (await in_thread(wayfare, "status", "--json")).json()
        assert (told["running"], told["started_by"], told["pid"]) == (True, "wayfare mcp", console.pid)
        assert [(use["kind"], use["uses"] >= 2) for use in told["uses"]] == [("agent", True)]

        def kill_when_it_works() -> None:
            wait_for(lambda: working(db))
            os.kill(console.pid, signal.SIGKILL)
            wait_for(lambda: not console.answers)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_thread, kill_when_it_works)
            slow = {"tool": "gremlin::answer_slowly", "arguments": {"seconds": 100}}
            lost = (await client.call_tool("execute_tool", slow)).structured_content
        assert (lost["error"], "unknown" in lost["why"]) == ("connection_lost", True)
        assert (await ask(client, "execute_tool", **call))["ok"]  # by the next console
        first_is_done.set()

    async def connected(script: Callable[[Client], Any]) -> None:
        target = stdio(db, encoder_cache)
        target.env["WAYFARE_IDLE_S"] = "3"
        async with Client(target) as client:
            await script(client)

    async def both_talk() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connected, first)
            tasks.start_soon(connected, other)

    anyio.run(both_talk)
    assert (db.parent / f"{db.name}.console.log").read_text().count("Wayfare is starting") == 2
    wait_for(lambda: announced_owner(db) is None)  # nobody uses it
    assert "No console serves" in wayfare("status").out
    assert not wayfare("audit").code


def test_an_agents_console_begins_beside_a_long_command_as_the_operators_was_and_gives_way_to_it(
    db: Path, encoder_cache: Path, wayfare: Wayfare, tmp_path: Path
) -> None:
    tools = [{"name": name, "description": "Works.", "inputSchema": {"type": "object"}} for name in ("variable", "nap")]
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", RAW], "env": {"WHOSE": "${env:PROBE}"}}
    servers = [{"name": "raw", "tools": tools, "connection": connection}]
    (tmp_path / "raw.json").write_text(json.dumps({"servers": servers}))
    assert wayfare("import", tmp_path / "raw.json", "--name", "raw").code == 0
    port, flag, second_flag = free_port(), tmp_path / "go on", tmp_path / "go on again"
    environment = {
        **os.environ, "WAYFARE_DB": str(db), "WAYFARE_CACHE": str(encoder_cache), "WAYFARE_LOOK_HOURS": "0",
        "PROBE": OPERATORS, "UNRELATED": "not ours",
    }  # fmt: skip

    def started(*words: object) -> subprocess.Popen[str]:
        line = [*program(), *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(line, cwd=ROOT, env=environment, **pipes)

    def nap(until: Path) -> dict[str, Any]:
        return {"seconds": 600, "until": str(until)}

    async def script() -> None:
        async with Client(target) as client:
            said = {"tool": "raw::variable", "arguments": {"name": "WHOSE"}}
            whose = await ask(client, "execute_tool", **said)
            assert f"{len(OPERATORS)} characters" in str(whose["result"]), whose
            told = owner_of(db)
            assert (told.started_by, told.url) == ("wayfare mcp", f"http://127.0.0.1:{port}")
            started_with = Path(f"/proc/{told.pid}/environ").read_bytes()
            assert (b"AGENT" in started_with, b"WAYFARE_TOKEN" in started_with) == (False, False)
            assert long.poll() is None  # the command that came first keeps nobody out
            flag.touch()
            assert "raw::nap: ok" in await in_thread(long.stdout.read)
            assert not (await in_thread(wayfare, "audit")).code  # its outcome has reached the console

            async with anyio.create_task_group() as tasks:

                async def long_call() -> None:
                    assert (await ask(client, "execute_tool", tool="raw::nap", arguments=nap(second_flag)))["ok"]

                tasks.start_soon(long_call)
                await in_thread(wait_for, lambda: working(db))
                taking = stack.enter_context(started("up", "--port", port))
                assert "which an agent started, ends for this one" in await in_thread(taking.stdout.readline)
                assert owner_of(db).pid == told.pid  # it waits for the call
                second_flag.touch()
            await in_thread(wait_for, lambda: (now := owner_of(db)) is not None and now.pid != told.pid)
            assert (await ask(client, "execute_tool", **said))["ok"]
            mine = owner_of(db)
            assert (mine.started_by, mine.url, mine.pid != told.pid) == ("wayfare up", told.url, True)

    with started("up", "--port", port) as first:
        wait_for(lambda: owner_of(db) is not None)
        os.kill(owner_of(db).pid, signal.SIGKILL)
        first.wait(30)
    kept = (db.parent / f"{db.name}.up.json").read_text()
    assert (OPERATORS in kept, "not ours" in kept, str(port) in kept) == (False, False, True)
    target = stdio(db, encoder_cache, "--catalog", "raw")
    target.env |= {"AGENT_TOKEN": "x", "PROBE": "of-the-AGENT", "WAYFARE_TOKEN": "", "WAYFARE_LOOK_HOURS": "5"}
    with ExitStack() as stack:
        line = ["call", "raw", "nap", "--catalog", "raw", "--timeout", "300", "--args", json.dumps(nap(flag))]
        long = stack.enter_context(started(*line))
        anyio.run(script)
        assert "has ended" in wayfare("stop").out
        assert announced_owner(db) is None
        assert wayfare("stop", "--json").json() == {"stopped": False}
