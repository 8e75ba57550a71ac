"""Random sub-tasks over random catalogs: some with figures of a few values, so that much is equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.decisions.case import Case, ManyTasks
from core.domain.catalog import Catalog, Server, Tool, ToolHints
from core.planning.rules import RulesPlanner
from core.routers.context import Match, Query, RoutingContext
from core.routers.ehrr import EhrrParameters
from tests.routers import worlds


def catalog(rng: np.random.Generator, servers: int, tools: int) -> Catalog:
    """Up to `tools` tools on each of `servers` servers; prices and asks may be missing."""
    coarse = rng.random() < 0.3

    def figure(scale: float) -> float:
        return float(rng.choice([0.1, 0.5, 0.9]) if coarse else rng.random()) * scale

    def price() -> float | None:
        return None if rng.random() < 0.15 else figure(0.05)

    return Catalog(
        "random",
        tuple(
            Server(
                f"s{i}", ask_usd=price(), conn_s=figure(1.0), call_s=figure(3.0), success=figure(1.0), success_variance=figure(0.02),
                tools=tuple(
                    Tool(
                        f"s{i}", f"t{j}", price_usd=price(), latency_s=figure(4.0), success=figure(1.0),
                        hints=ToolHints(read_only=(i + j) % 2 == 0),
                    )
                    for j in range(int(rng.integers(0, tools + 1)))
                ),
            )
            for i in range(servers)
        ),
    )  # fmt: skip


def parameters(rng: np.random.Generator) -> EhrrParameters:
    """Random EHRR parameters near values that decide."""
    return EhrrParameters(
        k=int(rng.integers(1, 5)), n=int(rng.integers(1, 5)), alpha_s=float(rng.choice([0.0, 0.05, 0.3])),
        alpha_t=float(rng.choice([0.0, 0.02, 0.2])), kappa=float(rng.choice([0.0, 5.0, 100.0])),
        p_bs=float(rng.choice([0.0, 0.0025, 0.05])), p_ofs=float(rng.choice([0.0, 0.01, 0.0225])),
        l0_s=float(rng.choice([0.5, 1.0, 5.0])), l_route_s=float(rng.choice([0.0, 0.4])), eps=float(rng.choice([0.001, 0.2])),
        budget_usd=[None, 0.02, 0.03][int(rng.integers(3))], billing=str(rng.choice(["per_call", "per_attempt"])),
        worthwhile=bool(rng.random() < 0.7), auction=bool(rng.random() < 0.9), hierarchy=bool(rng.random() < 0.9),
        execution_signals=bool(rng.random() < 0.95),
    )  # fmt: skip


def case(rng: np.random.Generator, *, servers: int = 6, tools: int = 4) -> Case:
    """A sub-task over a random catalog under random parameters."""
    world = catalog(rng, servers, tools)
    context = worlds.context(world, {}, {})
    match = Match(rng.random(len(world.servers)), rng.random(len(world.tools)))
    context.matcher.answer = match
    return Case(context, match, parameters(rng))


def many(context: RoutingContext, matches: Sequence[Match]) -> ManyTasks:
    """Sub-tasks with these similarities."""

    def asked(match: Match) -> Query:
        matcher = worlds.FixedMatcher(context.catalog, {}, {})
        matcher.answer = match
        return Query("x", "", matcher, RulesPlanner())

    return ManyTasks([asked(match) for match in matches], lambda _: context)
