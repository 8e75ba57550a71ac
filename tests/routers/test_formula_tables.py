"""Tables I and II of the EHRR paper, formula by formula, to the printed digits."""

import numpy as np
import pytest

from core.routers.auction import accepts, affordable, posted_price
from core.routers.utility import attempt_success, conservative_success, expected_time_to_success, money_cost, utility

PRICING = {"p_bs": 0.0025, "p_ofs": 0.0225, "l0_s": 1.0}
SERVER_SIMILARITY = np.array([0.75, 0.85])


@pytest.fixture
def server_cost_s():
    return expected_time_to_success(
        np.array([0.3, 0.6]), np.array([0.9, 0.6]), np.array([0.709, 0.45]), np.array([0.05, 0.20]), eps=1e-3
    )


@pytest.fixture
def tool_cost_s():
    success = attempt_success(np.array([0.90, 0.80]), np.array([0.05, 0.05]), eps=1e-3)
    time_s = expected_time_to_success(
        np.array([0.3, 0.3]), np.array([0.5, 0.8]), np.array([0.90, 0.80]), np.array([0.05, 0.05]), eps=1e-3
    )
    return time_s + money_cost(np.array([0.002, 0.020]), success, kappa=1.0, per_attempt=False)


def test_table_one_cost(server_cost_s):
    assert server_cost_s.round(2).tolist() == [1.78, 3.33]


def test_table_one_utility(server_cost_s):
    assert utility(SERVER_SIMILARITY, server_cost_s, alpha=0.1).round(3).tolist() == [0.572, 0.517]


def test_table_one_posted_price(server_cost_s):
    assert posted_price(SERVER_SIMILARITY, server_cost_s, **PRICING).round(4).tolist() == [0.0249, 0.0351]


def test_table_one_feasible(server_cost_s):
    posted = posted_price(SERVER_SIMILARITY, server_cost_s, **PRICING)
    assert accepts(np.array([0.010, 0.050]), posted).tolist() == [True, False]


def test_table_two_affordable(server_cost_s):
    posted = posted_price(SERVER_SIMILARITY, server_cost_s, **PRICING)[0]
    assert affordable(np.array([0.030, 0.002, 0.020]), np.full(3, posted)).tolist() == [False, True, True]


def test_table_two_cost(tool_cost_s):
    assert tool_cost_s.round(2).tolist() == [0.94, 1.47]


def test_table_two_utility(tool_cost_s):
    assert utility(np.array([0.75, 0.85]), tool_cost_s, alpha=0.25).round(3).tolist() == [0.516, 0.483]


def test_conservative_success_is_kept_above_zero():
    safe = conservative_success(np.array([0.8, 0.1]), np.array([0.091**2, 0.25]), eps=1e-3)
    assert safe.round(3).tolist() == [0.709, 0.001]
