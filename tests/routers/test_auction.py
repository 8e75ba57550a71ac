"""Proposition 2, Theorem 1, Corollary 2 and Proposition 3: the posted price and the answer to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.routers.auction import accepts, affordable, posted_price

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
@given(st.floats(0.0, 0.9), cost_s, pricing)
def test_the_posted_price_rises_with_similarity(sim, cost, p):
    assert tau(sim + 0.1, cost, p) - tau(sim, cost, p) == pytest.approx(0.1 * p["p_bs"], abs=1e-12)


@promise
@given(similarity, st.floats(0.1, 100.0), pricing)
def test_the_slope_of_the_posted_price_is_p_ofs_over_l0_plus_cost(sim, cost, p):
    h = 1e-4
    slope = (tau(sim, cost + h, p) - tau(sim, cost - h, p)) / (2 * h)
    assert slope == pytest.approx(p["p_ofs"] / (p["l0_s"] + cost), rel=1e-4, abs=1e-9)


def test_the_logarithm_is_the_natural_one_and_starts_at_the_base_price():
    assert tau(0.5, 0.0, TABLE_FIVE) == pytest.approx(0.00125)
    assert tau(0.0, np.e - 1, TABLE_FIVE) == pytest.approx(0.0225)


@promise
@given(usd, similarity, cost_s, caps, st.booleans())
def test_accepting_exactly_when_the_ask_is_covered_is_dominant(ask, sim, cost, cap, selected):
    """Theorem 1, and Proposition 3 where there is a cap: no other bit ever pays the server more."""
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


def test_a_cap_of_zero_is_a_cap():
    assert tau(0.9, 5.0, TABLE_FIVE, 0.0) == 0.0


def test_a_server_without_an_ask_accepts_and_an_endless_ask_is_refused():
    assert accepts(np.array([np.nan, np.inf, 0.0]), np.array([0.0, 9.0, 0.0])).tolist() == [True, False, True]


def test_an_unpriced_tool_passes_and_a_price_of_exactly_the_posted_price_passes():
    assert affordable(np.array([np.nan, 0.02, 0.0200001]), np.full(3, 0.02)).tolist() == [True, True, False]


def test_a_negative_cost_is_refused():
    with pytest.raises(ValueError, match="cost is negative"):
        tau(0.5, -0.1, TABLE_FIVE)
