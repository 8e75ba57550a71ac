"""PA-RAG's selector, aggregation within a budget, and the check of arguments."""

from __future__ import annotations

import pytest

from core.domain.catalog import Server
from core.planning.base import SubQuery
from core.routers.pa_rag import PaRag
from core.routers.why import why_tool
from tests.routers import scripted, worlds
from tests.routers.pa_rag.case import PARTS, WHOLE, stage, steps

PaRag = scripted.published(PaRag)


def test_a_tool_that_two_parts_choose_is_one(route, planner) -> None:
    planner._parts[WHOLE] = (PARTS[0], SubQuery("find the news", needs=(0,)))
    decision = route(WHOLE)
    assert scripted.names(decision) == ["web::search"]
    assert steps(decision) == [["web::search"], ["web::search"]]
    assert stage(decision, "aggregation").note == "2 choices, 1 of a tool that was chosen before; 100 of 8,000 tokens."


def test_the_budget_is_spent_on_first_choices_first(route) -> None:
    decision = route(WHOLE, n=2, budget_tokens=200)
    assert steps(decision) == [["web::search"], ["mail::send"]]
    assert (stage(decision, "aggregation").kept, stage(decision, "aggregation").of) == (2, 4)
    assert scripted.dropped(decision)["mail::draft"] == "outranked"
    assert decision.exposure.exposed == 200


def test_a_part_that_the_budget_leaves_without_a_tool_is_named(route) -> None:
    decision = route(WHOLE, budget_tokens=100)
    assert steps(decision) == [["web::search"], []]
    assert stage(decision, "verification").note == "No tool for: mail them to Bo."
    assert (stage(decision, "verification").kept, stage(decision, "verification").of) == (1, 2)


def test_a_part_that_waits_for_one_without_a_tool_is_named(route, planner) -> None:
    planner._select["find the news"] = ()
    decision = route(WHOLE, refuse=True)
    assert stage(decision, "verification").note == (
        "No tool for: find the news. Waiting for the result of one of those: mail them to Bo."
    )


def test_the_selector_reads_scores_in_proportion_on_the_scale_of_the_cosine(
    route, planner, context, monkeypatch
) -> None:
    """The limit of a planner that refuses is set on cosines, while the cascade's scores are its own."""
    seen = {}
    select = planner.select
    monkeypatch.setattr(planner, "select", lambda q, cards, n: seen.update({q: cards}) or select(q, cards, n))
    context.matcher._tables["tools", "full"] = {"find the news": {"web::search": 0.26}}
    route("find the news")
    assert [(card.id, card.score) for card in seen["find the news"]] == [
        ("web::search", pytest.approx(0.26)),
        ("web::crawl", pytest.approx(0.26 * 0.6 / 0.65)),
    ]


def test_where_the_selector_may_not_refuse_the_nearest_stand(route, planner) -> None:
    planner._select["find the news"] = ()
    decision = route("find the news")
    assert scripted.names(decision) == ["web::search"]
    assert stage(decision, "selection").note.endswith("The nearest are taken all the same.")


def test_a_budget_for_nothing_gives_no_candidate_and_says_why(planner) -> None:
    catalog = worlds.catalog(Server("web", tools=(worlds.tool("search"),)))
    context = scripted.context(catalog, {"match": {"x": {"web": 0.9, "web::search": 0.9}}}, tokens=101)
    decision = PaRag({"rules": planner}).route("x", context, PaRag.parameters(budget_tokens=100))
    assert decision.candidates == ()
    assert decision.reason == "No tool fits into the budget of tokens; raise it."


def test_what_a_required_argument_lacks_stands_at_the_tool_and_drops_none(planner) -> None:
    schema = {"properties": {"to": {"type": "string", "format": "email"}}, "required": ["to"]}
    catalog = worlds.catalog(Server("mail", tools=(worlds.tool("send", input_schema=schema),)))
    similar = {"mail": 0.9, "mail::send": 0.9}
    texts = {"mail Bo": similar, "mail bo@a.example": similar}
    context = scripted.context(catalog, {"match": texts, ("tools", "full"): texts})
    router = PaRag({"rules": planner})
    lacking, held = router.route("mail Bo", context), router.route("mail bo@a.example", context)
    assert lacking.remarks == {0: "needs to (an e-mail address), which the question does not say"}
    assert lacking.candidates == held.candidates == (0,)
    assert stage(lacking, "argument check").note.startswith("mail::send needs to (an e-mail address)")
    assert held.remarks == {}
    unchecked = router.route("mail Bo", context, PaRag.parameters(check_arguments=False))
    assert unchecked.remarks == {}
    assert "argument check" not in [shown.name for shown in unchecked.stages]
    assert why_tool(lacking, 0).endswith("It needs to (an e-mail address), which the question does not say.")
    assert not why_tool(held, 0).endswith("say.")


def test_a_tool_that_the_selector_passed_over_says_so(route) -> None:
    decision = route("find the news")
    assert why_tool(decision, decision.tools.ids.index("web::crawl")) == (
        "Not selected: web::crawl was retrieved with chained relevance 0.600, and others were taken."
    )
