"""EHRR (8), Lemma 2 and Corollary 3."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.routers.ema import Rates, Running, ema

promise = settings(derandomize=True, max_examples=60)
probability = st.floats(0.0, 1.0)
rate = st.floats(0.01, 0.99)
START = Running(success=0.9, success_variance=0.01, post_accept_failure=0.02, call_s=1.0, conn_s=0.3)


def every_path(start, smoothing, p, steps):
    """x_t of every sequence of `steps` Bernoulli(p) outcomes with its probability: the exact distribution."""
    for outcomes in product((0, 1), repeat=steps):
        x, chance = start, 1.0
        for z in outcomes:
            x, chance = ema(x, z, smoothing), chance * (p if z else 1 - p)
        yield x, chance


@promise
@given(probability, rate, probability, st.integers(0, 7))
def test_lemma_2_the_mean_error_decays_geometrically(start, smoothing, p, steps):
    mean = sum(x * chance for x, chance in every_path(start, smoothing, p, steps))
    assert mean == pytest.approx(p + (1 - smoothing) ** steps * (start - p), abs=1e-9)


@promise
@given(probability, rate, probability, st.integers(1, 7))
def test_lemma_2_the_variance_after_t_steps_is_the_solved_recursion(start, smoothing, p, steps):
    mean = sum(x * chance for x, chance in every_path(start, smoothing, p, steps))
    variance = sum((x - mean) ** 2 * chance for x, chance in every_path(start, smoothing, p, steps))
    limit = smoothing / (2 - smoothing) * p * (1 - p)
    assert variance == pytest.approx(limit * (1 - (1 - smoothing) ** (2 * steps)), abs=1e-9)


def test_one_call_by_hand():
    after = START.after(y=True, latency_s=3.0, fail=False, connect_s=0.5, rates=Rates(0.1, 0.2, 0.3, 0.4))
    assert after.success == pytest.approx(0.9 * 0.9 + 0.1)
    assert after.success_variance == pytest.approx(0.8 * 0.01 + 0.2 * (1 - 0.9) ** 2)
    assert after.post_accept_failure == pytest.approx(0.7 * 0.02)
    assert after.call_s == pytest.approx(0.6 * 1.0 + 0.4 * 3.0)
    assert after.conn_s == pytest.approx(0.6 * 0.3 + 0.4 * 0.5)
    assert (after.calls, after.connects) == (1, 1)


def test_a_connection_that_took_no_time_is_a_connection():
    after = START.after(y=True, latency_s=1.0, fail=False, connect_s=0.0, rates=Rates())
    assert after.conn_s == pytest.approx(0.85 * 0.3)
    assert after.connects == 1
