"""Tables I and II of the EHRR paper, to the printed digits, through one whole decision."""

import pytest

from core.domain.trace import Drop
from core.routers.ehrr import Ehrr
from tests.routers import worlds


@pytest.fixture(scope="module")
def decision():
    return Ehrr().route("a sub-task", worlds.tables_context(), worlds.table_v())


def servers(decision):
    return {row.server: row for row in map(decision.server_at, range(2))}


def tools(decision):
    return {row.tool: row for row in map(decision.tool_at, range(4))}


@pytest.mark.parametrize(
    ("server", "similarity", "cost_s", "utility", "posted_usd", "ask_usd", "feasible"),
    [("s1", 0.75, 1.78, 0.572, 0.0249, 0.010, True), ("s2", 0.85, 3.33, 0.517, 0.0351, 0.050, False)],
)
def test_table_one(decision, *, server, similarity, cost_s, utility, posted_usd, ask_usd, feasible):
    row = servers(decision)[server]
    assert row.similarity == similarity
    assert round(row.cost_s, 2) == cost_s
    assert round(row.utility, 3) == utility
    assert round(row.posted_price_usd, 4) == posted_usd
    assert row.ask_usd == ask_usd
    assert row.shortlisted
    assert row.accepted is feasible


@pytest.mark.parametrize(
    ("tool", "cost_s", "utility", "rank"), [("s1::t12", 0.94, 0.516, 1), ("s1::t13", 1.47, 0.483, 2)]
)
def test_table_two(decision, tool, cost_s, utility, rank):
    row = tools(decision)[tool]
    assert row.affordable
    assert round(row.cost_s, 2) == cost_s
    assert round(row.utility, 3) == utility
    assert row.rank == rank
    assert row.dropped_by is None


def test_who_is_dropped_and_who_wins_by_how_much(decision):
    t11 = tools(decision)["s1::t11"]
    assert (t11.affordable, t11.dropped_by, t11.rank, t11.price_usd) == (False, Drop.NOT_AFFORDABLE, None, 0.030)
    assert tools(decision)["s2::t21"].dropped_by is Drop.REJECTED
    # by hand: U12 = 0.75 - 0.25 (0.8 / 0.855 + 0.002) = 0.51558, U13 = 0.85 - 0.25 (1.1 / 0.76 + 0.020) = 0.48316
    assert decision.reason == "s1::t12 has the highest utility, 0.516, 0.032 ahead of s1::t13."
