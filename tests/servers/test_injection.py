"""A network injected below the protocol: the pool, the limits and the retries behave as with a real one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from core.domain.catalog import ToolHints
from core.domain.outcome import OutcomeKind
from core.network.traces import Fault, FaultKind, Injection, Traces
from core.servers.pool import PoolConfig

from .conftest import Bench, eventually, running

SAFE = ToolHints(read_only=True)
CALM, SLOW, DOWN = 0, 1, 2  # steps of the network


@pytest.fixture
def network(bench_with: Callable[..., Bench]) -> Callable[..., tuple[Bench, Injection]]:
    """A pool whose `server` is calm, then 100 ms away, then down; others are always 1 ms away. It starts calm."""

    def make(*, dropped: bool, give_up_s: float = 0.1) -> tuple[Bench, Injection]:
        traces = Traces(("server", "other"), np.array([[0.001, 0.1, 1.0], [0.001, 0.001, 0.001]]))
        injection = Injection(traces, dropped_share=float(dropped), give_up_s=give_up_s)
        injection.at = CALM
        return bench_with(PoolConfig(probe_s=0.1), injection=injection), injection

    return make


class Far(Injection):
    """Nothing at the calm step, a minute of delay at the others."""

    def fault(self, server: str) -> Fault | None:
        return None if self.at == CALM else Fault(FaultKind.DELAYED, 60.0)


@pytest.fixture
def far(bench_with: Callable[..., Bench]) -> tuple[Bench, Injection]:
    """A pool of servers that can be moved far away."""
    injection = Far(Traces((), np.ones((0, 1))))
    injection.at = CALM
    return bench_with(injection=injection), injection


def pid(bench: Bench, connection: Any, **options: Any) -> int:
    return int(bench.call(connection, "pid", **options).content[0].text)


def test_a_delay_is_part_of_the_calls_time_and_of_connecting(network: Any, raw: Any) -> None:
    bench, injection = network(dropped=False)
    injection.at = SLOW
    first = bench.call(raw(), "echo")
    second = bench.call(raw(), "echo")
    assert (first.kind, second.kind, second.connect_s) == (OutcomeKind.OK, OutcomeKind.OK, None)
    assert first.connect_s >= 0.2  # to reach it, and at least one message of the handshake
    assert min(first.latency_s, second.latency_s) >= 0.1
    assert {first.injected, second.injected} == {"delayed by 100 ms"}
    injection.at = CALM
    assert bench.call(raw(), "echo").injected == "delayed by 1 ms"


def test_a_delayed_message_delays_no_other_and_can_be_cancelled(far: Any, raw: Any) -> None:
    bench, injection = far
    old_pid = pid(bench, raw())
    injection.at = SLOW
    cancel = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        pending = threads.submit(bench.call, raw(), "echo", cancel=cancel)
        eventually(lambda: bench.pool.states()[0].calls == 2)
        injection.at = CALM
        assert pid(bench, raw()) == old_pid  # sent later on the same session, answered first
        cancel.set()
        assert pending.result().kind is OutcomeKind.CANCELLED
    assert pid(bench, raw()) == old_pid


def test_a_dropped_connection_ends_the_process_and_the_next_call_connects_again(network: Any, raw: Any) -> None:
    bench, injection = network(dropped=True)
    old_pid = pid(bench, raw())
    injection.at = DOWN
    lost = bench.call(raw(), "echo", hints=ToolHints())
    assert (lost.kind, lost.attempts, lost.injected) == (OutcomeKind.CRASH, 1, "connection dropped")
    eventually(lambda: not running(old_pid))
    refused = bench.call(raw(), "echo")
    assert refused.kind is OutcomeKind.NOT_CONNECTED
    assert "injected network refused" in refused.error
    injection.at = CALM
    back = bench.call(raw(), "pid")
    assert back.kind is OutcomeKind.OK
    assert back.connect_s is not None
    assert int(back.content[0].text) != old_pid


def test_what_was_dropped_is_tried_again_only_where_hints_allow_it(network: Any, raw: Any) -> None:
    bench, injection = network(dropped=True)
    bench.call(raw(), "echo")
    injection.at = DOWN
    outcome = bench.call(raw(), "echo", hints=SAFE)
    assert (outcome.kind, outcome.attempts) == (OutcomeKind.NOT_CONNECTED, 2)


def test_silence_lasts_as_long_as_the_limit_and_harms_no_other_server(network: Any, raw: Any) -> None:
    bench, injection = network(dropped=False)
    old_pid, other = pid(bench, raw()), pid(bench, raw(), server="other")
    injection.at = DOWN
    silent = bench.call(raw(), "echo", timeout_s=0.3, hints=SAFE)
    assert (silent.kind, silent.attempts, silent.injected) == (OutcomeKind.TIMEOUT, 1, "no answer")
    assert silent.latency_s >= 0.3
    assert pid(bench, raw(), server="other") == other
    gone = bench.call(raw(), "echo", timeout_s=0.3)  # asked whether it lives, it is silent: a new connection is tried
    assert gone.kind is OutcomeKind.NOT_CONNECTED
    assert gone.connect_s >= 0.1
    eventually(lambda: not running(old_pid))
    injection.at = CALM
    assert bench.call(raw(), "echo").kind is OutcomeKind.OK
    assert pid(bench, raw(), server="other") == other
