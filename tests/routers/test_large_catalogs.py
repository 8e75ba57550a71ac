"""A decision over a large catalog scores the first tools, and is that of scoring every tool."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.domain.decision import Decision
from core.relevance import fit_matcher
from core.relevance.catalog_index import CatalogIndex
from core.relevance.fit_matcher import FitMatcher
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.routers import ROUTERS
from core.routers.context import IndexMatcher, RoutingContext
from core.routers.projection import StatisticsProjection
from tests.relevance.many_tools import many_tools, some_requests

TOOLS = 2_000

SETTINGS: list[tuple[str, dict[str, object]]] = [
    ("ehrr", {"k": 40, "n": 20}), ("ehrr", {"hierarchy": False}), ("rag_mcp", {}), ("expected_value", {}),
]  # fmt: skip


def context(*, large: bool = True, requests: bool = False) -> RoutingContext:
    world = many_tools(TOOLS, large=large)
    learnt: Learnt = NOTHING_LEARNT
    if requests:
        learnt = replace(learnt, requests=some_requests(world, np.arange(0, TOOLS, 5), 4))
    matcher = IndexMatcher(
        CatalogIndex(world.catalog, world.encoder), world.encoder, FitMatcher.of(world.index, world.encoder, learnt)
    )
    tokens = np.arange(1, TOOLS + 1)
    return RoutingContext.of(world.catalog, StatisticsProjection(world.catalog).snapshot(), matcher, tokens)


def first_candidate(decision: Decision) -> str:
    return decision.winner.tool if decision.winner else ""


def test_the_winner_is_that_of_scoring_every_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_matcher, "NEAREST", 200)
    large, small = (context(large=one, requests=True) for one in (True, False))
    asked, others = 0, list[str]()
    for router, settings in SETTINGS:
        algorithm = ROUTERS[router]()
        parameters = algorithm.parameters().replaced(settings)
        for question in many_tools(TOOLS).questions[::16]:
            first, whole = (algorithm.route(question, one, parameters) for one in (large, small))
            asked += 1
            if first_candidate(first) != first_candidate(whole):
                others.append(question)
            assert (first.tokens["baseline"], len(first.tools.ids)) == (whole.tokens["baseline"], TOOLS)
    assert asked >= 20
    assert not others


def test_a_decision_says_how_many_tools_it_scored() -> None:
    question = many_tools(TOOLS).questions[0]
    first, whole = (ROUTERS["ehrr"]().route(question, context(large=one)) for one in (True, False))
    count = len(first.scored)
    assert 1000 <= count < TOOLS
    assert (first.scored_note, whole.scored_note) == (f"scored {count:,} of 2,000 tools", "scored all 2,000 tools")
    document = first.to_json()
    assert document["looked_at"] == {"tools": count, "of": TOOLS}
    assert count <= len(document["tools"]) < TOOLS
    assert {tool["tool"].partition("::")[0] for tool in document["tools"]} <= {
        one["server"] for one in document["servers"]
    }
    assert "looked_at" not in whole.to_json()
    assert len(whole.to_json()["tools"]) == TOOLS
