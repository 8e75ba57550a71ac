"""ETOM's Hybrid (its appendix C.4): MCP-Zero's request in place of ToolShed's rewriting, the rest as ToolShed.

    server: <domain>  tool: <operation>  = request(part)
    the request with its variations -> ToolShed's multi-query retrieval, de-duplication, reranking

It is a probe of the paper's, not a contender: structured requests with flat retrieval. A hint that comes with the question
is its request's server.
"""

from __future__ import annotations

from core.domain.params import Parameters
from core.routers.base import Match, Question, Router, Scene, Verdict
from core.routers.orchestrating import Finding, orchestrate, verdict
from core.routers.tool_fusion import Fused, FusionParameters, fused, wordings_of
from core.routers.toolshed import flat, told


class Hybrid(Router):
    """A structured request, flat retrieval."""

    id = "hybrid"
    title = "Hybrid"
    paper = "ETOM: A Five-Level Benchmark for Evaluating Tool Orchestration within the MCP Ecosystem"
    summary = "MCP-Zero's structured request, looked up as ToolShed does: several wordings, no hierarchy, reranked."
    parameters = FusionParameters
    score = "fused similarity"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Request, then ToolShed's retrieval, for each part."""
        if not isinstance(parameters, FusionParameters):
            raise TypeError(f"Hybrid takes FusionParameters, not {type(parameters).__name__}")
        looked: list[Fused] = []

        def find(text: str, match: Match) -> Finding:
            request = question.planner.request(text)
            asked = f"{question.hint or request.server}: {request.tool}"
            looked.append(fused(question, scene, match, wordings_of(question, asked, parameters), parameters))
            return flat(scene, looked[-1])

        parts = orchestrate(question, scene, parameters, find)
        return verdict(
            scene,
            parts,
            score=self.score,
            looked=("retrieval", "Flat: every server is looked into.", told(looked, parameters)),
            by=question.planner.name,
        )
