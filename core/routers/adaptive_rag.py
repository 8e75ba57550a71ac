"""Adaptive RAG, PA-RAG's third baseline: a classifier of complexity before Naive RAG and Agentic RAG.

    Y = naive(Q) where complexity(Q) is simple, else agentic(Q)

The paper's: a general classifier (Jeong et al. 2024), which reads the question alone and knows nothing of the servers, unlike that of
PA-RAG.
"""

from __future__ import annotations

from core.domain.params import Parameters
from core.routers.agentic_rag import AgenticParameters, stepwise
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.naive_rag import retrieved_once
from core.routers.retrieving import complexity_stage


class AdaptiveRag(Router):
    """Classify, then retrieve once or step by step."""

    id = "adaptive_rag"
    title = "Adaptive RAG"
    paper = (
        "The baseline B3 of: PA-RAG: Protocol-Aware Retrieval-Augmented Generation for Tool Discovery in MCP Ecosystems"
    )
    summary = "A simple question goes through Naive RAG, a complex one through Agentic RAG, as its wording says."
    parameters = AgenticParameters
    score = "similarity"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """The path by the question alone."""
        if not isinstance(parameters, AgenticParameters):
            raise TypeError(f"Adaptive RAG takes AgenticParameters, not {type(parameters).__name__}")
        judged = question.planner.complexity(question.text, ())
        before = (complexity_stage(judged, question.planner.name),)
        if judged.label == "simple":
            return retrieved_once(question, scene, parameters, self.score, before)
        return stepwise(question, scene, parameters, self.score, before)
