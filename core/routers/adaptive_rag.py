"""Adaptive RAG, PA-RAG's third baseline: a classifier of complexity before Naive RAG and Agentic RAG.

    Y = naive(Q) where complexity(Q) is simple, else agentic(Q)

The paper's: a general classifier (Jeong et al. 2024), which reads the query alone and not the servers, unlike that of
PA-RAG.
"""

from __future__ import annotations

from core.routers.agentic_rag import AgenticParameters, stepwise
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.naive_rag import retrieved_once
from core.routers.papers import PA_RAG
from core.routers.retrieval import complexity_stage


class AdaptiveRag(Router[AgenticParameters]):
    """A simple question goes through Naive RAG, a complex one through Agentic RAG, as its wording says."""

    id = "adaptive_rag"
    title = "Adaptive RAG"
    paper = f"The baseline B3 of: {PA_RAG}"
    score = "similarity"

    def decide(self, query: Query, context: RoutingContext, parameters: AgenticParameters) -> RoutingResult:
        """The path, by the wording of the query alone."""
        complexity = query.planner.complexity(query.text, ())
        before = (complexity_stage(complexity, query.planner.name),)
        if complexity.label == "simple":
            return retrieved_once(query, context, parameters, self.score, before)
        return stepwise(query, context, parameters, self.score, before)
