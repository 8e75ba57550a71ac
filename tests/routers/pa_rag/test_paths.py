"""PA-RAG's two paths: by the complexity of a query, and sub-queries that share nothing."""

from __future__ import annotations

import pytest

from tests.routers import scripted
from tests.routers.pa_rag.case import WHOLE, stage, steps


def test_complexity_is_judged_with_the_servers_of_the_pre_retrieval(route, planner) -> None:
    route("find the news")
    assert planner.judged == [("find the news", ("web: A web server. Tools: search, crawl",))]


def test_a_simple_question_is_looked_up_once_and_has_no_steps(route) -> None:
    decision = route("find the news")
    assert decision.steps == ()
    assert stage(decision, "decomposition").of == 1


def test_a_complex_question_finds_what_one_vector_hides(route) -> None:
    assert scripted.names(route(WHOLE, path="simple")) == ["web::search"]
    decision = route(WHOLE)
    assert steps(decision) == [["web::search"], ["mail::send"]]
    assert [(step.subtask, step.needs) for step in decision.steps] == [("find the news", ()), ("mail them to Bo", (0,))]
    assert set(scripted.names(decision)) == {"web::search", "mail::send"}
    assert decision.servers.shortlisted.tolist() == [True, True, False]


@pytest.mark.parametrize(("path", "parts"), [("simple", 0), ("complex", 2), ("adaptive", 2)])
def test_the_path_is_a_switch(route, planner, path, parts) -> None:
    decision = route(WHOLE, path=path)
    assert len(decision.steps) == parts
    assert bool(planner.judged) == (path == "adaptive")


def test_sub_queries_share_nothing(route, planner) -> None:
    """What a part finds is what it finds when it is the whole question."""
    both = route(WHOLE, n=2)
    for step in both.steps:
        alone = route(step.subtask, n=2)
        assert [alone.tools.ids[row] for row in alone.candidates] == [both.tools.ids[row] for row in step.candidates]
