"""One console for everybody, whoever came first: an agent, a long command, or two agents at once; killed, stopped, and left alone."""

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

from core.domain.console import announced_owner, owner_of
from tests.benchmarks.measuring import free_port
from tests.cli.conftest import RAW, Run, wait_for
from tests.gateway.conftest import ROOT, ask, program, stdio, talk
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


def killed(db: Path) -> None:
    """Kills the console of a store, and waits for its end."""
    console = owner_of(db)
    os.kill(console.pid, signal.SIGKILL)
    wait_for(lambda: not console.answers)


def test_two_agents_that_come_first_share_a_console_with_commands_through_kills_and_a_stop(
    db: Path, encoder_cache: Path, wayfare: Wayfare
) -> None:
    call = {"tool": TOOL, "arguments": MILES}

    async def other(client: Client) -> None:
        """An agent that begins at the same moment, and does nothing while the first one works."""
        await ask(client, "search_tools", task=TASK)
        both.set()
        await first_is_done.wait()
        assert (await ask(client, "execute_tool", **call))["ok"]  # its session was with a console that was killed

    async def first(client: Client) -> None:
        await ask(client, "search_tools", task=TASK)
        await both.wait()
        told = (await in_thread(wayfare, "status", "--json")).json()
        assert (told["running"], told["started_by"], told["pid"]) == (True, "wayfare mcp", owner_of(db).pid)
        assert [(use["kind"], use["uses"] >= 2) for use in told["uses"]] == [("agent", True)]

        def kill_when_it_works() -> None:
            wait_for(lambda: any(use["active"] for use in wayfare("status", "--json").json()["uses"]))
            killed(db)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(in_thread, kill_when_it_works)
            lost = await client.call_tool(
                "execute_tool", {"tool": "gremlin::answer_slowly", "arguments": {"seconds": 100}}
            )
        assert lost.structured_content["error"] == "connection_lost"
        assert "unknown" in lost.structured_content["why"]
        assert (await ask(client, "execute_tool", **call))["ok"]  # by the next console
        before = owner_of(db)
        assert "has ended" in (await in_thread(wayfare, "stop")).out
        assert announced_owner(db) is None
        assert (await in_thread(wayfare, "stop", "--json")).json() == {"stopped": False}
        assert (await ask(client, "execute_tool", **call))["ok"]
        assert owner_of(db).pid != before.pid
        first_is_done.set()

    async def both_talk() -> None:
        target = stdio(db, encoder_cache)
        target.env["WAYFARE_IDLE_S"] = "6"
        async with anyio.create_task_group() as tasks:
            for script in (first, other):
                tasks.start_soon(connected, target, script)

    async def connected(target: Any, script: Callable[[Client], Any]) -> None:
        async with Client(target) as client:
            await script(client)

    both, first_is_done = anyio.Event(), anyio.Event()
    anyio.run(both_talk)
    assert (db.parent / f"{db.name}.console.log").read_text().count("Wayfare is starting") == 3
    wait_for(lambda: announced_owner(db) is None)  # nobody uses it
    assert "No console serves" in wayfare("status").out
    assert not wayfare("audit").code


