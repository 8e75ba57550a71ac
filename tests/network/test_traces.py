"""Traces and how they are read: up to a moment, and never beyond."""

import numpy as np
import pytest

from core.network.states import HighJitter, Ideal
from core.network.traces import CallHistory, Traces, TraceView

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


def test_history_ends_at_the_given_step() -> None:
    traces = Traces.of(STATES, 20)
    assert np.array_equal(traces.history_s(7), traces.latency_s[:, :8])
    assert np.array_equal(traces.history_s(7, 3), traces.latency_s[:, 5:8])
    view = TraceView(traces, 7)
    assert np.array_equal(view.recent_s(3), traces.latency_s[:, 5:8])
    view.at = 9
    assert np.array_equal(view.recent_s(3), traces.latency_s[:, 7:10])


def test_where_history_is_short_it_is_missing_at_the_front() -> None:
    recent = Traces.of(STATES, 20).history_s(1, 4)
    assert np.isnan(recent[:, :2]).all()
    assert not np.isnan(recent[:, 2:]).any()


def test_no_server_and_no_step_are_no_error() -> None:
    assert Traces.of({}, 5).latency_s.shape == (0, 5)
    assert Traces.of(STATES, 0).latency_s.shape == (2, 0)


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
