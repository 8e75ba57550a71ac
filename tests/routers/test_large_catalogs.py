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
    knowledge: Learnt = NOTHING_LEARNT
    if requests:
        knowledge = replace(knowledge, requests=some_requests(world, np.arange(0, TOOLS, 5), 4))
    matcher = IndexMatcher(
        CatalogIndex(world.catalog, world.encoder), world.encoder, FitMatcher.of(world.index, world.encoder, knowledge)
    )
    tokens = np.arange(1, TOOLS + 1)
    return RoutingContext.of(world.catalog, StatisticsProjection(world.catalog).snapshot(), matcher, tokens)


def first_candidate(decision: Decision) -> str:
    return decision.winner.tool if decision.winner else ""


def test_the_winner_is_that_of_scoring_every_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_matcher, "NEAREST", 200)
    large, small = (context(large=is_large, requests=True) for is_large in (True, False))
    questions, differing = 0, list[str]()
    for router, settings in SETTINGS:
        algorithm = ROUTERS[router]()
        parameters = algorithm.parameters().replaced(settings)
        for question in many_tools(TOOLS).questions[::16]:
            pruned, complete = (algorithm.route(question, world, parameters) for world in (large, small))
            questions += 1
            if first_candidate(pruned) != first_candidate(complete):
                differing.append(question)
            assert (pruned.tokens["baseline"], len(pruned.tools.ids)) == (complete.tokens["baseline"], TOOLS)
    assert questions >= 20
    assert not differing


def test_a_decision_says_how_many_tools_it_scored() -> None:
    question = many_tools(TOOLS).questions[0]
    pruned, complete = (ROUTERS["ehrr"]().route(question, context(large=is_large)) for is_large in (True, False))
    count = len(pruned.scored)
    assert 1000 <= count < TOOLS
    assert (pruned.scored_note, complete.scored_note) == (f"scored {count:,} of 2,000 tools", "scored all 2,000 tools")
    document = pruned.to_json()
    assert document["looked_at"] == {"tools": count, "of": TOOLS}
    assert count <= len(document["tools"]) < TOOLS
    assert {tool["tool"].partition("::")[0] for tool in document["tools"]} <= {
        server["server"] for server in document["servers"]
    }
    assert "looked_at" not in complete.to_json()
    assert len(complete.to_json()["tools"]) == TOOLS
