"""PA-RAG's baselines: one vector for the whole question, a growing context, and a classifier between the two."""

from __future__ import annotations

import pytest

from core.domain.catalog import Server
from core.planning.base import SubQuery
from core.relevance.text_views import full
from core.routers.rag_baselines import AdaptiveRag, AgenticRag, NaiveRag
from tests.routers import scripted, worlds

AdaptiveRag, AgenticRag, NaiveRag = map(scripted.published, (AdaptiveRag, AgenticRag, NaiveRag))

WHOLE = "find the news, mail them to Bo, pay the bill"
THOUGHTS = (SubQuery("find the news"), SubQuery("mail them to Bo", needs=(0,)), SubQuery("pay the bill"))
ALONE = {
    "find the news": {"web::search": 0.7, "web::crawl": 0.6, "mail::send": 0.1},
    "mail them to Bo": {"mail::send": 0.7, "web::search": 0.1},
    "pay the bill": {"bank::pay": 0.7, "mail::send": 0.1},
}


class Recording:
    """A matcher of tables that keeps its queries. A text of several lines counts as its first line, or as
    `line` says."""

    def __init__(self, matcher):
        self._matcher = matcher
        self.line = 0
        self.looked_up = []

    def match(self, query, server_hint, parameters):
        self.looked_up.append(query)
        return self._matcher.match(query.splitlines()[self.line], server_hint, parameters)

    def __getattr__(self, name):
        return getattr(self._matcher, name)


@pytest.fixture
def context():
    """Three servers. The whole question is near only to the news, like its first part."""
    catalog = worlds.catalog(
        Server("web", tools=(worlds.tool("search", description="Finds."), worlds.tool("crawl"))),
        Server("mail", tools=(worlds.tool("send"),)),
        Server("bank", tools=(worlds.tool("pay"),)),
    )
    texts = ALONE | {WHOLE: ALONE["find the news"]}
    return scripted.context(catalog, {"match": texts, ("tools", "full"): texts}, tokens=100)


@pytest.fixture
def planner():
    """Takes the whole apart, and calls it complex."""
    return scripted.Planner(parts={WHOLE: THOUGHTS})


@pytest.fixture
def route(context, planner):
    """Decides with the scripted planner, by default with one tool a query. The matcher records."""
    object.__setattr__(context, "matcher", Recording(context.matcher))

    def decide(kind, text, **values):
        return kind({"rules": planner}).route(text, context, kind.parameters().replaced({"n": 1} | values))

    return decide


def stage(decision, name):
    return next(stage for stage in decision.stages if stage.name == name)


# Naive RAG


def test_naive_rag_looks_up_once_and_sees_the_first_intent_only(route, context) -> None:
    decision = route(NaiveRag, WHOLE)
    assert context.matcher.looked_up == [WHOLE]
    assert scripted.names(decision) == ["web::search"]
    assert decision.steps == ()
    assert decision.servers.shortlisted.all()


def test_naive_rag_puts_m_tools_of_any_server_before_the_selector(route) -> None:
    decision = route(NaiveRag, "find the news", m=3, n=9)
    assert scripted.names(decision) == ["web::search", "web::crawl", "mail::send"]
    assert scripted.dropped(decision) == {"bank::pay": "not_retrieved"}


# Agentic RAG


def test_the_context_of_a_step_holds_the_steps_before_and_what_they_found(route, context) -> None:
    route(AgenticRag, WHOLE, memory=8)
    tools = context.catalog.tools
    assert context.matcher.looked_up[0] == "find the news"
    assert context.matcher.looked_up[1].splitlines() == ["find the news", full(tools[0]), "mail them to Bo"]


def test_a_step_that_brings_nothing_new_ends_the_run_early(route) -> None:
    """The first thought contaminates the second, which takes the same tool. The third is never reached."""
    decision = route(AgenticRag, WHOLE, memory=8)
    assert scripted.names(decision) == ["web::search"]
    assert (stage(decision, "steps").kept, stage(decision, "steps").of) == (2, 3)
    assert stage(decision, "steps").note == "An early end: a step brought no new action."


def test_without_memory_each_thought_stands_alone(route, context) -> None:
    decision = route(AgenticRag, WHOLE, memory=0)
    assert context.matcher.looked_up == [thought.text for thought in THOUGHTS]
    assert sorted(scripted.names(decision)) == ["bank::pay", "mail::send", "web::search"]
    assert stage(decision, "steps").note == "All were come to."
    assert [step.query for step in decision.steps] == [thought.text for thought in THOUGHTS]


def test_tools_that_came_up_stay_to_be_chosen_from(route, planner, context, monkeypatch) -> None:
    context.matcher.line = -1
    offered = []
    select = planner.select
    monkeypatch.setattr(
        planner, "select", lambda q, cards, n: offered.append({card.id for card in cards}) or select(q, cards, n)
    )
    planner._parts[WHOLE] = (THOUGHTS[2], SubQuery("find the news"))
    planner._select["pay the bill"] = ("mail::send",)
    route(AgenticRag, WHOLE, memory=8, m=2)
    route(AgenticRag, WHOLE, memory=0, m=2)
    remembered, forgotten = offered[:2], offered[2:]
    assert remembered[0] == forgotten[0] == {"bank::pay", "mail::send"}
    assert remembered[1] == remembered[0] | forgotten[1]
    assert forgotten[1] == {"web::search", "web::crawl"}


# Adaptive RAG


def test_adaptive_rag_is_one_of_the_two(route) -> None:
    simple, complex_ = "find the news", WHOLE
    for text, kind in ((simple, NaiveRag), (complex_, AgenticRag)):
        adaptive, fixed = (
            route(AdaptiveRag, text, memory=0),
            route(kind, text, **({"memory": 0} if kind is AgenticRag else {})),
        )
        assert adaptive.candidates == fixed.candidates
        assert adaptive.steps == fixed.steps
        assert adaptive.exposure == fixed.exposure


def test_adaptive_rag_classifies_by_the_question_alone(route, planner) -> None:
    decision = route(AdaptiveRag, WHOLE)
    assert planner.judged == [(WHOLE, ())]
    assert decision.stages[0].name == "complexity"
