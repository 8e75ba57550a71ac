"""PA-RAG with a scripted planner over a catalog with a decoy: the cascade, the two paths, aggregation within a budget."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.catalog import Server
from core.planning.base import SubQuery
from core.routers.pa_rag import PaRag
from core.routers.why import why_tool
from tests.routers import scripted, worlds

PaRag = scripted.published(PaRag)

WHOLE = "find the news and mail them to Bo"
PARTS = (SubQuery("find the news"), SubQuery("mail them to Bo", needs=(0,)))
TOOLS = {"web": ("search", "crawl"), "mail": ("send", "draft"), "bank": ("pay", "search")}


def stage(decision, name):
    return next(stage for stage in decision.stages if stage.name == name)


def steps(decision):
    return [[decision.tools.ids[row] for row in step.candidates] for step in decision.steps]


@pytest.fixture
def planner():
    """Decomposes the whole question, and calls it complex. Keeps its questions."""
    return scripted.Planner(parts={WHOLE: PARTS})


@pytest.fixture
def context():
    """One vector for the whole question sees only the news; each part sees its own server. The bank has a decoy: the tool
    that is nearest to the news on a server that has nothing to do with them."""
    catalog = worlds.catalog(
        *(
            Server(name, f"A {name} server.", tools=tuple(worlds.tool(t, description=t) for t in tools))
            for name, tools in TOOLS.items()
        )
    )
    news = {"bank::search": 0.7, "web::search": 0.65, "web::crawl": 0.6, "mail::send": 0.2}
    mail = {"mail::send": 0.7, "mail::draft": 0.62, "web::search": 0.1}
    servers = {"find the news": {"web": 0.7, "mail": 0.3, "bank": 0.1}, "mail them to Bo": {"mail": 0.8, "web": 0.2}}
    texts = {
        WHOLE: news | servers["find the news"],
        "find the news": news | servers["find the news"],
        "mail them to Bo": mail | servers["mail them to Bo"],
        "nothing": {},
    }
    return scripted.context(catalog, {"match": texts, ("tools", "full"): texts}, tokens=100)


@pytest.fixture
def route(planner, context):
    """Decides with the scripted planner, by default with k = 1 and without a reranker."""

    def decide(text, **values):
        chosen = PaRag.parameters().replaced({"k": 1, "reranker": "none", "n": 1} | values)
        return PaRag({"rules": planner}).route(text, context, chosen)

    return decide


def test_tools_are_looked_for_within_the_servers_that_were_kept(route) -> None:
    decision = route("find the news", n=4)
    assert scripted.names(decision) == ["web::search", "web::crawl"]
    assert scripted.dropped(decision)["bank::search"] == "not_shortlisted"
    assert [decision.servers.names[row] for row in decision.shortlist()] == ["web"]


def test_a_planner_may_write_what_servers_are_for(planner, context) -> None:
    """Each summary is requested with the server's extracted text. Only the summary selects the servers."""
    summarised = []
    planner.summarise = lambda server: summarised.append(server) or f"about {server}"
    summaries = {"own": {"find the news": {"bank": 0.9, "web": 0.1}}}
    context.matcher._tables |= summaries
    chosen = PaRag.parameters().replaced({"k": 1, "reranker": "none", "n": 1, "summaries": "written"})
    decision = PaRag({"rules": planner}).route("find the news", context, chosen)
    assert scripted.names(decision) == ["bank::search"]
    assert summarised[:3] == ["web: A web server. Tools: search, crawl", "mail: A mail server. Tools: send, draft",
                         "bank: A bank server. Tools: pay, search"]  # fmt: skip
    assert tuple(f"about {text}" for text in summarised[:3]) in context.matcher.own


def test_without_the_hierarchy_the_decoy_wins(route) -> None:
    decision = route("find the news", hierarchy=False)
    assert scripted.names(decision) == ["bank::search"]
    assert decision.servers.shortlisted.all()


def test_a_servers_score_counts_in_that_of_its_tools(route) -> None:
    assert scripted.names(route("find the news", k=3, chain=0.0)) == ["bank::search"]
    decision = route("find the news", k=3, chain=0.5)
    assert scripted.names(decision) == ["web::search"]
    row = decision.tools.ids.index("bank::search")
    assert decision.tools.utility[row] == pytest.approx(0.7 * (0.1 / 0.7) ** 0.5)


