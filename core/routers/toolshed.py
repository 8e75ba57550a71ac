"""ToolShed as ETOM runs it (its appendix C.2): flat retrieval over enriched tool documents, in three phases.

    before      enriched documents: name, description, parameters, hypothetical questions, key topics
    retrieval   rewrite(q), decompose into parts; each part with its variations, top-k by cosine of each (`tool_fusion`)
    after       de-duplicate, rerank, select; or reject: {server: "no", tool: "no"}

The paper's: the phases and their parameters (top-k 5 to 25, three variations, the best 10 reranked). Ours: the documents are
made by rules, the reranker is one of `core.reranking`, and a server stands where its best tool does.
"""

from __future__ import annotations

import numpy as np

from core.domain.params import Parameters
from core.reranking import NONE
from core.routers.base import Match, Question, Router, Scene, Verdict
from core.routers.orchestrating import Finding, orchestrate, verdict
from core.routers.ranking import best_tool
from core.routers.tool_fusion import Fused, FusionParameters, fused, wordings_of


class Toolshed(Router):
    """Multi-query retrieval over enriched documents."""

    id = "toolshed"
    title = "ToolShed"
    paper = "ETOM: A Five-Level Benchmark for Evaluating Tool Orchestration within the MCP Ecosystem"
    summary = "Enriched tool documents, looked up in several wordings without a hierarchy, merged and reranked."
    parameters = FusionParameters
    score = "fused similarity"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Rewriting, parts, retrieval, selection."""
        if not isinstance(parameters, FusionParameters):
            raise TypeError(f"ToolShed takes FusionParameters, not {type(parameters).__name__}")
        looked: list[Fused] = []

        def find(text: str, match: Match) -> Finding:
            wordings = wordings_of(question, question.planner.rewrite(text), parameters)
            looked.append(fused(question, scene, match, wordings, parameters))
            return flat(scene, looked[-1])

        parts = orchestrate(question, scene, parameters, find)
        return verdict(
            scene,
            parts,
            score=self.score,
            looked=("retrieval", "Flat: every server is looked into.", told(looked, parameters)),
            by=question.planner.name,
        )


def flat(scene: Scene, found: Fused) -> Finding:
    """What came up, without a hierarchy."""
    return Finding(
        best_tool(scene, found.scores), found.scores, np.ones(len(scene.server_names), dtype=np.bool_), found.rows
    )


def told(looked: list[Fused], p: FusionParameters) -> str:
    """How the tools came up, in a sentence."""
    wordings = sum(found.wordings for found in looked)
    again = "not reranked" if p.reranker == NONE else f"the best {p.rerank_top_k} reranked ({p.reranker})"
    return f"{wordings} wordings of {p.k} tools each over enriched documents, merged, {again}."
