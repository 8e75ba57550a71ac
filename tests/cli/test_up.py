"""`wayfare up`: the console as a process: its URL, its health, where it listens, how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from core.cli.serving import OTHER_OPTIONS, listening
from core.domain.console import announced_owner
from tests.cli.conftest import ROOT, Command, command, free_port, status, wait_for


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts consoles that answer, and ends them."""
    children: list[subprocess.Popen[str]] = []

    def up(
        port: int, *arguments: object, cwd: Path = ROOT, host: str = "127.0.0.1", **variables: str
    ) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        child = subprocess.Popen(command("up", "--port", port, *arguments), cwd=cwd, env=environment, **pipes)
        children.append(child)
        wait_for(lambda: status(port, host) == 200 or child.poll() is not None)
        assert child.poll() is None, child.communicate()[0]
        return child

    yield up
    for child in children:
        child.kill()
        child.communicate()


def has_open(pid: int, file: Path) -> bool:
    """Whether a process has a file open: asking DuckDB would take the store away from it."""
    app = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            app.append(link.readlink())
    return file in app


def test_a_console_from_start_to_end(wayfare: Command, db: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    port = free_port()
    app = start(port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as page:
        assert page.status == 200
    assert status(port, "127.0.0.2") == 0  # a server that listens on every address would answer there too

    wait_for(lambda: has_open(app.pid, db))
    for words in ((), ("--port", port), ("--port", port, "--host", "localhost")):
        second = wayfare("up", *words)
        assert (second.code, second.err) == (0, ""), words
        assert f"http://127.0.0.1:{port} (process {app.pid}" in second.out
    for name, value in (("--port", free_port()), ("--host", "0.0.0.0"), ("--mcp-host", "box"), ("--catalog", "other")):
        second = wayfare("up", name, value)
        assert (second.code, second.err.count("\n")) == (OTHER_OPTIONS, 1), name
        assert (f"http://127.0.0.1:{port} (process {app.pid}" in second.out, name in second.err) == (True, True)

    app.send_signal(signal.SIGTERM)
    out, _ = app.communicate(timeout=10)
    assert app.returncode == 0
    assert out.startswith(f"Wayfare is starting on http://127.0.0.1:{port} ")
    assert "Traceback" not in out, out
    assert wayfare("catalogs").code == 0


def test_ctrl_c_ends_a_console_in_memory_and_leaves_no_file(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    app = start(free_port(), "--db", ":memory:", cwd=empty)
    app.send_signal(signal.SIGINT)
    out, _ = app.communicate(timeout=10)
    assert app.returncode == 0
    assert "Traceback" not in out, out
    assert list(empty.iterdir()) == []


def test_consoles_of_two_stores_that_start_together_get_their_own_ports(tmp_path: Path) -> None:
    port, stores = free_port(), [tmp_path / "one.duckdb", tmp_path / "two.duckdb"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [command("up", "--background", "--port", port, "--db", store) for store in stores]
    consoles = [subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True) for line in words]
    try:
        wait_for(lambda: all(announced_owner(store) for store in stores))
        owners = [owner for store in stores if (owner := announced_owner(store))]
        assert [owner.pid for owner in owners] == [child.pid for child in consoles]
        assert len({owner.url for owner in owners}) == 2
        assert f"http://127.0.0.1:{port}" in {owner.url for owner in owners}
        wait_for(lambda: all(status(int(owner.url.rpartition(":")[2])) == 200 for owner in owners))
    finally:
        for child in consoles:
            child.kill()
            child.communicate()


def test_an_answer_of_several_parts_does_not_wait_for_the_client() -> None:
    with listening("127.0.0.1", 0, otherwise_free=False) as listener, socket.create_connection(listener.getsockname()):
        served, _ = listener.accept()
        with served:
            assert served.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
