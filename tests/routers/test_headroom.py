"""Headroom against routing again, and its formula: beyond it another tool wins."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Server
from core.domain.decision import Decision
from core.routers.ehrr import Ehrr
from core.routers.utility import headroom
from core.routers.why import tool_headroom
from tests.routers import worlds

SEEDS = st.integers(0, 10_000)
BILLING = st.sampled_from(["per_call", "per_attempt"])
NUDGE = 1e-6
promise = settings(derandomize=True, max_examples=40)


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
@given(seed=SEEDS, billing=BILLING, place=st.integers(0, 3))
def test_headroom_is_where_the_router_changes_its_mind(seed, billing, place) -> None:
    world = World(seed, billing=billing)
    decision = world.decide()
    row = int(np.flatnonzero(decision.tools.rank == place + 1)[0])
    tool, room = decision.tools.ids[row], tool_headroom(decision, row)
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
    assert tool_headroom(decision, decision.candidates[0]) is None


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
