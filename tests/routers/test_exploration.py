"""Exploration in EHRR: off by default; reproducible, every equation holds with the success that is shown; its draws and bonuses."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Server
from core.domain.decision import Decision
from core.domain.events import OutcomeEvent
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.projection import StatisticsProjection
from core.routers.utility import optimistic
from core.routers.why import why_server, why_tool
from tests.cases import each
from tests.contracts.checks import same
from tests.routers import worlds

WAYS = ["thompson", "optimism"]
AT = datetime(2026, 1, 1, tzinfo=UTC)


def outcome(server: str, kind: str) -> OutcomeEvent:
    return OutcomeEvent("1", AT, None, "c", server, "do", kind, 0.5, None, 1, None, False, "", "lab")


def learnt(context, *outcomes: tuple[str, str]):
    """The routing context after some calls."""
    projection = StatisticsProjection(context.catalog)
    for server, kind in outcomes:
        projection.observe(outcome(server, kind))
    return replace(context, statistics=projection.snapshot())


@pytest.fixture
def context():
    """Four equal servers; s0 fits a little better and has failed five times in a row."""
    servers = [
        Server(f"s{row}", conn_s=0.1 * row, call_s=0.4, success=0.9, post_accept_failure=0.05, ask_usd=0.001,
               tools=(worlds.tool("do", latency_s=0.4, success=0.9, price_usd=0.001 * row), worlds.tool("other", latency_s=0.2)))
        for row in range(4)
    ]  # fmt: skip
    catalog = worlds.catalog(*servers)
    fits = {f"s{row}::{tool}": 0.8 - 0.02 * row - (tool == "other") / 4 for row in range(4) for tool in ("do", "other")}
    unlearnt = worlds.context(catalog, {f"s{row}": 0.8 - 0.02 * row for row in range(4)}, fits)
    return learnt(unlearnt, *[("s0", "ok")] * 30, *[("s0", "crash")] * 5, *[("s1", "ok")] * 40)


def routed(context, query="x", **parameters) -> Decision:
    return Ehrr().route(query, context, worlds.table_v(**parameters))


def test_off_is_the_default_and_its_other_knobs_then_do_nothing(context):
    plain = routed(context)
    assert EhrrParameters().exploration == "none"
    assert plain.explored is None
    unexplored = routed(context, explore_seed=7, explore_memory=3, optimism=1.0)
    assert same(replace(unexplored, parameters=plain.parameters), plain)
    assert Ehrr().event(plain) == {}


def test_draws_depend_on_the_seed_and_on_the_version_and_on_nothing_else(context):
    def draws(context, query="x", seed=4, **parameters):
        decision = routed(context, query, exploration="thompson", explore_seed=seed, **parameters)
        return np.concatenate([decision.servers.success, decision.servers.post_accept_failure, decision.tools.success])

    draw = draws(context)
    assert np.array_equal(draw, draws(context, "another question", k=1, n=1, alpha_t=1.0))
    assert not np.array_equal(draw, draws(context, seed=5))
    newer = replace(context, statistics=replace(context.statistics, version=context.statistics.version + 1))
    assert not np.array_equal(draw, draws(newer))


@each("way", WAYS)
@each("billing", ["per_call", "per_attempt"])
def test_every_shown_number_satisfies_the_equations_with_the_success_shown(context, way, billing):
    decision = routed(context, exploration=way, explore_seed=2, billing=billing, kappa=20.0)
    p, s, t = EhrrParameters().replaced(decision.parameters), decision.servers, decision.tools
    cost_s = (s.fixed_s + s.call_s) / np.maximum(p.eps, (1 - s.post_accept_failure) * s.success)
    assert s.cost_s == pytest.approx(cost_s)
    assert s.utility == pytest.approx(s.similarity - p.alpha_s * s.cost_s)
    assert s.posted_price_usd == pytest.approx(p.p_bs * s.similarity + p.p_ofs * np.log1p(s.cost_s / p.l0_s))
    assert t.time_cost_s == pytest.approx((s.fixed_s[t.server_row] + t.latency_s) / t.success)
    paid = np.nan_to_num(t.price_usd) * p.kappa / (t.success if billing == "per_attempt" else 1.0)
    assert t.money_cost_s == pytest.approx(paid)
    assert t.utility == pytest.approx(t.similarity - p.alpha_t * (t.time_cost_s + t.money_cost_s))
    assert list(decision.candidates) == sorted(decision.candidates, key=lambda row: -t.utility[row])


@pytest.mark.parametrize("way", WAYS)
def test_the_decision_says_what_was_gone_by_and_what_the_figures_say(context, way):
    plain, explored = routed(context), routed(context, exploration=way, explore_seed=2)
    assert np.array_equal(explored.explored.server_estimate, plain.servers.success)
    assert np.array_equal(explored.explored.tool_estimate, plain.tools.success)
    event = json.loads(json.dumps(Ehrr().event(explored), allow_nan=False))
    assert event["exploration"] == way
    name, row = "s0::do", explored.tools.ids.index("s0::do")
    assert event["success"][name] == {
        "used": explored.tools.success[row], "estimate": plain.tools.success[row],
    }  # fmt: skip
    assert event["success"]["s0"]["estimate"] == plain.servers.success[0]
    note = {
        "thompson": "Success was drawn (Thompson, seed 2).",
        "optimism": "Success was taken with a bonus (optimism, c 0.3).",
    }
    assert explored.reason.endswith(note[way])
    assert "Success" not in plain.reason
    words = {"thompson": "drawn as", "optimism": "taken, with a bonus, as"}[way]
    for explained, unexplained in ((why_tool(explored, row), why_tool(plain, row)), (why_server(explored, 0), why_server(plain, 0))):  # fmt: skip
        assert f"Its success was {words}" in explained
        assert explained.endswith(".")
        assert "Its success was" not in unexplained


def test_a_server_that_failed_is_passed_over_without_exploration_and_tried_again_with_it(context):
    idle = learnt(context, *[("s0", "ok")] * 30, *[("s0", "crash")] * 5, *[("s1", "ok")] * 400)
    for k in (1, 4):  # only the server layer, and only the tool layer
        assert routed(context, k=k).winner.server == routed(idle, k=k).winner.server == "s1"
        assert routed(idle, k=k, exploration="optimism").winner.server == "s0"
        winners = [routed(idle, k=k, exploration="thompson", explore_seed=seed).winner.server for seed in range(300)]
        assert 0 < winners.count("s0") < winners.count("s1")


@each("way", WAYS)
@each("declared", [0.0, 1.0, float("nan")])
def test_figures_at_the_ends_and_unusable_ones_do(way, declared):
    server = Server(
        "a", success=declared, post_accept_failure=declared, success_variance=declared,
        tools=(worlds.tool("x", success=declared),),
    )  # fmt: skip
    decision = routed(worlds.context(worlds.catalog(server), {"a": 0.8}, {"a::x": 0.8}), exploration=way)
    assert decision.winner.tool == "a::x"
    assert np.isfinite(decision.tools.utility).all()
    assert (decision.servers.success >= 1e-3).all()


@pytest.mark.parametrize("way", WAYS)
def test_an_empty_catalog_has_nothing_to_explore(way):
    decision = routed(worlds.context(worlds.catalog(), {}, {}), exploration=way)
    assert decision.winner is None
    assert Ehrr().event(decision)["success"] == {}


promise = settings(derandomize=True, max_examples=40)
probability = st.floats(0.0, 1.0)


def one(value, dtype=np.float64):
    return np.array([value], dtype=dtype)


@promise
@given(probability, st.floats(2.0, 200.0), st.integers(0, 10**6), st.floats(0.0, 3.0))
def test_the_bonus_lifts_within_one_and_shrinks_with_calls(p, calls, total, weight):
    def lifted(calls, total):
        return optimistic(one(p), one(calls), total=total, weight=weight)[0]

    assert p <= lifted(calls, total) <= 1.0
    assert lifted(calls + 1, total) <= lifted(calls, total) <= lifted(calls, total + 1)
