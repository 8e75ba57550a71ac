"""Headroom: at the given figure the utilities are equal, beyond it the tool loses."""

import math
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.routers.utility import headroom

EPS = 1e-3
promise = settings(derandomize=True, max_examples=40)


class Case(NamedTuple):
    similarity: float
    fixed_s: float
    latency_s: float
    success: float
    post_accept_failure: float
    price_usd: float
    alpha_t: float
    kappa: float
    per_attempt: bool


cases = st.builds(
    Case,
    st.floats(0.0, 1.0),
    st.floats(0.0, 2.0),
    st.floats(0.01, 5.0),
    st.floats(0.05, 1.0),
    st.floats(0.0, 0.9),
    st.floats(0.0, 0.1),
    st.floats(0.01, 2.0),
    st.floats(0.1, 100.0),
    st.booleans(),
)


def utility_of(case):
    """EHRR (6) and (7), written out."""
    beta = max(EPS, (1 - case.post_accept_failure) * case.success)
    money = case.kappa * case.price_usd / (beta if case.per_attempt else 1)
    return case.similarity - case.alpha_t * ((case.fixed_s + case.latency_s) / beta + money)


def headroom_of(case, to_beat, posted_usd=1e9):
    return headroom(**case._asdict(), to_beat=to_beat, posted_usd=posted_usd, eps=EPS)


def check(case, field, value, *, best, worse, to_beat):
    """`value` makes the utilities equal, a little worse loses; NaN only where the best possible figure loses."""
    close = 1e-9 * (1 + abs(to_beat))
    if math.isnan(value):
        assert utility_of(case._replace(**{field: best})) < to_beat + close
        return
    assert utility_of(case._replace(**{field: value})) == pytest.approx(to_beat, abs=close)
    assert utility_of(case._replace(**{field: worse(value)})) < to_beat


@pytest.mark.parametrize("field", ["price_usd", "latency_s"])
@promise
@given(cases, st.floats(-0.5, 0.5))
def test_at_the_price_or_latency_the_utilities_are_equal_and_more_of_it_loses(field, case, lead):
    to_beat = utility_of(case) - lead
    value = getattr(headroom_of(case, to_beat), field)
    check(case, field, value, best=0.0, worse=lambda x: x * 1.01 + 0.01, to_beat=to_beat)


@promise
@given(cases, st.floats(-0.5, 0.5))
def test_at_the_success_the_utilities_are_equal_and_less_reliable_loses(case, lead):
    to_beat = utility_of(case) - lead
    success = headroom_of(case, to_beat).success
    if success * (1 - case.post_accept_failure) > 2 * EPS or math.isnan(success):
        check(case, "success", success, best=1.0, worse=lambda r: r * 0.98, to_beat=to_beat)


@promise
@given(cases, st.floats(0.0, 0.5))
def test_a_leader_has_headroom_in_every_figure(case, lead):
    room = headroom_of(case, utility_of(case) - lead - 1e-6)
    assert room.price_usd >= case.price_usd
    assert room.latency_s >= case.latency_s
    assert room.success <= case.success


@promise
@given(cases, st.floats(0.0, 0.5), st.floats(0.0, 0.05))
def test_the_price_never_exceeds_the_posted_price(case, lead, posted):
    assert headroom_of(case, utility_of(case) - lead - 1e-6, posted).price_usd <= posted


def test_table_two_by_hand():
    # t13 against t12: 0.85 - 0.25 (1.1 / (0.95 r) + 0.02) = 0.51558 gives r = 0.8782; l: 0.6971 s; the price stays
    t13 = Case(0.85, 0.3, 0.8, 0.80, 0.05, 0.020, 0.25, 1.0, per_attempt=False)
    room = headroom_of(t13, 0.515581871, posted_usd=0.0249)
    assert room.success == pytest.approx(1.1 / ((0.85 - 0.515581871) / 0.25 - 0.02) / 0.95)
    assert room.latency_s == pytest.approx(((0.85 - 0.515581871) / 0.25 - 0.02) * 0.76 - 0.3)
    assert math.isnan(room.price_usd)  # even for nothing t13 would lose


def test_what_cannot_be_reached_is_nan_in_every_figure():
    room = headroom_of(Case(0.1, 1.0, 1.0, 0.9, 0.0, 0.0, 0.5, 1.0, per_attempt=False), 0.9)
    assert all(math.isnan(x) for x in (room.price_usd, room.latency_s, room.success))


def test_without_a_weight_on_cost_a_leader_may_be_as_slow_and_unreliable_as_it_likes():
    case = Case(0.9, 0.3, 0.5, 0.9, 0.05, 0.002, 0.0, 1.0, per_attempt=False)
    room = headroom_of(case, 0.8)
    assert (room.latency_s, room.success) == (None, None)


LEADER = Case(0.75, 0.3, 0.5, 0.9, 0.05, 0.002, 0.25, 1.0, per_attempt=False)  # t12 of Table II


def test_without_a_weight_on_cost_the_posted_price_still_bounds_the_price():
    assert headroom_of(LEADER._replace(alpha_t=0.0), 0.5, posted_usd=0.0249).price_usd == 0.0249


def test_without_a_weight_on_cost_a_less_similar_tool_can_reach_nothing():
    room = headroom_of(LEADER._replace(alpha_t=0.0), 0.8)
    assert all(x is not None and math.isnan(x) for x in (room.price_usd, room.latency_s, room.success))


def test_a_price_that_counts_for_nothing_and_meets_no_auction_is_without_limit():
    assert headroom_of(LEADER._replace(kappa=0.0), 0.5, posted_usd=math.inf).price_usd is None


def test_a_tool_that_leads_even_at_the_floor_may_fail_always():
    # at the floor 0.001 the cost is 0.8 / 0.001 + 0.002 = 800.002 s: U = 0.75 - 0.0005 * 800.002 = 0.35
    assert headroom_of(LEADER._replace(alpha_t=0.0005), 0.3).success == 0.0
