"""Lemma 1, Corollary 1 and Proposition 1: expected time to success, EHRR (2) and the time term of (6)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.routers.utility import attempt_success, conservative_success, expected_time_to_success, money_cost

EPS = 1e-3
promise = settings(derandomize=True, max_examples=40)
seconds = st.floats(0.0, 60.0)
probability = st.floats(0.0, 1.0)
step = st.floats(0.01, 10.0)


def cost(fixed_s, call_s, success, failure):
    arrays = (np.array([x]) for x in (fixed_s, call_s, success, failure))
    return expected_time_to_success(*arrays, eps=EPS).item()


def tool_cost(figures, price_usd, *, kappa, per_attempt):
    """EHRR (6) of one tool; `figures` are fixed time, latency, success and post-accept failure."""
    _, _, success, failure = figures
    beta = attempt_success(np.array([success]), np.array([failure]), eps=EPS)
    money = money_cost(np.array([price_usd]), beta, kappa=kappa, per_attempt=per_attempt)
    return cost(*figures) + money.item()


@pytest.mark.parametrize("success", [0.25, 0.7])
def test_the_mean_time_of_simulated_geometric_attempts_is_the_formula(success):
    attempts = np.random.default_rng(7).geometric((1 - 0.1) * success, size=40_000)
    seen = (0.3 + 0.9) * attempts
    honest = 4 * seen.std() / np.sqrt(len(seen))
    assert cost(0.3, 0.9, success, 0.1) == pytest.approx(seen.mean(), abs=honest)


@promise
@given(seconds, seconds, probability, st.floats(0.0, 0.99), step)
def test_a_slower_call_never_costs_less_and_the_rise_is_the_extra_time_over_beta(g, call, r, failure, more):
    rise = cost(g, call + more, r, failure) - cost(g, call, r, failure)
    assert rise == pytest.approx(more / max(EPS, (1 - failure) * r), rel=1e-6)
    assert rise > 0


@promise
@given(st.floats(0.01, 60.0), seconds, st.floats(0.05, 0.9), st.floats(0.0, 0.9), st.floats(0.01, 0.1))
def test_a_more_reliable_call_costs_strictly_less(g, call, r, failure, better):
    assert cost(g, call, r + better, failure) < cost(g, call, r, failure)


@promise
@given(probability, st.floats(0.0, 0.25), st.floats(0.0, 0.2))
def test_more_variance_never_makes_the_conservative_success_higher(r, variance, more):
    safe, wider = conservative_success(np.array([r, r]), np.array([variance, variance + more]), eps=EPS)
    assert EPS <= wider <= safe <= max(EPS, r)


def test_billing_per_attempt_multiplies_the_price_by_the_expected_attempts():
    assert tool_cost((0.3, 0.7, 0.5, 0.0), 0.02, kappa=1.0, per_attempt=False) == pytest.approx(2.0 + 0.02)
    assert tool_cost((0.3, 0.7, 0.5, 0.0), 0.02, kappa=1.0, per_attempt=True) == pytest.approx(2.0 + 0.04)


@pytest.mark.parametrize(("fixed_s", "call_s"), [(-0.1, 1.0), (0.1, -1.0)])
def test_a_negative_time_is_refused(fixed_s, call_s):
    with pytest.raises(ValueError, match="time is negative"):
        cost(fixed_s, call_s, 0.9, 0.0)


def test_a_negative_variance_is_refused():
    with pytest.raises(ValueError, match="variance is negative"):
        conservative_success(np.array([0.9]), np.array([-0.01]), eps=EPS)


def test_a_server_that_never_succeeds_costs_its_attempt_over_eps():
    assert cost(0.5, 0.5, 0.0, 0.0) == pytest.approx(1000.0)
    assert cost(0.5, 0.5, 1.0, 1.0) == pytest.approx(1000.0)
