"""EHRR (2), the time term of (6), the posted price (4) and the answer to it (5): Lemma 1, Theorem 1, Propositions 1 to 3."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.routers.auction import accepts, affordable, posted_price
from core.routers.utility import conservative_success, expected_time_to_success
from tests.cases import each

promise = settings(derandomize=True, max_examples=40)
similarity = st.floats(0.0, 1.0)
cost_s = st.floats(0.0, 1000.0)
pricing = st.fixed_dictionaries(
    {"p_bs": st.floats(0.0001, 0.1), "p_ofs": st.floats(0.0001, 0.2), "l0_s": st.floats(0.1, 60.0)}
)
TABLE_FIVE = {"p_bs": 0.0025, "p_ofs": 0.0225, "l0_s": 1.0}
usd = st.floats(0.0, 0.5)
caps = st.one_of(st.none(), st.floats(0.0, 0.5))


def tau(sim, cost, coefficients, cap=None):
    return posted_price(np.array([sim]), np.array([cost]), **coefficients, budget_usd=cap).item()


def answer(ask, posted):
    return bool(accepts(np.array([ask]), np.array([posted]))[0])


@promise
@given(similarity, st.floats(0.1, 100.0), pricing)
def test_the_slope_of_the_posted_price_is_p_ofs_over_l0_plus_cost(sim, cost, p):
    h = 1e-4
    slope = (tau(sim, cost + h, p) - tau(sim, cost - h, p)) / (2 * h)
    assert slope == pytest.approx(p["p_ofs"] / (p["l0_s"] + cost), rel=1e-4, abs=1e-9)


@promise
@given(usd, similarity, cost_s, caps, st.booleans())
def test_accepting_exactly_when_the_ask_is_covered_is_dominant(ask, sim, cost, cap, selected):
    """Theorem 1, and Proposition 3 if there is a cap: no other bit ever pays the server more."""
    posted = tau(sim, cost, TABLE_FIVE, cap)

    def payoff(accepting):
        return posted - ask if accepting and selected else 0.0

    truthful = answer(ask, posted)
    assert payoff(truthful) >= payoff(not truthful)
    assert payoff(truthful) >= 0


@promise
@given(similarity, cost_s, caps)
def test_an_ask_of_exactly_the_posted_price_is_accepted_and_the_next_float_is_not(sim, cost, cap):
    posted = tau(sim, cost, TABLE_FIVE, cap)
    assert answer(posted, posted)
    assert not answer(np.nextafter(posted, np.inf), posted)


@promise
@given(similarity, cost_s, st.floats(0.0, 0.5))
def test_the_cap_is_never_exceeded_and_never_raises_a_price(sim, cost, cap):
    free, capped = tau(sim, cost, TABLE_FIVE), tau(sim, cost, TABLE_FIVE, cap)
    assert capped == min(free, cap)


def test_an_unpriced_tool_passes_and_a_price_of_exactly_the_posted_price_passes():
    assert affordable(np.array([np.nan, 0.02, 0.0200001]), np.full(3, 0.02)).tolist() == [True, True, False]


EPS = 1e-3
seconds = st.floats(0.0, 60.0)
probability = st.floats(0.0, 1.0)


def cost(fixed_s, call_s, success, failure):
    arrays = (np.array([x]) for x in (fixed_s, call_s, success, failure))
    return expected_time_to_success(*arrays, eps=EPS).item()


@pytest.mark.parametrize("success", [0.25, 0.7])
def test_the_mean_time_of_simulated_geometric_attempts_is_the_formula(success):
    attempts = np.random.default_rng(7).geometric((1 - 0.1) * success, size=40_000)
    times_s = (0.3 + 0.9) * attempts
    honest = 4 * times_s.std() / np.sqrt(len(times_s))
    assert cost(0.3, 0.9, success, 0.1) == pytest.approx(times_s.mean(), abs=honest)


@promise
@given(probability, st.floats(0.0, 0.25), st.floats(0.0, 0.2))
def test_more_variance_never_makes_the_conservative_success_higher(r, variance, more):
    safe, wider = conservative_success(np.array([r, r]), np.array([variance, variance + more]), eps=EPS)
    assert EPS <= wider <= safe <= max(EPS, r)


def test_a_server_that_never_succeeds_costs_its_attempt_over_eps():
    assert cost(0.5, 0.5, 0.0, 0.0) == pytest.approx(1000.0)
    assert cost(0.5, 0.5, 1.0, 1.0) == pytest.approx(1000.0)


@each(
    ("formula", "said"),
    [
        (lambda: tau(0.5, -0.1, TABLE_FIVE), "cost is negative"),
        (lambda: cost(-0.1, 1.0, 0.9, 0.0), "time is negative"),
        (lambda: cost(0.1, -1.0, 0.9, 0.0), "time is negative"),
        (lambda: conservative_success(np.array([0.9]), np.array([-0.01]), eps=EPS), "variance is negative"),
    ],
)
def test_a_negative_figure_is_refused(formula, said):
    with pytest.raises(ValueError, match=said):
        formula()
