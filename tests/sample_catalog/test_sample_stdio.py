"""Sample servers as processes of their own: over stdio and HTTP, alive, crashing and hanging."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters

from core.importers.shipped_catalogs import sample
from sample_catalog import ROOT
from tests.cases import each
from tests.forking import FORKS

from .examples import EXAMPLES

CONNECTION_CLOSED, REQUEST_TIMEOUT = -32000, -32001


def process(module: str, sandbox: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=FORKS.python,
        args=["-m", f"sample_catalog.runnable.{module}"],
        cwd=ROOT.parent,
        env={"WAYFARE_SANDBOX": str(sandbox)},
    )


def test_only_these_tools_end_without_a_result() -> None:
    """Each of them has a test in this file."""
    untested = {name for name, example in EXAMPLES.items() if example.check is None}
    assert untested == {"gremlin::crash", "gremlin::hang", "gremlin::break_promise"}


EACH_AS_A_PROGRAM = """
import io, json, runpy, sys
modules, ask, out = sys.argv[2:], sys.argv[1].encode(), sys.stdout
for module in modules:
    answer = io.BytesIO()
    sys.argv, sys.stdin, sys.stdout = [module], io.TextIOWrapper(io.BytesIO(ask)), io.TextIOWrapper(answer)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    print(json.loads(answer.getvalue())["result"]["serverInfo"]["name"], file=out)
"""


def test_each_server_starts_as_the_program_that_the_catalog_names(tmp_path: Path) -> None:
    """One after another in one process: a process costs a second, and little of it is the server."""
    commands = {server.name: server.connection.args for server in sample().servers if server.connection is not None}
    assert {args[0] for args in commands.values()} == {"-m"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    ask = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}) + "\n"
    run = subprocess.run(
        [sys.executable, "-c", EACH_AS_A_PROGRAM, ask, *(module for _, module in commands.values())],
        cwd=ROOT.parent, env=os.environ | {"WAYFARE_SANDBOX": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.splitlines() == list(commands)


def test_a_hang_is_a_timeout_the_server_lives_on_and_a_crash_is_a_lost_connection(tmp_path: Path) -> None:
    steps: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, _message: str | None) -> None:
        steps.append((progress, total))

    async def run() -> tuple[int, str, int]:
        async with Client(process("gremlin", tmp_path), read_timeout_seconds=60) as client:
            await client.list_tools()
            with pytest.raises(MCPError) as hung:
                await client.call_tool("hang", {}, read_timeout_seconds=0.3)
            alive = await client.call_tool("report_progress", {"steps": 3, "pause_s": 0}, progress_callback=note)
            with pytest.raises(MCPError) as crashed:
                await client.call_tool("crash", {})
            return hung.value.code, alive.structured_content["result"], crashed.value.code

    assert asyncio.run(run()) == (REQUEST_TIMEOUT, "3 steps done", CONNECTION_CLOSED)
    assert steps == [(1, 3), (2, 3), (3, 3)]


@each("what", ["type", "missing", "nothing"])
def test_a_broken_promise_is_noticed_by_the_client(what: str) -> None:
    from sample_catalog.runnable.gremlin import server

    async def run() -> None:
        async with Client(server) as client:
            await client.list_tools()
            with pytest.raises(RuntimeError, match="structured content"):
                await client.call_tool("break_promise", {"what": what})

    asyncio.run(run())


def test_a_server_works_over_http(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [FORKS.python, "-m", "sample_catalog.runnable.unit_exchange", "--http", str(port)]
    environment = os.environ | {"WAYFARE_SANDBOX": str(tmp_path)}

    async def run() -> Any:
        async with Client(f"http://127.0.0.1:{port}/mcp", read_timeout_seconds=30) as client:
            await client.list_tools()
            return await client.call_tool("convert_units", EXAMPLES["unit-exchange::convert_units"].arguments)

    with subprocess.Popen(command, cwd=ROOT.parent, env=environment, stderr=subprocess.DEVNULL) as server:
        try:
            with httpx2.Client(transport=httpx2.HTTPTransport(retries=7)) as patient:
                assert patient.get(f"http://127.0.0.1:{port}/").status_code == 404
            result = asyncio.run(run())
        finally:
            server.terminate()
    assert result.structured_content == {"value": 482.8032, "unit": "kilometre"}
