"""Exact curves against routing again: what a line, an interval or a headroom says is what the router does there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Server
from core.domain.decision import Decision
from core.lab import curves
from core.routers.ehrr import Ehrr, EhrrParameters
from tests.cases import each
from tests.routers import worlds

SEEDS = st.integers(0, 10_000)
BILLING = st.sampled_from(["per_call", "per_attempt"])
NUDGE = 1e-6
promise = settings(deadline=None, derandomize=True, max_examples=40)


class World:
    """Four servers with three tools each, figures drawn from a seed; asks low enough for most to accept."""

    def __init__(self, seed: int, **parameters) -> None:
        rng = np.random.default_rng(seed)
        self.parameters = {"kappa": 12.0, "alpha_t": 0.2, **parameters}
        self.catalog = worlds.catalog(*(_server(rng, f"s{n}") for n in range(4)))
        self.similarity = {t.id: float(rng.uniform(0.2, 0.9)) for t in self.catalog.tools}
        self.servers = {s.name: float(rng.uniform(0.2, 0.9)) for s in self.catalog.servers}

    def decide(self, catalog: Catalog | None = None, **parameters) -> Decision:
        context = worlds.context(catalog or self.catalog, self.servers, self.similarity)
        chosen = worlds.table_v(**{**self.parameters, **parameters})
        return Ehrr().route("anything", context, chosen)

    def winner(self, **parameters) -> str:
        return self.decide(**parameters).winner.tool

    def with_tool(self, tool: str, **figures) -> Catalog:
        """The catalog with other figures of one tool."""
        return replace(self.catalog, servers=tuple(_changed(server, tool, figures) for server in self.catalog.servers))


def _server(rng: np.random.Generator, name: str) -> Server:
    tools = tuple(
        worlds.tool(
            f"t{n}",
            latency_s=float(rng.uniform(0.1, 2.0)),
            success=float(rng.uniform(0.5, 1.0)),
            price_usd=float(rng.uniform(0.0, 0.02)),
        )
        for n in range(3)
    )
    return Server(
        name, name, ask_usd=0.001, conn_s=float(rng.uniform(0.1, 0.5)), call_s=1.0, success=0.9,
        post_accept_failure=float(rng.uniform(0.0, 0.2)), tools=tools,
    )  # fmt: skip


def _changed(server: Server, tool: str, figures: dict[str, float]) -> Server:
    return replace(server, tools=tuple(replace(t, **figures) if t.id == tool else t for t in server.tools))


@promise
@given(seed=SEEDS, axis=st.sampled_from(curves.AXES), billing=BILLING, share=st.floats(0.0, 1.0))
def test_a_line_is_the_utility_that_the_router_computes_there(seed, axis, billing, share) -> None:
    world = World(seed, billing=billing)
    lines = curves.utility_lines(world.decide(), axis)
    x = lines.low + share * (lines.high - lines.low)
    there = world.decide(**{axis: x})
    utilities = dict(zip(there.tools.ids, there.tools.utility, strict=True))
    expected = [utilities[tool] for tool in lines.tools]
    assert (lines.intercept - lines.slope * x).tolist() == pytest.approx(expected, abs=1e-9)


@promise
@given(seed=SEEDS, axis=st.sampled_from(curves.AXES), billing=BILLING)
def test_the_winner_holds_inside_its_interval_and_another_wins_just_outside(seed, axis, billing) -> None:
    world = World(seed, billing=billing)
    lines = curves.utility_lines(world.decide(), axis)
    winner, winner_interval = lines.tools[0], lines.winner_interval
    assert world.winner() == winner
    assert lines.low <= winner_interval.low <= lines.current <= winner_interval.high <= lines.high
    inside = np.linspace(winner_interval.low, winner_interval.high, 5) + np.array([NUDGE, 0, 0, 0, -NUDGE]) * (
        winner_interval.high - winner_interval.low
    )
    assert {world.winner(**{axis: float(x)}) for x in inside} == {winner}
    if winner_interval.above is not None:
        assert world.winner(**{axis: winner_interval.high + NUDGE}) == lines.tools[winner_interval.above]
    if winner_interval.below is not None:
        assert world.winner(**{axis: winner_interval.low - NUDGE}) == lines.tools[winner_interval.below]
    assert (winner_interval.above is None) == (winner_interval.high == lines.high)
    assert (winner_interval.below is None) == (winner_interval.low == lines.low)


@promise
@given(seed=SEEDS, axis=st.sampled_from(curves.AXES), billing=BILLING)
def test_at_its_value_to_win_a_tool_wins_and_nearer_it_does_not(seed, axis, billing) -> None:
    world = World(seed, billing=billing)
    decision = world.decide()
    lines = curves.utility_lines(decision, axis)
    assert curves.value_to_win(decision, axis, lines.tools[0]) == lines.current
    for tool in lines.tools[1:]:
        value = curves.value_to_win(decision, axis, tool)
        sampled = {world.winner(**{axis: float(x)}) for x in np.linspace(lines.low, lines.high, 9)}
        if value is None:
            assert tool not in sampled
            continue
        beyond = math.copysign(NUDGE, value - lines.current)
        there = world.decide(**{axis: min(max(value + beyond, lines.low), lines.high)})
        best = there.tools.utility[list(curves.feasible_rows(there))].max()
        assert there.tools.utility[there.tools.ids.index(tool)] == pytest.approx(best, abs=1e-6)
        assert world.winner(**{axis: value - beyond}) != tool


def test_a_tool_that_is_not_feasible_has_no_value_to_win() -> None:
    decision = Ehrr().route("anything", worlds.tables_context(), worlds.table_v())
    assert curves.value_to_win(decision, "alpha_t", "s1::t11") is None
    assert curves.value_to_win(decision, "alpha_t", "s2::t21") is None
    assert curves.value_to_win(decision, "alpha_t", "nobody::knows") is None


@promise
@given(seed=SEEDS, billing=BILLING, place=st.integers(0, 3))
def test_headroom_is_where_the_router_changes_its_mind(seed, billing, place) -> None:
    world = World(seed, billing=billing)
    decision = world.decide()
    row = curves.feasible_rows(decision)[place]
    tool, room = decision.tools.ids[row], curves.tool_headroom(decision, row)
    limits = (
        ("price_usd", room.price_usd, -1, 0.0), ("latency_s", room.latency_s, -1, 0.0), ("success", room.success, 1, 1.0),
    )  # fmt: skip
    for figure, limit, better, best in limits:

        def wins(value: float, figure: str = figure) -> bool:
            return world.decide(world.with_tool(tool, **{figure: value})).winner.tool == tool

        if limit is None:
            assert wins(1e3)
        elif math.isnan(limit):
            assert place > 0
            assert not wins(best)
        else:
            if 0 <= limit + better * NUDGE <= (1.0 if figure == "success" else math.inf):
                assert wins(limit + better * NUDGE), figure
            if limit - better * NUDGE >= 0:
                assert not wins(limit - better * NUDGE), figure


@pytest.mark.parametrize(("parameters", "tools"), [({"execution_signals": False}, 3), ({}, 1)])
def test_no_headroom_without_execution_signals_or_rival(parameters, tools) -> None:
    server = Server("s", "s", ask_usd=0.0, tools=tuple(worlds.tool(f"t{n}", price_usd=0.001) for n in range(tools)))
    context = worlds.context(worlds.catalog(server), {"s": 0.5}, {})
    decision = Ehrr().route("anything", context, worlds.table_v(**parameters))
    assert curves.tool_headroom(decision, decision.candidates[0]) is None


@pytest.mark.parametrize("axis", curves.AXES)
def test_without_execution_signals_no_value_changes_the_winner(axis) -> None:
    world = World(7, execution_signals=False)
    lines = curves.utility_lines(world.decide(), axis)
    assert not lines.slope.any()
    assert (lines.winner_interval.low, lines.winner_interval.high) == (lines.low, lines.high)
    assert {world.winner(**{axis: x}) for x in (lines.low, lines.current, lines.high)} == {lines.tools[0]}


@pytest.mark.parametrize("axis", curves.AXES)
def test_where_nothing_is_feasible_there_is_no_line_and_no_interval(axis) -> None:
    decision = World(1).decide(budget_usd=0.0)
    lines = curves.utility_lines(decision, axis)
    assert decision.candidates == ()
    assert (lines.tools, len(lines.intercept), lines.winner_interval) == ((), 0, None)


def test_feasible_rows_are_ranked_as_the_decision_ranks_them() -> None:
    decision = World(3).decide()
    rows = curves.feasible_rows(decision)
    assert rows[: len(decision.candidates)] == decision.candidates
    assert [decision.tools.rank[row] for row in rows] == list(range(1, len(rows) + 1))


@each("budget_usd", [None, 0.01, 0.0])
def test_the_posted_price_curve_is_equation_4_and_holds_every_offer_between_its_lines(budget_usd) -> None:
    decision = World(5).decide(budget_usd=budget_usd, p_bs=0.004, p_ofs=0.03, l0_s=2.0)
    curve = curves.posted_price_curve(decision, points=50)
    cap = math.inf if budget_usd is None else budget_usd
    for similarity, offers in ((0.0, curve.lowest_usd), (1.0, curve.highest_usd)):
        by_hand = [min(cap, 0.004 * similarity + 0.03 * math.log(1 + c / 2.0)) for c in curve.cost_s]
        assert offers.tolist() == pytest.approx(by_hand)
    on_list = decision.servers.shortlisted
    cost_s, offered = decision.servers.cost_s[on_list], decision.servers.posted_price_usd[on_list]
    assert curve.cost_s[0] == 0.0
    assert curve.cost_s[-1] > cost_s.max()
    low, high = (np.interp(cost_s, curve.cost_s, line) for line in (curve.lowest_usd, curve.highest_usd))
    assert np.all((low - 1e-4 <= offered) & (offered <= high + 1e-4))


def test_where_only_what_is_worth_a_call_is_tried_the_interval_ends_at_a_utility_of_0() -> None:
    made = worlds.catalog(
        Server("s", call_s=1.0, conn_s=0.0, success=1.0, tools=(worlds.tool("t", latency_s=1.0, success=1.0),))
    )
    context = worlds.context(made, {"s": 0.5}, {"s::t": 0.5})
    for worthwhile, end in ((True, 0.5 * 0.98), (False, 2.0)):
        parameters = EhrrParameters(worthwhile=worthwhile, auction=False)
        decision = Ehrr().route("x", context, parameters)
        interval = curves.utility_lines(decision, "alpha_t").winner_interval
        assert interval is not None
        assert interval.high == pytest.approx(end, rel=1e-6)
