"""RAG, the plainest baseline of NetMCP: the question in English, BM25 in two stages, the best tool wins.

    q' = translate(q);   top-s servers by BM25(q', d_s);   top-t of their tools by BM25(q', d_t);   the best wins

The settings s3t6 to s6t12 are the paper's. Ours: "translate" is left out with rules, which know no language but the
question's own, and a rewriting by the model otherwise; ties go to the higher similarity (`core.routers.two_stage`).
"""

from __future__ import annotations

from core.domain.decision import Stage
from core.domain.params import Parameters
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.two_stage import TwoStageParameters, chosen_verdict, retrieve


class RagBm25(Router):
    """Words alone, in two stages."""

    id = "rag_bm25"
    title = "RAG (BM25)"
    paper = "NetMCP: Network-Aware Model Context Protocol Platform for LLM Capability Extension"
    summary = "Words in common (BM25): a few servers, a few of their tools, the best of those."
    parameters = TwoStageParameters
    score = "BM25 score"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Two stages, best first."""
        if not isinstance(parameters, TwoStageParameters):
            raise TypeError(f"RAG takes TwoStageParameters, not {type(parameters).__name__}")
        text, before = translated(question, parameters)
        found = retrieve(question, scene, text, parameters)
        return chosen_verdict(
            scene, found, found.tools, parameters, how="Highest BM25 score.", score=self.score, before=before
        )


def translated(question: Question, parameters: TwoStageParameters) -> tuple[str, tuple[Stage, ...]]:
    """The question in words that tools are described with: a model's rewriting, or as it is where rules plan."""
    if parameters.planner == "rules":
        return question.text, ()
    text = question.planner.rewrite(question.text)
    return text, (Stage("translation", "queries", 1, 1, f"Looked up: {text}", by=question.planner.name),)
