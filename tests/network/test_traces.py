"""States, traces and N: seeded latencies, the past up to a moment, and the score against the spec's formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import ParameterError
from core.network import STATES
from core.network.states import Fluctuating, HighJitter, HighLatency, Ideal, Outage, PacketLoss, SlowStart, latencies_ms
from core.network.traces import CallHistory, Fault, FaultKind, Injection, Traces, Weights, network_score
from tests.cases import each

LONG = 100_000


def made(*states, steps=LONG, seed=1):
    """The latencies of states that act together, in ms."""
    return latencies_ms(states, steps, step_s=10.0, seed=np.random.SeedSequence(seed))


@each(("state", "mean", "spread"), [(Ideal(), 20, 2), (HighLatency(), 400, 20), (HighJitter(base_ms=1000), 1000, 80)])
def test_noise_has_the_mean_and_the_spread_that_are_set(state, mean, spread) -> None:
    trace_ms = made(state)
    assert trace_ms.mean() == pytest.approx(mean, rel=0.01)
    assert trace_ms.std() == pytest.approx(spread, rel=0.02)


@each("name", STATES)
def test_no_latency_is_below_1_ms(name) -> None:
    assert made(STATES[name]().replaced({"base_ms": 0.0})).min() >= 1.0


def test_the_rhythm_is_a_sine_of_its_period_and_phase() -> None:
    trace_ms = made(Fluctuating(phase=np.pi / 2), steps=361)
    assert trace_ms[0] == trace_ms[360] == pytest.approx(350)
    assert trace_ms[180] == pytest.approx(50)
    assert trace_ms[90] == pytest.approx(200)


def test_outages_have_the_share_of_time_and_the_lengths_that_are_set() -> None:
    down = made(Outage(spread_ms=0)) >= 1000
    assert down.mean() == pytest.approx(0.02 * 16.5 / (1 + 0.02 * 16.5), abs=0.01)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], down.astype(int), [0]])))
    lengths = edges[1::2] - edges[::2]
    assert lengths.min() == 3
    assert np.percentile(lengths, 95) <= 30  # two may follow each other at once
    assert set(np.unique(made(Outage(spread_ms=0)))) == {30.0, 1000.0}


def test_an_outage_is_never_shorter_than_longest() -> None:
    with pytest.raises(ParameterError, match="longest = 2 is below shortest = 3"):
        Outage(longest=2)


def test_lost_packets_are_sent_again_after_twice_as_long_each_time() -> None:
    trace_ms = made(PacketLoss(spread_ms=0, loss=0.1))
    assert sorted(set(trace_ms))[:4] == [30, 230, 630, 1430]
    assert (trace_ms > 30).mean() == pytest.approx(0.1, abs=0.005)
    assert (trace_ms > 230).mean() == pytest.approx(0.01, abs=0.002)


def test_a_slow_start_settles_and_may_come_again() -> None:
    single = made(SlowStart(spread_ms=0), steps=400)
    assert single[0] == 820
    assert single[30] == pytest.approx(20 + 800 / np.e)
    assert single[-1] == pytest.approx(20, abs=0.1)
    restarting = made(SlowStart(spread_ms=0, restarts_s=1000), steps=400)
    assert restarting[100] == restarting[0]


def test_states_add_up_and_an_outage_is_the_least_that_there_is() -> None:
    rhythm = Fluctuating()
    quiet = Outage(base_ms=0, spread_ms=0)
    rhythm_ms, total = made(rhythm, steps=2000), made(rhythm, quiet, steps=2000)
    down = total >= 1000
    assert 0 < down.mean() < 1
    assert np.array_equal(total[~down], rhythm_ms[~down])
    assert made(Ideal(spread_ms=0), HighLatency(spread_ms=0), steps=1)[0] == 420


@each("name", STATES)
def test_the_past_does_not_depend_on_how_much_follows(name) -> None:
    state = STATES[name]()
    long = made(state, Outage(start=0.3), steps=500)
    for steps in (0, 1, 7, 499):
        assert np.array_equal(made(state, Outage(start=0.3), steps=steps), long[:steps])


@each("name", [name for name in STATES if name != "fluctuating"])
def test_the_seed_decides(name) -> None:
    state = STATES[name]()
    assert np.array_equal(made(state, steps=500), made(state, steps=500))
    assert not np.array_equal(made(state, steps=500), made(state, steps=500, seed=2))


@each("name", STATES)
def test_a_state_says_what_it_is_and_comes_back_from_json(name) -> None:
    state = STATES[name]().replaced({"base_ms": 77.0})
    assert STATES[name].id == name
    assert state.title
    assert state.summary.endswith(".")
    document = state.to_json()
    assert STATES[document.pop("state")]().replaced(document) == state


OF_SERVERS = {"a": [Ideal()], "b": [HighJitter()]}


def test_a_trace_is_in_seconds_and_read_only() -> None:
    traces = Traces.of(OF_SERVERS, 1000)
    assert traces.latency_s.shape == (2, 1000)
    assert traces.latency_s[0].mean() == pytest.approx(0.02, rel=0.02)
    with pytest.raises(ValueError, match="read-only"):
        traces.latency_s[0, 0] = 0


def test_a_servers_trace_follows_from_its_name_and_the_seed_alone() -> None:
    pair, single = Traces.of(OF_SERVERS, 50, seed=3), Traces.of({"b": OF_SERVERS["b"]}, 80, seed=3)
    assert np.array_equal(pair.latency_s[1], single.latency_s[0, :50])
    assert not np.array_equal(pair.latency_s[1], Traces.of(OF_SERVERS, 50, seed=4).latency_s[1])
    twins = Traces.of({"x": [Ideal()], "y": [Ideal()]}, 50)
    assert not np.array_equal(twins.latency_s[0], twins.latency_s[1])


def test_real_calls_are_a_network_too_and_are_read_when_first_needed() -> None:
    reads = []

    def calls():
        reads.append(1)
        return [("b", 0.1), ("b", 0.2), ("b", 0.3), ("gone", 1.0)]

    history = CallHistory(("a", "b"), calls)
    assert reads == []
    recent = history.recent_s(2)
    assert np.isnan(recent[0]).all()
    assert recent[1].tolist() == [0.2, 0.3]
    history.recent_s(5)
    assert reads == [1]


STEPS = 400


def faults(seed: int, *, steps: int = STEPS, names: tuple[str, ...] = ("a", "b"), dropped_share: float = 0.5):
    """Faults of servers that are always down, step by step, in reverse order."""
    injection = Injection(Traces(names, np.ones((len(names), steps))), seed=seed, dropped_share=dropped_share)
    drawn_faults = {}
    for step in reversed(range(steps)):
        injection.at = step
        drawn_faults |= {(name, step): injection.fault(name) for name in names}
    return drawn_faults


def test_below_a_second_a_message_is_late_and_from_then_on_it_is_lost() -> None:
    injection = Injection(Traces(("a",), np.array([[0.999, 1.0]])))
    injection.at = 0
    assert injection.fault("a") == Fault(FaultKind.DELAYED, 0.999)
    injection.at = 1
    assert injection.fault("a").kind in {FaultKind.SILENT, FaultKind.DROPPED}


def test_the_kind_of_a_failure_follows_from_seed_server_and_step_alone() -> None:
    first_run, second_run = faults(1), faults(1)
    assert first_run == second_run
    assert first_run != faults(2)
    single = faults(1, steps=9, names=("b",))
    assert single == {key: first_run[key] for key in single}
    assert [first_run["a", step] for step in range(STEPS)] != [first_run["b", step] for step in range(STEPS)]


@each("share", [0.0, 0.3, 1.0])
def test_the_given_share_is_dropped(share: float) -> None:
    drawn_faults = faults(0, dropped_share=share).values()
    dropped = sum(fault.kind is FaultKind.DROPPED for fault in drawn_faults) / len(drawn_faults)
    assert dropped == pytest.approx(share, abs=0.06 if 0 < share < 1 else 0)


latencies = st.lists(st.floats(1.0, 3000.0), min_size=1, max_size=12)


def by_hand(ms: list[float], w: Weights) -> float:
    """The equations of the spec, section 3, one server."""
    if ms[-1] >= 1000:
        return -1.0
    level = ms[0]
    for x in ms[1:]:
        level = w.ewma * x + (1 - w.ewma) * level
    mean = sum(ms) / len(ms)
    k = [n - (len(ms) - 1) / 2 for n in range(len(ms))]
    squares = sum(x * x for x in k)
    slope = sum(a * (b - mean) for a, b in zip(k, ms, strict=True)) / squares if squares else 0.0
    std = (sum((x - mean) ** 2 for x in ms) / len(ms)) ** 0.5
    clip = lambda x: min(1.0, max(0.0, x))  # noqa: E731
    penalty = w.high * clip((level - 50) / 950) + w.trend * clip(slope * len(ms) / max(mean, 50))
    penalty += w.outage * sum(x >= 1000 for x in ms) / len(ms) + w.unstable * clip(std / mean)
    return 1 / (1 + max(0, level - 50) / 200) * max(0, 1 - penalty)


@given(st.lists(latencies, min_size=1, max_size=5), st.integers(12, 15))
def test_servers_with_less_history_are_scored_by_what_there_is(rows, window) -> None:
    recent = np.full((len(rows), window), np.nan)
    for row, ms in enumerate(rows):
        recent[row, window - len(ms) :] = np.array(ms) / 1e3
    weights = Weights(ewma=0.5, high=0.4, trend=0.3, outage=0.2, unstable=0.1)
    assert network_score(recent, weights) == pytest.approx([by_hand(ms, weights) for ms in rows], abs=1e-9)


def test_without_history_the_score_is_neutral() -> None:
    nothing = np.full((2, 4), np.nan)
    assert network_score(nothing).tolist() == [0.5, 0.5]
    assert network_score(nothing, neutral=0.2).tolist() == [0.2, 0.2]
    assert network_score(np.empty((0, 4))).shape == (0,)
