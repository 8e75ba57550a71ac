"""PA-RAG's cascade: servers first, then their tools, each reranked."""

from __future__ import annotations

import numpy as np
import pytest

from core.routers.pa_rag import PaRag
from tests.routers import scripted, worlds
from tests.routers.pa_rag.case import WHOLE, stage

PaRag = scripted.published(PaRag)


def test_tools_are_looked_for_within_the_servers_that_were_kept(route) -> None:
    decision = route("find the news", n=4)
    assert scripted.names(decision) == ["web::search", "web::crawl"]
    assert scripted.dropped(decision)["bank::search"] == "not_shortlisted"
    assert [decision.servers.names[row] for row in decision.shortlist()] == ["web"]


def test_a_planner_may_write_what_servers_are_for(planner, context) -> None:
    """Each summary is asked for by the server's extracted text, and it alone decides where to look."""
    asked = []
    planner.summarise = lambda server: asked.append(server) or f"about {server}"
    written = {"own": {"find the news": {"bank": 0.9, "web": 0.1}}}
    context.matcher._tables |= written
    chosen = PaRag.parameters().replaced({"k": 1, "reranker": "none", "n": 1, "summaries": "written"})
    decision = PaRag({"rules": planner}).route("find the news", context, chosen)
    assert scripted.names(decision) == ["bank::search"]
    assert asked[:3] == ["web: A web server. Tools: search, crawl", "mail: A mail server. Tools: send, draft",
                         "bank: A bank server. Tools: pay, search"]  # fmt: skip
    assert tuple(f"about {text}" for text in asked[:3]) in context.matcher.own


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
    """Tokens that say: what is asked is the bank. It is retrieved last and kept first."""

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
