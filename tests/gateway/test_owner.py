"""One console for all users of a store, whether an agent, a long command or an operator came first; killed, replaced, and left alone."""

from __future__ import annotations

import json
import os
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

from core.cli import main
from core.cli.store import UpOptions, remember
from core.domain.console import announced_owner, asked, owner_of
from core.domain.settings import Settings
from core.servers.secrets import names_in
from core.store import Store
from tests.benchmarks.measuring import free_port
from tests.cli.conftest import RAW, Run, wait_for
from tests.gateway.conftest import ROOT, ask, program, stdio

Wayfare = Callable[..., Run]
OPERATORS = "a value of the operator"
ECHO = {"tool": "raw::echo", "arguments": {"a": 1}}


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with the catalog `raw`, whose server gets a variable of the operator."""
    db, file = tmp_path / "wayfare.duckdb", tmp_path / "raw.json"
    tools = [
        {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}}
        for name in ("echo", "variable", "nap")
    ]
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", RAW], "env": {"WHOSE": "${env:PROBE:-none}"}}
    file.write_text(json.dumps({"servers": [{"name": "raw", "tools": tools, "connection": connection}]}))
    main(["import", str(file), "--name", "raw", "--db", str(db)])
    return db


@pytest.fixture
def started(db: Path, encoder_cache: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a command as a process, with an environment of the operator. Ends the console at the end of the test."""
    environment = {
        **os.environ, "WAYFARE_DB": str(db), "WAYFARE_CACHE": str(encoder_cache), "PROBE": OPERATORS, "UNRELATED": "not ours",
    }  # fmt: skip

    def start(*words: object) -> subprocess.Popen[str]:
        line, pipe = [*program(), *map(str, words)], subprocess.PIPE
        return subprocess.Popen(line, cwd=ROOT, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)

    yield start
    start("stop").communicate(timeout=60)


@pytest.fixture
def wayfare(started: Callable[..., subprocess.Popen[str]]) -> Wayfare:
    """Runs a command as a process."""

    def run(*words: object) -> Run:
        process = started(*words)
        out, _ = process.communicate(timeout=90)
        return Run(process.returncode, out, "")

    return run


async def in_thread(work: Callable[..., Any], *words: object) -> Any:
    return await anyio.to_thread.run_sync(lambda: work(*words))


def working(db: Path) -> bool:
    """Whether a call is under way in the console."""
    console = owner_of(db)  # a busy machine may not answer in time
    return console is not None and any(use["active"] for use in asked(console, "GET")["uses"])


def nap(until: Path) -> dict[str, Any]:
    return {"seconds": 600, "until": str(until)}


def test_two_agents_share_a_console_beside_a_long_command_through_a_kill_until_nobody_uses_it(
    db: Path, encoder_cache: Path, started: Any, wayfare: Wayfare, tmp_path: Path
) -> None:
    both, first_is_done, flag = anyio.Event(), anyio.Event(), tmp_path / "go on"

    async def other(client: Client) -> None:
        """An agent that begins at the same moment, and does nothing while the first one works."""
        await ask(client, "search_tools", task="Does echo.")
        both.set()
        await first_is_done.wait()
        assert (await ask(client, "execute_tool", **ECHO))["ok"]  # its session was with the console that was killed

    async def first(client: Client) -> None:
        await ask(client, "search_tools", task="Does echo.")
        await both.wait()
        assert long.poll() is None  # the command that came first keeps nobody out

        def look_and_kill() -> None:
            """Looks while a call is under way, so that the console does not end by itself on a busy machine."""
            wait_for(lambda: working(db))
            flag.touch()
            assert "raw::nap: ok" in long.stdout.read()
            console, status = owner_of(db), wayfare("status", "--json").json()
            assert (status["running"], status["started_by"], status["pid"]) == (True, "wayfare mcp", console.pid)
            assert [(use["kind"], use["uses"] >= 2) for use in status["uses"]] == [("agent", True)]
            os.kill(console.pid, signal.SIGKILL)
            wait_for(lambda: not console.answers)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_thread, look_and_kill)
            slow = {"tool": "raw::nap", "arguments": {"seconds": 100}}
            lost = (await client.call_tool("execute_tool", slow)).structured_content
        assert (lost["error"], "unknown" in lost["why"]) == ("connection_lost", True)
        assert (await ask(client, "execute_tool", **ECHO))["ok"]  # by the next console
        first_is_done.set()

    async def connected(script: Callable[[Client], Any]) -> None:
        target = stdio(db, encoder_cache, "--catalog", "raw")
        target.env["WAYFARE_IDLE_S"] = "3"
        async with Client(target) as client:
            await script(client)

    async def both_talk() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connected, first)
            tasks.start_soon(connected, other)

    with started("call", "raw", "nap", "--catalog", "raw", "--timeout", 300, "--args", json.dumps(nap(flag))) as long:
        anyio.run(both_talk)
    assert (db.parent / f"{db.name}.console.log").read_text().count("Wayfare is starting") == 2
    wait_for(lambda: announced_owner(db) is None)  # nobody uses it
    assert "No console serves" in wayfare("status").out
    assert not wayfare("audit").code  # the outcome of the long command is there, too


