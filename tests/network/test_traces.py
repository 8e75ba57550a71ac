"""Traces and how they are read, up to a moment and never beyond; the faults that they make of messages."""

import numpy as np
import pytest

from core.network.states import HighJitter, Ideal
from core.network.traces import CallHistory, Fault, FaultKind, Injection, Traces
from tests.cases import each

STATES = {"a": [Ideal()], "b": [HighJitter()]}


def test_a_trace_is_in_seconds_and_read_only() -> None:
    traces = Traces.of(STATES, 1000)
    assert traces.latency_s.shape == (2, 1000)
    assert traces.latency_s[0].mean() == pytest.approx(0.02, rel=0.02)
    with pytest.raises(ValueError, match="read-only"):
        traces.latency_s[0, 0] = 0


def test_a_servers_trace_follows_from_its_name_and_the_seed_alone() -> None:
    both, alone = Traces.of(STATES, 50, seed=3), Traces.of({"b": STATES["b"]}, 80, seed=3)
    assert np.array_equal(both.latency_s[1], alone.latency_s[0, :50])
    assert not np.array_equal(both.latency_s[1], Traces.of(STATES, 50, seed=4).latency_s[1])
    twins = Traces.of({"x": [Ideal()], "y": [Ideal()]}, 50)
    assert not np.array_equal(twins.latency_s[0], twins.latency_s[1])


def test_real_calls_are_a_network_too_and_are_read_when_first_needed() -> None:
    asked = []

    def calls():
        asked.append(1)
        return [("b", 0.1), ("b", 0.2), ("b", 0.3), ("gone", 1.0)]

    history = CallHistory(("a", "b"), calls)
    assert asked == []
    recent = history.recent_s(2)
    assert np.isnan(recent[0]).all()
    assert recent[1].tolist() == [0.2, 0.3]
    history.recent_s(5)
    assert asked == [1]


STEPS = 400


def faults(seed: int, *, steps: int = STEPS, names: tuple[str, ...] = ("a", "b"), dropped_share: float = 0.5):
    """Of servers that are always down, step by step; the order of asking is turned round."""
    injection = Injection(Traces(names, np.ones((len(names), steps))), seed=seed, dropped_share=dropped_share)
    found = {}
    for at in reversed(range(steps)):
        injection.at = at
        found |= {(name, at): injection.fault(name) for name in names}
    return found


def test_below_a_second_a_message_is_late_and_from_then_on_it_is_lost() -> None:
    injection = Injection(Traces(("a",), np.array([[0.999, 1.0]])))
    injection.at = 0
    assert injection.fault("a") == Fault(FaultKind.DELAYED, 0.999)
    injection.at = 1
    assert injection.fault("a").kind in {FaultKind.SILENT, FaultKind.DROPPED}


def test_the_kind_of_a_failure_follows_from_seed_server_and_step_alone() -> None:
    one, same = faults(1), faults(1)
    assert one == same
    assert one != faults(2)
    alone = faults(1, steps=9, names=("b",))
    assert alone == {key: one[key] for key in alone}
    assert [one["a", at] for at in range(STEPS)] != [one["b", at] for at in range(STEPS)]


@each("share", [0.0, 0.3, 1.0])
def test_the_given_share_is_dropped(share: float) -> None:
    found = faults(0, dropped_share=share).values()
    dropped = sum(fault.kind is FaultKind.DROPPED for fault in found) / len(found)
    assert dropped == pytest.approx(share, abs=0.06 if 0 < share < 1 else 0)
