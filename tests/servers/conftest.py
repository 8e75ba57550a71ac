"""Pools that are always closed, and servers to connect to."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Connection, ServerId, Tool, ToolHints
from core.domain.outcome import Outcome, ToolCall
from core.servers.caller import McpCaller
from core.servers.pool import PoolConfig, SessionPool
from tests.forking import FORKS

SERVERS = Path(__file__).parent / "programs"
SERVER = ServerId("", "server")  # the default server of a `Bench`'s calls


def eventually(check: Callable[[], Any], limit_s: float = 15.0) -> None:
    """Wait for something that happens in another process; fails after a generous limit."""
    deadline = time.monotonic() + limit_s
    while not check():
        if time.monotonic() > deadline:
            pytest.fail("it did not happen")
        time.sleep(0.01)


def running(pid: int) -> bool:
    """Whether a process lives; a zombie does not."""
    with suppress(FileNotFoundError, ProcessLookupError):  # the second: gone between opening and reading
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


class Bench:
    """A pool with its caller, and short ways to use them."""

    def __init__(self, pool: SessionPool) -> None:
        self.pool = pool
        self.caller = McpCaller(pool)

    def call(
        self,
        connection: Connection | None,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        server: str = "server",
        timeout_s: float = 30.0,
        hints: ToolHints | None = None,
        **options: Any,
    ) -> Outcome:
        """Call a tool; with hints the tool is known to the catalog."""
        entry = None if hints is None else Tool(server, tool, hints=hints)
        return self.caller.call(ToolCall(server, tool, arguments or {}, timeout_s), entry, connection, **options)


@pytest.fixture(scope="session", autouse=True)
def impatient() -> Iterator[None]:
    """Servers that do not end by themselves are ended sooner."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.servers.stdio.TERMINATE_S", 0.5)
        patch.setattr("core.servers.session.LEAVE_S", 1.0)
        yield


@pytest.fixture
def bench_with() -> Iterator[Callable[..., Bench]]:
    """Makes pools with the given configuration and closes them."""
    benches: list[Bench] = []

    def make(config: PoolConfig | None = None, **options: Any) -> Bench:
        benches.append(Bench(SessionPool(config=config, **options)))
        return benches[-1]

    yield make
    for bench in benches:
        bench.pool.close()


@pytest.fixture
def bench(bench_with: Callable[..., Bench]) -> Bench:
    """A default pool."""
    return bench_with()


@pytest.fixture(scope="session")
def shared() -> Iterator[Bench]:
    """One pool for tests that leave their server as it was."""
    bench = Bench(SessionPool())
    yield bench
    bench.pool.close()


@pytest.fixture(scope="session")
def sample() -> Connection:
    """The server written with the SDK."""
    return Connection("stdio", command="${python}", args=(str(SERVERS / "sample.py"),))


@pytest.fixture(scope="session")
def raw() -> Callable[..., Connection]:
    """The bare server with flags; `env` sets its environment."""

    def make(*flags: str, env: Mapping[str, str] | None = None) -> Connection:
        return Connection("stdio", command="${python}", args=("-S", str(SERVERS / "raw.py"), *flags), env=env or {})

    return make


class Web:
    """An HTTP server in a process that can be ended and started again on the same port."""

    def __init__(self, *flags: str, token: str = "") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.connection = Connection("http", url=f"http://127.0.0.1:{self.port}/mcp")
        self._flags = flags
        self._token = token
        self.start()

    def start(self, token: str = "") -> None:
        """Start and wait until the port accepts connections."""
        command = [FORKS.python, str(SERVERS / "web.py"), str(self.port), *self._flags]
        environment = {**os.environ, "TOKEN": token or self._token}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        eventually(self._answers)

    def stop(self) -> None:
        """Kill and reap."""
        FORKS.kill(self.process)
        self.process.wait()

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


@pytest.fixture
def web() -> Iterator[Callable[..., Web]]:
    """Starts HTTP servers and ends them."""
    started: list[Web] = []

    def start(*flags: str, token: str = "") -> Web:
        started.append(Web(*flags, token=token))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def states(bench: Bench) -> dict[str, str]:
    """The state of each server that was used."""
    return {state.server: state.state for state in bench.pool.states()}
