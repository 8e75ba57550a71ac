"""What exploration takes success for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.routers.utility import LEAST_CALLS, effective_calls, optimistic, thompson
from tests.cases import each

promise = settings(derandomize=True, max_examples=40)
probability = st.floats(0.0, 1.0)


def one(value, dtype=np.float64):
    return np.array([value], dtype=dtype)


@each(("idle", "left"), [(0, 1.0), (7, 0.5), (14, 0.25)])
def test_half_is_forgotten_for_each_memory_of_outcomes(idle, left):
    known = effective_calls(one(4, int), one(idle, int), rate=0.15, memory=7)
    assert known == pytest.approx(LEAST_CALLS + 4 * left)


def test_the_memory_of_the_average_is_that_of_corollary_3():
    known = effective_calls(one(10**6, int), one(0, int), rate=0.4, memory=50)
    assert known == pytest.approx(LEAST_CALLS + (2 - 0.4) / 0.4)


@each(("p", "calls"), [(0.9, 2.0), (0.5, 14.0), (0.05, 8.0)])
def test_draws_have_the_mean_and_spread_of_the_beta_distribution(p, calls):
    drawn = thompson(np.full(40_000, p), np.full(40_000, calls), np.random.default_rng(3))
    spread = np.sqrt(p * (1 - p) / (calls + 1))
    assert drawn.mean() == pytest.approx(p, abs=4 * spread / 200)
    assert drawn.std() == pytest.approx(spread, rel=0.05)


@promise
@given(probability, st.floats(2.0, 200.0), st.integers(0, 10**6), st.floats(0.0, 3.0))
def test_the_bonus_lifts_within_one_and_shrinks_with_calls(p, calls, total, weight):
    def lifted(calls, total):
        return optimistic(one(p), one(calls), total=total, weight=weight)[0]

    assert p <= lifted(calls, total) <= 1.0
    assert lifted(calls + 1, total) <= lifted(calls, total) <= lifted(calls, total + 1)


def test_no_weight_and_no_outcome_give_no_bonus():
    assert optimistic(one(0.4), one(2.0), total=10, weight=0.0) == optimistic(one(0.4), one(2.0), total=0, weight=3.0)
    assert optimistic(one(0.4), one(2.0), total=0, weight=3.0).tolist() == [0.4]
