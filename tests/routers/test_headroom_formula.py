"""Headroom: at the given figure the utilities are equal, beyond it the tool loses."""

import math
from typing import NamedTuple

import pytest

from core.routers.utility import headroom

EPS = 1e-3


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


def headroom_of(case, to_beat, posted_usd=1e9):
    return headroom(**case._asdict(), to_beat=to_beat, posted_usd=posted_usd, eps=EPS)


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