def test_a_reranker_decides_in_both_stages(route, context, monkeypatch) -> None:
    """By its tokens the question is about the bank, which is retrieved last and kept first."""

    def tokens(texts):
        return [np.array([[1.0, 0.0]] if "bank" in t or "news" in t else [[0.0, 1.0]], dtype=np.float32) for t in texts]

    monkeypatch.setattr(context.matcher, "tokens", tokens)
    decision = route("find the news", reranker="late", rerank_share=1.0)
    assert scripted.names(decision) == ["bank::search"]
    assert [decision.servers.names[row] for row in decision.shortlist()] == ["bank"]
    assert "reranked" in stage(decision, "pre-retrieval").note
    assert scripted.names(route("find the news", reranker="late", rerank_share=1.0, pool=1)) == ["web::search"]


def test_a_hint_for_the_question_is_none_for_its_parts(planner, context, monkeypatch) -> None:
    weights = {}
    match = context.matcher.match

    def recorded(text, hint, parameters):
        weights[text] = parameters.hint_weight
        return match(text, hint, parameters)

    monkeypatch.setattr(context.matcher, "match", recorded)
    PaRag({"rules": planner}).route(WHOLE, context, server_hint="news")
    assert weights == {WHOLE: 0.3, "find the news": 0.0, "mail them to Bo": 0.0}
    hints = {}

    def fit(text, hint):
        hints[text] = hint
        return worlds.fixed_fit(match(text, hint, None)), 0.0

    monkeypatch.setattr(context.matcher, "fit", fit, raising=False)
    router = PaRag({"rules": planner})
    router.route(WHOLE, context, router.parameters(similarity="fit"), server_hint="news")
    assert hints == {WHOLE: "news", "find the news": "", "mail them to Bo": ""}


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
    assert [(step.query, step.needs) for step in decision.steps] == [("find the news", ()), ("mail them to Bo", (0,))]
    assert set(scripted.names(decision)) == {"web::search", "mail::send"}
    assert decision.servers.shortlisted.tolist() == [True, True, False]


@pytest.mark.parametrize(("path", "parts"), [("simple", 0), ("complex", 2), ("adaptive", 2)])
def test_the_path_is_a_switch(route, planner, path, parts) -> None:
    decision = route(WHOLE, path=path)
    assert len(decision.steps) == parts
    assert bool(planner.judged) == (path == "adaptive")


def test_sub_queries_share_nothing(route, planner) -> None:
    """A part finds the tools that it finds as a whole question."""
    plan = route(WHOLE, n=2)
    for step in plan.steps:
        single = route(step.query, n=2)
        assert [single.tools.ids[row] for row in single.candidates] == [plan.tools.ids[row] for row in step.candidates]


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
    """A planner's limit of refusal is for cosines, but the cascade has other scores."""
    offered = {}
    select = planner.select
    monkeypatch.setattr(planner, "select", lambda q, cards, n: offered.update({q: cards}) or select(q, cards, n))
    context.matcher._tables["tools", "full"] = {"find the news": {"web::search": 0.26}}
    route("find the news")
    assert [(card.id, card.score) for card in offered["find the news"]] == [
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
    incomplete, complete = router.route("mail Bo", context), router.route("mail bo@a.example", context)
    assert incomplete.remarks == {0: "needs to (an e-mail address), which the question does not say"}
    assert incomplete.candidates == complete.candidates == (0,)
    assert stage(incomplete, "argument check").note.startswith("mail::send needs to (an e-mail address)")
    assert complete.remarks == {}
    unchecked = router.route("mail Bo", context, PaRag.parameters(check_arguments=False))
    assert unchecked.remarks == {}
    assert "argument check" not in [stage.name for stage in unchecked.stages]
    assert why_tool(incomplete, 0).endswith("It needs to (an e-mail address), which the question does not say.")
    assert not why_tool(complete, 0).endswith("say.")


def test_a_tool_that_the_selector_passed_over_says_so(route) -> None:
    decision = route("find the news")
    assert why_tool(decision, decision.tools.ids.index("web::crawl")) == (
        "Not selected: web::crawl was retrieved with chained relevance 0.600, and others were taken."
    )
