"""The network states: their latencies, the floor, determinism, and that the past does not depend on how many steps follow."""

import numpy as np
import pytest

from core.domain.errors import ParameterError
from core.network import STATES
from core.network.states import Fluctuating, HighJitter, HighLatency, Ideal, Outage, PacketLoss, SlowStart, latencies_ms
from tests.cases import each

LONG = 100_000


def made(*states, steps=LONG, seed=1):
    """The latencies of states that act together, in ms."""
    return latencies_ms(states, steps, step_s=10.0, seed=np.random.SeedSequence(seed))


@each(("state", "mean", "spread"), [(Ideal(), 20, 2), (HighLatency(), 400, 20), (HighJitter(base_ms=1000), 1000, 80)])
def test_noise_has_the_mean_and_the_spread_that_are_set(state, mean, spread) -> None:
    found = made(state)
    assert found.mean() == pytest.approx(mean, rel=0.01)
    assert found.std() == pytest.approx(spread, rel=0.02)


@each("name", STATES)
def test_no_latency_is_below_1_ms(name) -> None:
    assert made(STATES[name]().replaced({"base_ms": 0.0})).min() >= 1.0


def test_the_rhythm_is_a_sine_of_its_period_and_phase() -> None:
    found = made(Fluctuating(phase=np.pi / 2), steps=361)
    assert found[0] == found[360] == pytest.approx(350)
    assert found[180] == pytest.approx(50)
    assert found[90] == pytest.approx(200)


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
    found = made(PacketLoss(spread_ms=0, loss=0.1))
    assert sorted(set(found))[:4] == [30, 230, 630, 1430]
    assert (found > 30).mean() == pytest.approx(0.1, abs=0.005)
    assert (found > 230).mean() == pytest.approx(0.01, abs=0.002)


def test_a_slow_start_settles_and_may_come_again() -> None:
    once = made(SlowStart(spread_ms=0), steps=400)
    assert once[0] == 820
    assert once[30] == pytest.approx(20 + 800 / np.e)
    assert once[-1] == pytest.approx(20, abs=0.1)
    again = made(SlowStart(spread_ms=0, restarts_s=1000), steps=400)
    assert again[100] == again[0]


def test_states_add_up_and_an_outage_is_the_least_that_there_is() -> None:
    rhythm = Fluctuating()
    quiet = Outage(base_ms=0, spread_ms=0)
    alone, both = made(rhythm, steps=2000), made(rhythm, quiet, steps=2000)
    down = both >= 1000
    assert 0 < down.mean() < 1
    assert np.array_equal(both[~down], alone[~down])
    assert made(Ideal(spread_ms=0), HighLatency(spread_ms=0), steps=1)[0] == 420


@each("name", STATES)
def test_the_past_does_not_depend_on_how_much_follows(name) -> None:
    state = STATES[name]()
    whole = made(state, Outage(start=0.3), steps=500)
    for steps in (0, 1, 7, 499):
        assert np.array_equal(made(state, Outage(start=0.3), steps=steps), whole[:steps])


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