def test_a_long_command_that_came_first_keeps_nobody_out_and_its_outcome_reaches_the_console(
    db: Path, encoder_cache: Path, wayfare: Wayfare, tmp_path: Path
) -> None:
    tools = [{"name": "nap", "description": "Sleeps.", "inputSchema": {"type": "object"}}]
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}
    (tmp_path / "raw.json").write_text(
        json.dumps({"servers": [{"name": "raw", "tools": tools, "connection": connection}]})
    )
    assert wayfare("import", tmp_path / "raw.json", "--name", "raw").code == 0
    flag = tmp_path / "go on"
    nap = json.dumps({"seconds": 600, "until": str(flag)})
    line = ["call", "raw", "nap", "--catalog", "raw", "--timeout", "300", "--args", nap]
    environment = {**os.environ, "WAYFARE_DB": str(db), "WAYFARE_CACHE": str(encoder_cache)}
    with subprocess.Popen([*program(), *line], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as long:

        async def script(client: Client) -> None:
            assert (await in_thread(wayfare, "catalogs")).code == 0
            await ask(client, "describe_tool", tools=["raw::nap"])
            assert (await in_thread(wayfare, "catalogs")).code == 0
            assert long.poll() is None
            flag.touch()
            assert "raw::nap: ok" in await in_thread(long.stdout.read)
            assert not (await in_thread(wayfare, "audit")).code

        talk(stdio(db, encoder_cache, "--catalog", "raw"), script)


def test_agents_start_an_operators_console_as_it_was_and_it_takes_over_from_theirs(
    db: Path, encoder_cache: Path, wayfare: Wayfare, tmp_path: Path
) -> None:
    tools = [{"name": name, "description": "Works.", "inputSchema": {"type": "object"}} for name in ("variable", "nap")]
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", RAW], "env": {"WHOSE": "${env:PROBE}"}}
    (tmp_path / "raw.json").write_text(
        json.dumps({"servers": [{"name": "raw", "tools": tools, "connection": connection}]})
    )
    assert wayfare("import", tmp_path / "raw.json", "--name", "raw").code == 0
    port = free_port()
    environment = {
        **os.environ, "WAYFARE_DB": str(db), "WAYFARE_CACHE": str(encoder_cache), "WAYFARE_LOOK_HOURS": "0",
        "PROBE": OPERATORS, "UNRELATED": "not ours",
    }  # fmt: skip

    def up(*words: object) -> subprocess.Popen[str]:
        line = [*program(), "up", *map(str, words)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(line, cwd=ROOT, env=environment, **pipes)

    async def script(client: Client) -> None:
        said = {"name": "WHOSE"}
        whose = await ask(client, "execute_tool", tool="raw::variable", arguments=said)
        assert f"{len(OPERATORS)} characters" in str(whose["result"]), whose
        told = owner_of(db)
        assert (told.started_by, told.url) == ("wayfare mcp", f"http://127.0.0.1:{port}")
        started_with = Path(f"/proc/{told.pid}/environ").read_bytes()
        assert b"AGENT" not in started_with
        assert b"WAYFARE_TOKEN" not in started_with

        flag = tmp_path / "go on"
        nap = {"seconds": 600, "until": str(flag)}
        async with anyio.create_task_group() as tasks:

            async def long_call() -> None:
                assert (await ask(client, "execute_tool", tool="raw::nap", arguments=nap))["ok"]

            tasks.start_soon(long_call)
            await in_thread(wait_for, lambda: any(use["active"] for use in wayfare("status", "--json").json()["uses"]))
            taking = stack.enter_context(up("--port", port))
            assert "which an agent started, ends for this one" in await in_thread(taking.stdout.readline)
            assert owner_of(db).pid == told.pid  # it waits for the call
            flag.touch()
        await in_thread(wait_for, lambda: (now := owner_of(db)) is not None and now.pid != told.pid)
        assert (await ask(client, "execute_tool", tool="raw::variable", arguments=said))["ok"]
        mine = owner_of(db)
        assert (mine.started_by, mine.url, mine.pid != told.pid) == ("wayfare up", told.url, True)

    with up("--port", port) as first:
        wait_for(lambda: owner_of(db) is not None)
        os.kill(owner_of(db).pid, signal.SIGKILL)
        first.wait(30)
    kept = (db.parent / f"{db.name}.up.json").read_text()
    assert (OPERATORS in kept, "not ours" in kept, str(port) in kept) == (False, False, True)
    target = stdio(db, encoder_cache, "--catalog", "raw")
    target.env |= {"AGENT_TOKEN": "x", "PROBE": "of-the-AGENT", "WAYFARE_TOKEN": "", "WAYFARE_LOOK_HOURS": "5"}
    with ExitStack() as stack:
        talk(target, script)
        assert wayfare("stop").code == 0
