"""Closing: sessions, their calls and their processes end, and those of others do not."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from core.domain.catalog import ToolHints
from core.domain.outcome import OutcomeKind
from core.servers.pool import PoolConfig
from tests.forking import FORKS

from .conftest import eventually, running, states


def test_closing_during_hanging_calls_and_connects_leaves_no_process(bench_with: Any, raw: Any, tmp_path: Path) -> None:
    bench = bench_with()
    connection = raw()
    pid = int(bench.call(connection, "pid").content[0].text)
    grandchild = int(bench.call(connection, "spawn").content[0].text)
    muted = raw("--mute", "--starts", str(tmp_path / "starts"))
    with ThreadPoolExecutor(2) as threads:
        hanging = threads.submit(bench.call, connection, "stall", timeout_s=60, hints=ToolHints(read_only=True))
        connecting = threads.submit(bench.call, muted, "echo", server="muted")
        eventually(lambda: bench.pool.states()[0].calls == 3 and (tmp_path / "starts").exists())
        assert states(bench) == {"server": "ready", "muted": "connecting"}
        bench.pool.close()
        assert hanging.result().kind is OutcomeKind.CANCELLED
        assert connecting.result().kind is OutcomeKind.CANCELLED
    assert not running(pid)
    assert not running(grandchild)
    assert bench.call(connection, "pid").kind is OutcomeKind.NOT_CONNECTED


def test_descendants_of_a_server_that_crashed_are_ended(bench_with: Any, raw: Any, tmp_path: Path) -> None:
    """A descendant that clings to the output hides the crash: the call ends at its limit, the next one is fine."""
    bench, connection = bench_with(PoolConfig(probe_s=0.2)), raw()
    for clinging, kind in ((False, OutcomeKind.CRASH), (True, OutcomeKind.TIMEOUT)):
        grandchild = int(bench.call(connection, "spawn", {"clinging": clinging}).content[0].text)
        assert running(grandchild)
        arguments = {"counter": str(tmp_path / str(clinging)), "times": 1}
        assert bench.call(connection, "crash", arguments, timeout_s=0.5 if clinging else 10).kind is kind
        assert bench.call(connection, "echo").kind is OutcomeKind.OK
        eventually(lambda pid=grandchild: not running(pid))


SCRIPT = """
import sys
from core.domain.catalog import Connection
from core.domain.outcome import ToolCall
from core.servers.caller import McpCaller
from core.servers.pool import SessionPool
connection = Connection("stdio", command="${{python}}", args=("-S", {raw!r}))
caller = McpCaller(SessionPool())
print(caller.call(ToolCall("s", "spawn"), None, connection).content[0].text)
print(caller.call(ToolCall("s", "pid"), None, connection).content[0].text)
"""


def test_a_program_that_ends_without_closing_leaves_no_process() -> None:
    raw = str(Path(__file__).parent / "programs" / "raw.py")
    done = subprocess.run(
        [FORKS.python, "-c", SCRIPT.format(raw=raw)], capture_output=True, text=True, timeout=60, check=True
    )
    pids = [int(line) for line in done.stdout.split()]
    assert len(pids) == 2
    assert not any(running(pid) for pid in pids)
    assert done.stderr == ""
