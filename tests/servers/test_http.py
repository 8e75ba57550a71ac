"""Streamable HTTP servers of both protocol eras, restarted, stopped and refusing."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any

import pytest

from core.domain.catalog import Connection, ToolHints
from core.domain.execution import SESSION_OWNER, SessionOwner
from core.domain.outcome import OutcomeKind

from .conftest import SERVER, Bench, eventually

ERAS = pytest.mark.parametrize(("flags", "version"), [((), "2026-07-28"), (("legacy",), "2025-11-25")])


@ERAS
def test_a_session_survives_a_restart_a_stop_and_a_crash(
    bench: Bench, web: Any, flags: tuple[str, ...], version: str
) -> None:
    server = web(*flags)
    call = partial(bench.call, server.connection)
    first, second = call("count"), call("count")
    assert (first.kind, first.protocol_version, first.content[0].text) == (OutcomeKind.OK, version, "1")
    assert first.connect_s is not None
    assert (second.connect_s, second.content[0].text) == (None, "2")
    large = call("large", {"size": 3_000_000})
    assert (large.kind, len(large.content[0].text)) == (OutcomeKind.OK, 3_000_000)

    server.stop()
    server.start()
    # no hint allows a retry here: the older protocol's server refuses the unknown session before it runs anything
    after = call("count")
    assert (after.kind, after.attempts, after.content[0].text) == (OutcomeKind.OK, 1, "1")
    assert (after.connect_s is not None) == bool(flags)
    seen: list[float] = []
    assert call("steps", {"number": 3}, on_progress=lambda p: seen.append(p.progress)).kind is OutcomeKind.OK
    assert seen == [1, 2, 3]

    if flags:
        return
    pid = int(call("pid").content[0].text)
    os.kill(pid, signal.SIGSTOP)
    stopped = call("count", timeout_s=0.4)
    # the limit counts from before the call is sent, the latency from then on
    assert (stopped.kind, 0.1 < stopped.latency_s < 20) == (OutcomeKind.TIMEOUT, True)
    os.kill(pid, signal.SIGCONT)
    assert call("count").kind is OutcomeKind.OK

    crashed = call("crash", hints=ToolHints())
    assert (crashed.kind, crashed.attempts) == (OutcomeKind.CRASH, 1)
    server.process.wait()
    down = call("count")
    assert (down.kind, down.kind.post_accept_failure) == (OutcomeKind.NOT_CONNECTED, True)
    assert "All connection attempts failed" in down.error
    server.start()
    assert call("count").kind is OutcomeKind.OK


def test_headers_carry_secrets_and_a_changed_token_is_picked_up(bench: Bench, web: Any) -> None:
    server = web(token="first-token")
    connection = Connection("http", url=server.connection.url, headers={"Authorization": "Bearer ${secret:t}"})
    bench.pool.vault.put(SERVER, "t", "wrong-token")
    refused = bench.call(connection, "count")
    lack = "Server server refuses the value of the header Authorization. The operator enters it on the Catalog page, or with"
    assert (refused.kind, refused.error.startswith(lack)) == (OutcomeKind.NOT_TRIED, True)
    for wrong in ("first\ntoken", "first-tøken"):
        bench.pool.vault.put(SERVER, "t", wrong)
        assert bench.call(connection, "count").error.endswith(
            "reached: the value of the header Authorization has a character that HTTP does not allow"
        )
    bench.pool.vault.put(SERVER, "t", "first-token\n")
    assert bench.call(connection, "count").kind is OutcomeKind.OK
    server.stop()
    server.start(token="second-token")
    refused = bench.call(connection, "count")
    assert (refused.kind, refused.error.startswith(lack)) == (OutcomeKind.NOT_TRIED, True)
    bench.pool.vault.put(SERVER, "t", "second-token")
    assert bench.call(connection, "count").kind is OutcomeKind.OK
    assert "-token" not in repr(bench.pool.states())


def test_the_older_transport_with_server_sent_events(bench: Bench, web: Any) -> None:
    server = web("sse")
    connection = Connection("sse", url=f"http://127.0.0.1:{server.port}/sse")
    assert bench.call(connection, "count").content[0].text == "1"
    elsewhere = Connection("sse", url=f"http://me:p^ss|w0rd12@127.0.0.1:{server.port}/none")
    assert bench.call(elsewhere, "count").error == "Server server cannot be reached: HTTP 404 Not Found"
    guarded = web("sse", token="a-token")
    refused = bench.call(Connection("sse", url=f"http://127.0.0.1:{guarded.port}/sse"), "count")
    assert (refused.kind, "the header Authorization is missing" in refused.error) == (OutcomeKind.NOT_TRIED, True)
    assert bench.call(connection, "count").connect_s is None
    server.stop()
    eventually(lambda: bench.pool.states()[0].state == "failed")
    server.start()
    assert bench.call(connection, "count").kind is OutcomeKind.OK


def test_clients_share_the_session_of_a_server_that_gives_no_session_id(bench: Bench, web: Any) -> None:
    for flags in ((), ("legacy",)):
        connection = web(*flags).connection
        for client in ("ann", "bob", "ann"):
            token = SESSION_OWNER.set(SessionOwner(client, client))
            assert bench.call(connection, "pid", server=f"server {flags}").kind is OutcomeKind.OK
            SESSION_OWNER.reset(token)
    owners = {(state.server, state.owner): state.calls for state in bench.pool.states()}
    stateful = "server ('legacy',)"
    assert owners == {("server ()", "all clients"): 3, (stateful, "ann"): 2, (stateful, "bob"): 1}
