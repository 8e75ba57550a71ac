"""Naive RAG, PA-RAG's first baseline: one flat retrieval for the whole question, and a selector.

    Y = select(Q, top-m over all tools of P(t | Q))                          P(t | Q) from Sim(e(Q), e(d_t)); m = 10

The paper's: a flat layer, one vector for everything that is asked, ten candidates. Ours: the similarity is the mixture of views that
PA-RAG's tool layer has too, so that what differs between the two is the method.
"""

from __future__ import annotations

from core.domain.decision import Stage
from core.domain.params import Parameters
from core.planning.base import SubQuery
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.orchestrating import verdict
from core.routers.retrieving import RetrievalParameters, flat, selected


class NaiveRag(Router):
    """Retrieve once, select."""

    id = "naive_rag"
    title = "Naive RAG"
    paper = (
        "The baseline B1 of: PA-RAG: Protocol-Aware Retrieval-Augmented Generation for Tool Discovery in MCP Ecosystems"
    )
    summary = "The ten most similar tools of all, once for the whole question; a selector takes some of them."
    parameters = RetrievalParameters
    score = "similarity"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """One retrieval, one selection."""
        if not isinstance(parameters, RetrievalParameters):
            raise TypeError(f"Naive RAG takes RetrievalParameters, not {type(parameters).__name__}")
        return retrieved_once(question, scene, parameters, self.score)


def retrieved_once(
    question: Question, scene: Scene, p: RetrievalParameters, score: str, before: tuple[Stage, ...] = ()
) -> Verdict:
    """Naive RAG as a path: by itself, or where a question is simple."""
    match, found = flat(question, scene, question.text, p)
    part = selected(question, scene, SubQuery(question.text), match, found, p)
    looked = ("retrieval", "Flat: every server is looked into.", f"The {p.m} most similar to the whole question.")
    return verdict(scene, (part,), score=score, looked=looked, by=question.planner.name, before=before)