def test_an_agents_console_is_as_the_operators_was_and_gives_way_to_it(
    db: Path, encoder_cache: Path, started: Any, wayfare: Wayfare, tmp_path: Path
) -> None:
    port, flag, file = free_port(), tmp_path / "go on", db.parent / f"{db.name}.up.json"
    environment = {"WAYFARE_LOOK_HOURS": "0", "PROBE": OPERATORS, "UNRELATED": "not ours"}
    with Store(db) as store:  # as `wayfare up` does, which then was killed
        referred = names_in(*store.catalogs.connection_texts())
        options = UpOptions("127.0.0.1", port, "raw", (), (), sign_in=False)
        remember(Settings.from_environment(environment, db=db), options, referred)

    def check_kept() -> None:
        text = file.read_text()
        assert (OPERATORS in text, "not ours" in text, str(port) in text) == (False, False, True)
        file.unlink()

    async def script(client: Client) -> None:
        call = {"tool": "raw::variable", "arguments": {"name": "WHOSE"}}
        whose = await ask(client, "execute_tool", **call)
        assert f"{len(OPERATORS)} characters" in str(whose["result"]), whose
        owner = owner_of(db)
        assert (owner.started_by, owner.url) == ("wayfare mcp", f"http://127.0.0.1:{port}")
        started_with = Path(f"/proc/{owner.pid}/environ").read_bytes()
        assert (b"AGENT" in started_with, b"WAYFARE_TOKEN" in started_with) == (False, False)
        check_kept()

        async with anyio.create_task_group() as tasks:

            async def long_call() -> None:
                assert (await ask(client, "execute_tool", tool="raw::nap", arguments=nap(flag)))["ok"]

            tasks.start_soon(long_call)
            await in_thread(wait_for, lambda: working(db))
            taking = stack.enter_context(started("up", "--port", port))
            assert "which an agent started, ends for this one" in await in_thread(taking.stdout.readline)
            assert owner_of(db).pid == owner.pid  # it waits for the call
            flag.touch()
        await in_thread(wait_for, lambda: (current := owner_of(db)) is not None and current.pid != owner.pid)
        assert (await ask(client, "execute_tool", **call))["ok"]
        mine = owner_of(db)
        assert (mine.started_by, mine.url, mine.pid != owner.pid) == ("wayfare up", owner.url, True)
        check_kept()

    async def talks() -> None:
        target = stdio(db, encoder_cache, "--catalog", "raw")
        target.env |= {"AGENT_TOKEN": "x", "PROBE": "of-the-AGENT", "WAYFARE_TOKEN": "", "WAYFARE_LOOK_HOURS": "5"}
        async with Client(target) as client:
            await script(client)

    with ExitStack() as stack:
        anyio.run(talks)
        assert "has ended" in wayfare("stop").out
        assert announced_owner(db) is None
        assert wayfare("stop", "--json").json() == {"stopped": False}
