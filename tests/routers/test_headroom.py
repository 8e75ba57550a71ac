"""Headroom against routing again, and its formula: beyond it another tool wins."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.catalog import Catalog, Server
from core.domain.decision import Decision
from core.routers.ehrr import Ehrr
from core.routers.utility import headroom
from core.routers.why import tool_headroom
from tests.cases import each
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


T12 = {
    "similarity": 0.75, "fixed_s": 0.3, "latency_s": 0.5, "success": 0.9, "post_accept_failure": 0.05, "price_usd": 0.002,
    "to_beat": 0.5, "posted_usd": math.inf, "alpha_t": 0.25, "kappa": 1.0, "eps": 1e-3, "per_attempt": False,
}  # fmt: skip


@each(
    ("figures", "price", "latency", "success"),
    [
        ({"alpha_t": 0.0, "posted_usd": 0.0249}, 0.0249, None, None),  # cost counts for nothing, the auction is held
        ({"alpha_t": 0.0, "to_beat": 0.8}, math.nan, math.nan, math.nan),
        ({"kappa": 0.0}, None, 0.555, 0.842),
        # at the floor 0.001 the cost is 0.8 / 0.001 + 0.002 = 800.002 s: U = 0.75 - 0.0005 * 800.002 = 0.35
        ({"alpha_t": 0.0005, "to_beat": 0.3}, 899.064, 769.198, 0.0),
    ],
)
def test_figures_at_the_ends(figures, price, latency, success) -> None:
    room = headroom(**{**T12, **figures})
    for actual, expected in ((room.price_usd, price), (room.latency_s, latency), (room.success, success)):
        assert actual == (expected if expected is None else pytest.approx(expected, abs=1e-3, nan_ok=True))
