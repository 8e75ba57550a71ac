"""NetMCP's baselines: BM25 over servers, then over the tools of the best; tool prediction; reranking of the kept tools."""

import pytest

from core.domain.catalog import Server
from core.routers.sonar import Prag, RagBm25, RerankRag
from tests.cases import each
from tests.routers import scripted, worlds

Prag, RagBm25, RerankRag = map(scripted.published, (Prag, RagBm25, RerankRag))

SERVERS, TOOLS = ("bm25", "servers"), ("bm25", "tools")


@pytest.fixture
def catalog():
    """Three servers of three tools."""
    return worlds.catalog(*(Server(name, tools=tuple(worlds.tool(f"t{n}") for n in range(3))) for name in "abc"))


@pytest.fixture
def context(catalog):
    """The best tool of all is on c, the server that fits least."""
    return scripted.context(
        catalog,
        {
            SERVERS: {"q": {"a": 3.0, "b": 2.0, "c": 1.0}},
            TOOLS: {"q": {"a::t0": 1.0, "a::t1": 4.0, "b::t0": 3.0, "b::t2": 2.0, "c::t0": 9.0}},
        },
    )


def test_s_servers_are_kept_and_only_their_tools_are_looked_at(context) -> None:
    decision = RagBm25().route("q", context, RagBm25.parameters(s=2, t=3, n=3))
    assert scripted.names(decision) == ["a::t1", "b::t0", "b::t2"]
    drop_of = scripted.dropped(decision)
    assert {drop_of[tool] for tool in ("c::t0", "c::t1", "c::t2")} == {"not_shortlisted"}
    assert drop_of["a::t0"] == "not_retrieved"  # the fourth tool, but t is 3


@each(("s", "t"), [(1, 2), (2, 4), (3, 6)])
def test_the_stages_count_what_the_settings_keep(context, s, t) -> None:
    stages = RagBm25().route("q", context, RagBm25.parameters(s=s, t=t, n=1)).stages
    assert [(stage.name, stage.kept, stage.of) for stage in stages] == [
        ("server filter", s, 3),
        ("tool filter", min(t, 3 * s), 3 * s),
        ("candidates", 1, min(t, 3 * s)),
    ]


def test_a_model_translates_and_rules_do_not(context) -> None:
    model = scripted.Planner("polyglot", rewrite={"q auf Deutsch": "q"})
    router = RagBm25({"rules": model, "model": model})
    plain = router.route("q auf Deutsch", context)
    assert (plain.planner, plain.stages[0].name) == ("none", "server filter")
    decision = router.route("q auf Deutsch", context, RagBm25.parameters(planner="model", s=1, n=1))
    assert scripted.names(decision) == ["a::t1"]
    assert (decision.planner, decision.stages[0].name, decision.stages[0].by) == ("polyglot", "translation", "polyglot")


def test_prediction_keeps_a_surface_word_from_misleading() -> None:
    """The paper's example, section IV-A: "company" brings up a search of people instead of a web search."""
    question, predicted = "Who founded the first luxury goods company?", "a websearch tool"
    servers = [Server("linkedin", tools=(worlds.tool("search"),)), Server("exa", tools=(worlds.tool("websearch"),))]
    tables = {
        SERVERS: {question: {"linkedin": 2.1}, predicted: {"exa": 3.0}},
        TOOLS: {question: {"linkedin::search": 1.7}, predicted: {"exa::websearch": 4.0}},
    }
    context = scripted.context(worlds.catalog(*servers), tables)
    planner = {"rules": scripted.Planner(predict={question: predicted})}
    assert RagBm25(planner).route(question, context).winner.tool == "linkedin::search"
    decision = Prag(planner).route(question, context)
    assert decision.winner.tool == "exa::websearch"
    assert decision.planner == "toy"
    assert decision.stages[0].name == "tool prediction"
    assert predicted in decision.stages[0].note


@pytest.fixture
def described():
    """BM25 prefers a::long; a::short has the words of the question. b::exact is on a server that is not kept."""
    tools = {"long": "A very long text about files", "short": "Read a file", "other": "Draw a map"}
    server_a = Server("a", tools=tuple(worlds.tool(name, description=text) for name, text in tools.items()))
    server_b = Server("b", tools=(worlds.tool("exact", description="Read a file"),))
    tables = {
        SERVERS: {"read a file": {"a": 5.0, "b": 1.0}},
        TOOLS: {"read a file": {"a::long": 4.0, "a::short": 3.0, "a::other": 1.0, "b::exact": 9.0}},
    }
    return scripted.context(worlds.catalog(server_a, server_b), tables)


def reranked(context, **settings):
    return RerankRag().route("read a file", context, RerankRag.parameters(s=1, t=2, **settings))


def test_the_reranker_decides_among_the_kept_tools_and_only_there(described) -> None:
    decision = reranked(described, reranker="lexical")
    assert scripted.names(decision) == ["a::short", "a::long"]
    drop_of = scripted.dropped(decision)
    assert (drop_of["a::other"], drop_of["b::exact"]) == ("not_retrieved", "not_shortlisted")
    assert [stage.by for stage in decision.stages if stage.name == "reranking"] == ["lexical"]


def test_a_share_weighs_bm25_against_the_reranker(described) -> None:
    """(1 - w) C + w rerank with C = BM25 / 4: half of the way between both."""
    scores = {w: reranked(described, reranker="lexical", rerank_share=w).tools.utility for w in (0.0, 0.5, 1.0)}
    row = described.tool_ids.index("a::short")
    assert scores[0.0][row] == pytest.approx(0.75)
    assert scores[0.5][row] == pytest.approx((scores[0.0][row] + scores[1.0][row]) / 2)


@each(
    ("named", "order"),
    [(("a::short",), ["a::short", "a::long"]), (("a::long", "a::short"), ["a::long", "a::short"])],
)
def test_a_planner_may_put_the_kept_tools_in_order(described, named, order) -> None:
    """A tool that the planner does not name comes last."""
    planners = {"model": scripted.Planner(select={"read a file": named})}
    parameters = RerankRag.parameters(s=1, t=2, reranker="planner", planner="model")
    decision = RerankRag(planners).route("read a file", described, parameters)
    assert scripted.names(decision) == order
    assert decision.tools.utility[described.tool_ids.index(order[-1])] == (0.0 if len(named) == 1 else 0.5)
