"""The pool keeps, bounds and shares sessions, and greets each server in the way that worked last."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.server.mcpserver import MCPServer
from mcp_types import METHOD_NOT_FOUND

from core.domain.catalog import Connection
from core.domain.execution import SESSION_OWNER, SessionOwner
from core.domain.outcome import Outcome, OutcomeKind
from core.servers.pool import PoolConfig
from core.servers.secrets import Launch, SecretVault
from core.servers.session import Greetings, Lease, next_way
from core.servers.stdio import StderrLog
from core.servers.threads import MAX_QUEUED, NotConnectedError, ThreadInbox
from tests.servers.writing import writing_server

from .conftest import SERVER, SERVERS, Bench, eventually, running, states


def here(command: str = "here") -> Connection:
    """A connection to a server in the test's own process."""
    return Connection("stdio", command=command)


def server() -> MCPServer:
    """A small server."""
    small = MCPServer("small", version="2.0")

    @small.tool()
    async def ping() -> str:
        return "pong"

    return small


class Gate:
    """Opens in-process servers, or refuses while `shut`; counts, and can hold a connect until released."""

    def __init__(self) -> None:
        self.shut = False
        self.tries = 0

    def __call__(self, launch: Launch, stderr_log: StderrLog, on_end: Any) -> MCPServer:
        self.tries += 1
        if self.shut:
            raise NotConnectedError("the gate is shut")
        return server()


def test_backoff_grows_fails_fast_and_resets_after_a_success(bench_with: Any) -> None:
    gate, time_s = Gate(), [100.0]
    bench = bench_with(open_target=gate, clock=lambda: time_s[0])

    def tried() -> bool:
        tries = gate.tries
        kind = bench.call(here(), "ping").kind
        assert kind is (OutcomeKind.NOT_CONNECTED if gate.shut or gate.tries == tries else OutcomeKind.OK)
        return gate.tries > tries

    gate.shut = True
    assert [tried(), tried(), tried()] == [True, True, False]  # the second try is free, then 0.5 s
    assert "the next attempt is in 0.5 s: the gate is shut" in bench.call(here(), "ping").error
    time_s[0] += 0.6
    assert [tried(), tried()] == [True, False]  # then 1 s
    time_s[0] += 0.6
    assert not tried()
    time_s[0] += 0.6
    gate.shut = False
    assert tried()
    assert states(bench) == {"server": "ready"}


def test_idle_sessions_are_closed_and_reopened_when_needed(bench_with: Any, raw: Any) -> None:
    bench = bench_with(PoolConfig(idle_s=0.05))
    connection = raw()
    pid = int(bench.call(connection, "pid").content[0].text)
    eventually(lambda: states(bench) == {"server": "idle"})
    eventually(lambda: not running(pid))
    assert bench.pool.states()[0].last_error == ""
    assert bench.call(connection, "pid").kind is OutcomeKind.OK


def test_the_session_idle_longest_makes_room(bench_with: Any) -> None:
    bench = bench_with(PoolConfig(max_sessions=2), open_target=Gate())
    for name in ("a", "b", "a", "c"):
        assert bench.call(here(), "ping", server=name).kind is OutcomeKind.OK
    assert states(bench) == {"a": "ready", "b": "idle", "c": "ready"}


def test_the_oldest_session_of_the_same_client_makes_room_before_those_of_others(bench_with: Any) -> None:
    bench = bench_with(PoolConfig(max_sessions=3), open_target=Gate())
    for client, name in (("ann", "a"), ("bob", "a"), ("bob", "b"), ("bob", "c")):
        token = SESSION_OWNER.set(SessionOwner(client, client))
        assert bench.call(here(), "ping", server=name).kind is OutcomeKind.OK
        SESSION_OWNER.reset(token)
    states = {(state.owner, state.server): state.state for state in bench.pool.states()}
    assert states == {("ann", "a"): "ready", ("bob", "a"): "idle", ("bob", "b"): "ready", ("bob", "c"): "ready"}


