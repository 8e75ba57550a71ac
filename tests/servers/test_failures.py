"""A fault of a real process harms only the current call; closing leaves no process."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.domain.catalog import Connection, ToolHints
from core.domain.outcome import OutcomeKind
from core.servers import transports
from core.servers.pool import PoolConfig
from core.servers.secrets import SecretVault
from tests.cases import each
from tests.forking import FORKS

from .conftest import SERVER, eventually, running, states

SAFE = ToolHints(read_only=True)
IDEMPOTENT = ToolHints(idempotent=True)
NPM = "npm error code E404\nnpm error 404 Not Found\nnpm error 404\nnpm error A complete log of this run can be found in: /x.log"


def crash_arguments(tmp_path: Path, times: int) -> dict[str, Any]:
    """Arguments of the crash tool that counts its calls in a file."""
    return {"counter": str(tmp_path / "counter"), "times": times}


def executed(tmp_path: Path) -> int:
    """How often the crash tool ran."""
    return int((tmp_path / "counter").read_text())


def test_a_crash_is_not_retried_without_the_hint(bench: Any, raw: Any, tmp_path: Path) -> None:
    hints = ToolHints(read_only=False, open_world=True)
    starts = tmp_path / "starts"
    connection = raw("--starts", str(starts))
    outcome = bench.call(connection, "crash", crash_arguments(tmp_path, 1), hints=hints)
    assert (outcome.kind, outcome.attempts, executed(tmp_path)) == (OutcomeKind.CRASH, 1, 1)
    after = bench.call(connection, "echo", {"a": 1})
    assert (after.kind, after.content[0].text) == (OutcomeKind.OK, '{"a": 1}')
    assert after.connect_s is not None
    assert starts.read_text().count("started") == 2


def test_a_crash_is_retried_once_with_the_hint(bench: Any, raw: Any, tmp_path: Path) -> None:
    for hints, crashes, kind in ((SAFE, 5, OutcomeKind.CRASH), (IDEMPOTENT, 1, OutcomeKind.OK)):
        (tmp_path / "counter").unlink(missing_ok=True)
        outcome = bench.call(raw(), "crash", crash_arguments(tmp_path, crashes), hints=hints)
        assert (outcome.kind, outcome.attempts, executed(tmp_path)) == (kind, 2, 2)


def test_a_stopped_server_times_out_at_the_limit_and_others_go_on(bench_with: Any, raw: Any) -> None:
    bench = bench_with(PoolConfig(probe_s=0.2))
    stopped, other = raw(), raw("--tools", "1")
    pid = int(bench.call(stopped, "pid", server="stopped").content[0].text)
    bench.call(other, "pid", server="other")
    os.kill(pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        # with a megabyte of arguments even the writing blocks
        pending = threads.submit(
            bench.call, stopped, "echo", {"text": "x" * 1_000_000}, server="stopped", timeout_s=0.7, hints=SAFE
        )
        meanwhile = 0
        while not pending.done():
            assert bench.call(other, "echo", server="other").kind is OutcomeKind.OK
            meanwhile += 1
    outcome = pending.result()
    assert (outcome.kind, outcome.attempts) == (OutcomeKind.TIMEOUT, 1)
    assert outcome.latency_s >= 0.69
    assert meanwhile > 5
    assert bench.call(stopped, "echo", server="stopped").kind is OutcomeKind.OK


def test_a_busy_server_that_seems_to_hang_still_finishes_what_it_began(bench_with: Any, raw: Any) -> None:
    bench = bench_with(PoolConfig(probe_s=0.1))
    connection = raw()
    pid = bench.call(connection, "pid").content[0].text
    with ThreadPoolExecutor(1) as threads:
        napping = threads.submit(bench.call, connection, "nap", {"seconds": 1})
        eventually(lambda: bench.pool.states()[0].calls == 2)
        assert bench.call(connection, "echo", timeout_s=0.1).kind is OutcomeKind.TIMEOUT
        other = bench.call(connection, "pid")
        assert (other.kind, other.content[0].text != pid) == (OutcomeKind.OK, True)
        assert napping.result().kind is OutcomeKind.OK
    eventually(lambda: not running(int(pid)))


def test_a_server_that_dies_while_idle_is_noticed_and_restarted(bench: Any, raw: Any) -> None:
    connection = raw()
    pid = int(bench.call(connection, "pid").content[0].text)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: bench.pool.states()[0].state == "failed")
    outcome = bench.call(connection, "pid")
    assert (outcome.kind, outcome.attempts) == (OutcomeKind.OK, 1)
    assert outcome.connect_s is not None
    assert bench.pool.states()[0].state == "ready"


def test_a_program_that_is_no_server_ends_at_the_connect_limit(bench_with: Any, raw: Any) -> None:
    bench = bench_with(PoolConfig(connect_limit_s=1.5))
    outcome = bench.call(raw("--mute"), "echo")
    assert outcome.kind is OutcomeKind.NOT_CONNECTED
    assert "no answer within 1.5 s" in outcome.error
    assert "*** not a server ***" in outcome.error
    assert outcome.connect_s is not None
    assert outcome.latency_s == 0


class LateThread(threading.Thread):
    """Begins when it is waited for."""

    def start(self) -> None:
        """Does nothing yet."""

    def join(self, timeout: float | None = None) -> None:
        super().start()
        super().join(timeout)


def test_a_command_that_exits_at_once_says_its_last_words_redacted(
    bench_with: Any, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transports, "threading", SimpleNamespace(Thread=LateThread))
    vault = SecretVault()
    vault.put(SERVER, "licence", "L-hunter-secret")
    bench = bench_with(vault=vault)
    outcome = bench.call(raw("--exit", env={"LICENCE": "${secret:licence}"}), "echo")
    assert outcome.kind is OutcomeKind.NOT_CONNECTED
    assert "no licence for •••" in outcome.error
    state = bench.pool.states()[0]
    assert (state.state, state.stderr_lines) == ("failed", ("no licence for •••",))
    assert "hunter" not in repr((state, outcome, bench.pool.vault))


def test_a_server_that_was_open_or_has_said_why_is_not_waited_for_long(
    bench_with: Any, raw: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[float | None] = []
    monkeypatch.setattr(LateThread, "start", threading.Thread.start)
    monkeypatch.setattr(LateThread, "join", lambda _, timeout=None: limits.append(timeout))
    monkeypatch.setattr(transports, "threading", SimpleNamespace(Thread=LateThread))
    bench = bench_with()
    bench.call(raw(), "echo")
    bench.call(
        Connection("stdio", command="${python}", args=("-Sc", "print('usage', flush=True); input()")),
        "echo",
        server="other",
    )
    bench.pool.close()
    assert set(limits) == {transports.DRAIN_S}


@each(
    ("connection", "words"),
    [
        (Connection("stdio", command="no-such-command-here"), "the command no-such-command-here was not found"),
        (Connection("stdio", command="${python}", cwd="/no/such/folder"), "the working directory /no/such/folder"),
        (Connection("stdio", command="/"), "the command / cannot be started: Permission denied"),
        (
            Connection("stdio", command="${python}", args=("-Sc", f"raise SystemExit({NPM!r})")),
            "(last words: npm error 404 Not Found)",
        ),
        (
            Connection("stdio", command="${python}", args=("-Sc", "raise SystemExit('Missing .env file\\nKilled')")),
            "(last words: Killed)",
        ),
        (Connection("http", url="http://127.0.0.1:9/mcp"), "All connection attempts failed"),
        (Connection("http", url="nonsense"), "cannot be reached"),
        (Connection("sse", url="http://127.0.0.1:9/sse"), "All connection attempts failed"),
    ],
)
def test_what_cannot_be_reached_says_why(bench: Any, connection: Connection, words: str) -> None:
    outcome = bench.call(connection, "echo")
    assert outcome.kind is OutcomeKind.NOT_CONNECTED
    assert words in outcome.error


def test_standard_error_is_kept_bounded_and_redacted_and_stays_off_the_console(
    bench_with: Any, raw: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    vault = SecretVault()
    vault.put(SERVER, "k", "hunter22")
    bench = bench_with(vault=vault)
    lines = "\n".join(f"line {n} hunter22" for n in range(200))
    bench.call(raw(), "say", {"text": lines})
    eventually(lambda: bench.pool.states()[0].stderr_lines[-1:] == ("line 199 •••",))
    assert len(bench.pool.states()[0].stderr_lines) == 50
    bench.pool.close()
    assert capfd.readouterr().err == ""


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
