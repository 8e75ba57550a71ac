"""Naive RAG, PA-RAG's first baseline: one flat retrieval for the whole query, and a selector.

    Y = select(Q, top-m over all tools of P(t | Q))                          P(t | Q) from Sim(e(Q), e(d_t)); m = 10

The paper's: a flat layer, one vector for everything that is asked, ten candidates. Ours: the similarity is the mixture of views that
PA-RAG's tool layer has too, so that what differs between the two is the method.
"""

from __future__ import annotations

from core.domain.decision import Stage
from core.planning.base import SubQuery
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.orchestrator import RetrievalNotes, joined_result
from core.routers.papers import PA_RAG
from core.routers.retrieval import RetrievalParameters, flat, selected


class NaiveRag(Router[RetrievalParameters]):
    """The ten most similar tools of all, once for the whole question; a selector takes some of them."""

    id = "naive_rag"
    title = "Naive RAG"
    paper = f"The baseline B1 of: {PA_RAG}"
    score = "similarity"

    def decide(self, query: Query, context: RoutingContext, parameters: RetrievalParameters) -> RoutingResult:
        """One retrieval, one selection."""
        return retrieved_once(query, context, parameters, self.score)


def retrieved_once(
    query: Query, context: RoutingContext, p: RetrievalParameters, score: str, before: tuple[Stage, ...] = ()
) -> RoutingResult:
    """Naive RAG as a path: by itself, or where a query is simple."""
    match, found = flat(query, context, query.text, p)
    part = selected(query, context, SubQuery(query.text), match, found, p)
    notes = RetrievalNotes(
        "retrieval", "Flat: every server is looked into.", f"The {p.m} most similar to the whole question."
    )
    return joined_result(context, (part,), score=score, notes=notes, planner=query.planner.name, before=before)