def test_no_room_is_said(bench_with: Any, raw: Any) -> None:
    bench = bench_with(PoolConfig(max_sessions=1))
    busy, cancel = raw(), threading.Event()
    bench.call(busy, "pid", server="busy")
    with ThreadPoolExecutor(1) as threads:
        calls = bench.pool.states()[0].calls
        pending = threads.submit(bench.call, busy, "stall", server="busy", cancel=cancel, timeout_s=60)
        eventually(lambda: bench.pool.states()[0].calls > calls)
        refused = bench.call(raw(), "pid", server="other")
        cancel.set()
        assert pending.result().kind is OutcomeKind.CANCELLED
    assert refused.kind is OutcomeKind.NOT_CONNECTED
    assert "all 1 sessions are busy" in refused.error


def test_twenty_calls_at_once_over_two_servers_share_two_processes(bench: Bench, raw: Any, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    connections = {name: raw("--starts", str(starts), "--tools", str(n)) for n, name in enumerate("ab")}

    def one(number: int) -> tuple[str, bool]:
        name = "ab"[number % 2]
        outcome = bench.call(connections[name], "echo", {"n": number}, server=name)
        return outcome.content[0].text, outcome.connect_s is None

    with ThreadPoolExecutor(20) as threads:
        results = list(threads.map(one, range(20)))
    assert [text for text, _ in results] == [f'{{"n": {n}}}' for n in range(20)]
    assert starts.read_text().count("started") == 2
    assert sum(state.calls for state in bench.pool.states()) == 20


def test_calls_that_come_together_share_one_failed_attempt(bench_with: Any, raw: Any, tmp_path: Path) -> None:
    bench = bench_with(PoolConfig(connect_limit_s=1.0))  # long enough for a slow machine to start it
    connection = raw("--mute", "--starts", str(tmp_path / "starts"))
    with ThreadPoolExecutor(4) as threads:
        kinds = {outcome.kind for outcome in threads.map(lambda _: bench.call(connection, "echo"), range(4))}
    assert kinds == {OutcomeKind.NOT_CONNECTED}
    assert (tmp_path / "starts").read_text().count("started") < 4


def test_states_show_what_is_known(bench_with: Any, sample: Connection) -> None:
    vault = SecretVault()
    vault.put(SERVER, "k", "hunter22")
    bench = bench_with(vault=vault)
    connection = Connection("stdio", sample.command, sample.args, env={"KEY": "${secret:k}"})
    assert bench.call(connection, "environment", {"name": "KEY"}).structured == {"result": "•••"}
    bench.call(connection, "say", {"text": "my key is hunter22"})
    eventually(lambda: bench.pool.states()[0].stderr_lines)
    state = bench.pool.states()[0]
    assert (state.server, state.transport, state.state, state.calls) == ("server", "stdio", "ready", 2)
    assert (state.protocol_version, state.server_version, state.last_error) == ("2026-07-28", "1.2.3", "")
    assert state.stderr_lines == ("my key is •••",)
    assert state.connect_s is not None
    assert state.pid is not None
    assert running(state.pid)
    assert "hunter22" not in repr((state, bench.pool.vault))


def test_a_flood_of_progress_is_thinned_out() -> None:
    inbox, seen, future = ThreadInbox(), [0], Future[str]()
    future.set_result("done")

    def see() -> None:
        seen[0] += 1

    for _ in range(3 * MAX_QUEUED):
        inbox.post(see)
    assert inbox.wait_for(future, None) == "done"
    assert seen == [MAX_QUEUED]


def test_the_time_of_a_call_begins_with_its_turn(bench_with: Callable[..., Bench]) -> None:
    """A server up to 2025-11-25 gets one call at a time from a client that it can ask."""
    small, greetings, owner = server(), Greetings(), SessionOwner("ann", "ann", frozenset({"elicitation"}))

    @small.tool()
    async def stall() -> None:
        await anyio.sleep_forever()

    greetings.keep(here(), "legacy")
    bench = bench_with(open_target=lambda *_: small, greetings=greetings)

    def call(tool: str, limit_s: float) -> Outcome:
        SESSION_OWNER.set(owner)
        return bench.call(here(), tool, timeout_s=limit_s)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(call, "stall", 1.5)
        eventually(lambda: states(bench) and bench.pool.states()[0].calls)
        second = threads.submit(call, "ping", 1.0).result()
    assert (first.result().kind, second.kind) == (OutcomeKind.TIMEOUT, OutcomeKind.OK)
    assert second.protocol_version == "2025-11-25"


def in_turn(
    bench: Bench, connection: Connection, arguments: dict[str, Any], threads: ThreadPoolExecutor
) -> list[Future[OutcomeKind]]:
    """Calls of a client that the server can ask: each has begun to wait for the one before."""

    def call(tool: str) -> OutcomeKind:
        SESSION_OWNER.set(SessionOwner("ann", "ann", frozenset({"elicitation"})))
        return bench.call(connection, tool, arguments[tool]).kind

    pending: list[Future[OutcomeKind]] = []
    for tool in arguments:
        pending.append(threads.submit(call, tool))
        eventually(lambda: states(bench) and bench.pool.states()[0].calls == len(pending))
    return pending


def test_a_call_that_waits_behind_a_crash_is_made_in_a_new_session(bench: Bench, raw: Any, tmp_path: Path) -> None:
    crash = {"counter": str(tmp_path / "counter"), "times": 1}
    with ThreadPoolExecutor(3) as threads:
        pending = in_turn(bench, raw(), {"nap": {"seconds": 0.5}, "crash": crash, "echo": {}}, threads)
    assert [future.result() for future in pending] == [OutcomeKind.OK, OutcomeKind.CRASH, OutcomeKind.OK]


def test_a_call_that_waits_in_a_session_that_the_operator_ends_starts_no_other(bench: Bench, raw: Any) -> None:
    with ThreadPoolExecutor(2) as threads:
        pending = in_turn(bench, raw(), {"nap": {"seconds": 60}, "echo": {}}, threads)
        bench.pool.end(SERVER)
    assert [future.result() for future in pending] == [OutcomeKind.CANCELLED] * 2
    assert [*states(bench).values()] == ["idle"]


async def tools(lease: Lease) -> list[str]:
    """The names that the server lists."""
    return [tool.name for tool in (await lease.client.list_tools()).tools]


def test_each_server_is_greeted_in_its_way_and_the_next_process_knows_it(
    bench_with: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.servers.pool.PROBE_S", 0.4)
    mode, log, file = tmp_path / "mode", tmp_path / "log", tmp_path / "greetings.json"
    connection = Connection("stdio", "${python}", ("-S", str(SERVERS / "greeted.py"), str(mode), str(log)))

    def heard(what: str, limit_s: float = 60.0) -> list[str]:
        """The methods up to the list of tools."""
        mode.write_text(what)
        log.write_text("")
        bench = bench_with(PoolConfig(connect_limit_s=limit_s), greetings=Greetings(file))
        assert bench.pool.use(SERVER, connection, tools, limit_s=10) == ["echo"]
        bench.pool.close()
        return log.read_text().partition("tools/list")[0].split()

    first = ["server/discover", "initialize", "notifications/initialized"]
    assert heard("dies") == first
    assert heard("dies") == first[1:]
    assert heard("silent") == first[1:]
    assert heard("new")[-1] == "server/discover"  # the stored era holds no more
    assert set(heard("new")) == {"server/discover"}
    assert heard("silent", 3.0)[-2:] == first[1:]  # after half of the time
    file.write_text("no JSON")
    assert heard("silent") == first


def test_an_address_of_the_older_transport_is_found_out(bench: Bench) -> None:
    with writing_server() as server:
        connection = Connection("http", url=f"{server.url}/legacy/sse")
        assert bench.pool.use(SERVER, connection, tools, limit_s=10) == ["write", "measure"]


def test_a_server_without_initialize_is_of_the_newer_era_though_it_was_too_slow_for_the_probe() -> None:
    unknown = MCPError(METHOD_NOT_FOUND, "Method not found")
    assert next_way("probe", "http", unknown, "") == "modern"
    assert next_way("legacy", "http", unknown, "") == "probe"
