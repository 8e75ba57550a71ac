"""ToolShed: several wordings over enriched documents, merged without doubles, reranked. Hybrid: a request in place of rewriting."""

import pytest

from core.domain.catalog import Server
from core.planning.base import ToolRequest
from core.relevance.text_views import enriched
from core.routers.etom import Hybrid, Toolshed
from tests.routers import scripted, worlds

Hybrid, Toolshed = map(scripted.published, (Hybrid, Toolshed))

OFF = {"reranker": "none", "decompose": False}


@pytest.fixture
def catalog():
    """Two servers; a reranker reads the descriptions."""
    texts = {"a": ("Send a letter", "Read a letter", "Fold paper"), "b": ("Paint a wall", "Read a wall", "Wash")}
    return worlds.catalog(
        *(Server(s, tools=tuple(worlds.tool(f"t{n}", description=d) for n, d in enumerate(texts[s]))) for s in texts)
    )


@pytest.fixture
def context(catalog):
    """The question's rewriting finds a, its variation finds b."""
    return scripted.context(
        catalog,
        {
            "own": {
                "rewritten": {"a::t0": 0.6, "a::t1": 0.5, "b::t0": 0.1, "b::t1": 0.05},
                "varied": {"b::t1": 0.7, "a::t0": 0.4, "b::t0": 0.2},
                "mail: send": {"a::t2": 0.9},
            }
        },
    )


@pytest.fixture
def planner():
    """Rewrites, varies and makes a request."""
    return scripted.Planner(
        rewrite={"please q": "rewritten"}, expand={"rewritten": ("varied", "rewritten", "unheard of")},
        request={"please q": ToolRequest("mail", "send")},
    )  # fmt: skip


def shed(planner, context, **settings):
    return Toolshed({"rules": planner}).route("please q", context, Toolshed.parameters(**{**OFF, **settings}))


def test_each_wording_brings_up_its_best_and_doubles_are_merged_by_the_best_score(planner, context) -> None:
    decision = shed(planner, context, k=2, variations=1, n=6)
    assert scripted.names(decision) == ["b::t1", "a::t0", "a::t1"]
    scores = dict(zip(decision.tools.ids, decision.tools.utility, strict=True))
    assert (scores["b::t1"], scores["a::t0"]) == (0.7, 0.6)


def test_what_is_below_the_threshold_does_not_come_up(planner, context) -> None:
    assert scripted.names(shed(planner, context, threshold=0.55, n=6)) == ["b::t1", "a::t0"]


def test_the_enriched_documents_are_what_is_looked_up(planner, context, catalog) -> None:
    shed(planner, context)
    assert context.matcher.own == {tuple(enriched(tool) for tool in catalog.tools)}


def test_only_the_best_are_reranked(planner, catalog) -> None:
    scores = {"b::t0": 0.9, "a::t0": 0.8, "a::t1": 0.7}
    context = scripted.context(catalog, {"own": {"read a letter": scores}})
    toolshed = Toolshed({"rules": planner})

    def best(top: int) -> list[str]:
        settings = {"reranker": "lexical", "rerank_share": 1.0, "k": 3, "rerank_top_k": top}
        return scripted.names(toolshed.route("read a letter", context, Toolshed.parameters(**settings)))

    assert best(3)[0] == "a::t1"  # it has the question's words
    assert best(2) == ["a::t0", "b::t0", "a::t1"]


def test_hybrid_looks_the_request_up_flat(planner, context) -> None:
    hybrid = Hybrid({"rules": planner})
    decision = hybrid.route("please q", context, Hybrid.parameters(**OFF))
    assert decision.winner.tool == "a::t2"
    assert decision.servers.shortlisted.all()
    hinted = hybrid.route("please q", context, Hybrid.parameters(**OFF), server_hint="somewhere")
    assert hinted.tools.utility.max() == 0  # "somewhere: send" is in no table
