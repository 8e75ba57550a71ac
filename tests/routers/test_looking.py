"""A decision in two steps is the decision over all tools: same short-list, candidates and figures, whatever the parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from core.economics.utility import ranking, utility
from core.relevance.bounds import FitMatcher
from core.relevance.catalog_index import CatalogIndex
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.routers import ROUTERS
from core.routers.context import RoutingContext
from core.routers.looking import contenders
from core.routers.matching import IndexMatcher
from core.routers.why import why
from core.shared.errors import UnknownNameError
from core.stats.projection import StatisticsProjection
from tests.relevance.many_tools import TOOLS, many_tools, some_requests

SETTINGS = [
    {}, {"k": 1, "n": 1}, {"k": 40, "n": 20}, {"alpha_s": 0.0}, {"alpha_s": 0.5, "alpha_t": 0.5}, {"execution_signals": False},
    {"auction": False, "worthwhile": False}, {"l_route_s": 2.0, "eps": 0.05}, {"reads_first": False}, {"wrong_refusals": 30.0},
]  # fmt: skip


def context(learnt: Learnt = NOTHING_LEARNT, *, figures: bool = True) -> RoutingContext:
    """The routing context of many tools; without figures, so that all servers cost the same and many are on a par."""
    world = many_tools()
    catalog = world.catalog
    if not figures:
        servers = tuple(
            replace(
                server, conn_s=None, call_s=None, success=None, post_accept_failure=None,
                tools=tuple(replace(tool, price_usd=None, latency_s=None, success=None) for tool in server.tools),
            )
            for server in catalog.servers
        )  # fmt: skip
        catalog = replace(catalog, servers=servers)
    matcher = IndexMatcher(
        CatalogIndex(world.catalog, world.encoder), world.encoder, FitMatcher.of(world.index, world.encoder, learnt)
    )
    return RoutingContext.of(catalog, StatisticsProjection(catalog).snapshot(), matcher, np.arange(1, TOOLS + 1))


def alike(router: str, settings: dict[str, object], two_steps: RoutingContext, every: int) -> list[int]:
    """Asserts that decisions are the same, and returns how many tools each looked at."""
    algorithm = ROUTERS[router]()
    parameters = algorithm.parameters().replaced(settings)
    sizes: list[int] = []
    for question in many_tools().questions[::every]:
        whole = algorithm.route(question, replace(two_steps, exhaustive=True), parameters)
        few = algorithm.route(question, two_steps, parameters)
        assert whole.looked is None
        assert [few.tools.ids[row] for row in few.candidates] == [whole.tools.ids[row] for row in whole.candidates], (
            question
        )
        assert [few.servers.names[row] for row in few.shortlist()] == [
            whole.servers.names[row] for row in whole.shortlist()
        ]
        assert few.tokens == whole.tokens
        assert (few.fit.confidence, few.writing == ()) == (whole.fit.confidence, whole.writing == ())
        for ours, theirs in zip(few.trace()["servers"], whole.trace()["servers"], strict=True):
            assert ours == pytest.approx(theirs, abs=1e-6, nan_ok=True)
        for ours, theirs in zip(few.trace()["tools"], whole.trace()["tools"], strict=True):
            assert ours == pytest.approx(theirs, abs=1e-6, nan_ok=True)
        sizes.append(len(few.tools.ids))
    return sizes


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_ehrr_decides_the_same(settings: dict[str, object]) -> None:
    assert min(alike("ehrr", settings, context(), 4)) < TOOLS


@pytest.mark.parametrize("settings", [{}, {"alpha_s": 0.0}], ids=str)
def test_servers_on_a_par_are_listed_by_name_as_they_would_be(settings: dict[str, object]) -> None:
    sizes = alike("ehrr", settings, context(figures=False), 2)
    assert max(sizes) < TOOLS / 2


def test_rag_mcp_decides_the_same() -> None:
    assert np.median(alike("rag_mcp", {}, context(), 4)) < TOOLS / 2


def test_example_requests_of_some_tools_do_not_need_all_tools() -> None:
    learnt = replace(NOTHING_LEARNT, requests=some_requests(many_tools(), np.arange(0, TOOLS, 5), 4))
    assert np.median(alike("ehrr", {}, context(learnt), 4)) < TOOLS / 2


@pytest.mark.parametrize("settings", [{"exploration": "thompson"}, {"hierarchy": False}], ids=str)
def test_what_no_bound_is_known_for_looks_at_all_tools(settings: dict[str, object]) -> None:
    assert alike("ehrr", settings, context(), 30)[0] == TOOLS


@dataclass
class Between:
    """Bounds on the fit of the servers, some of them exact; nothing else is near."""

    low: np.ndarray
    high: np.ndarray
    near: np.ndarray

    def servers(self) -> tuple[np.ndarray, np.ndarray]:
        return self.low, self.high


@pytest.mark.parametrize("seed", range(20))
def test_whatever_lies_within_the_bounds_the_best_servers_are_looked_at(seed: int) -> None:
    rng, world = np.random.default_rng(seed), context()
    count, k, alpha = len(world.server_names), 1 + seed % 7, [0.0, 0.1][seed % 2]
    low = rng.choice([0.1, 0.2, 0.5], count) if seed % 3 else rng.random(count)
    high = low + rng.choice([0.0, 0.05, 0.3], count)
    cost_s = rng.choice([0.5, 1.0, 2.0], count)
    listed = contenders(Between(low, high, np.zeros(0, np.int64)), world, k, alpha, cost_s)
    for share in (0.0, 0.5, 1.0, rng.random(count), rng.integers(0, 2, count)):
        exact = low + share * (high - low)
        first = ranking(utility(exact, cost_s, alpha=alpha), exact, world.server_order)[:k]
        assert listed[first].all()
    assert listed.sum() < count


def test_the_trace_says_what_was_looked_at() -> None:
    decision = ROUTERS["ehrr"]().route(many_tools().questions[0], context())
    assert decision.looked_note == f"looked at {len(decision.tools.ids)} of 3,000 tools; proved equal to looking at all"
    assert decision.to_json()["looked_at"] == {"tools": len(decision.tools.ids), "of": TOOLS}
    assert decision.stages[0].of == len(many_tools().catalog.servers)
    other = next(tool.id for tool in many_tools().catalog.tools if tool.id not in decision.tools.ids)
    with pytest.raises(UnknownNameError, match="looked at"):
        why(decision, other)


def test_a_small_catalog_is_looked_at_as_a_whole() -> None:
    decision = ROUTERS["ehrr"]().route(many_tools().questions[0], replace(context(), exhaustive=True))
    assert decision.looked_note == "looked at all 3,000 tools"
    assert "looked_at" not in decision.to_json()
