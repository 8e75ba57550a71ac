"""RAG-MCP as EHRR's benchmark has it: similarity alone, inside the hierarchy, on the raw text of the task.

    top-k servers by Sim(q, f_i), then top-n of their tools by Sim(q, f_ij)                EHRR, section VI, "RAG-MCP [3]"

The benchmark enhances the published RAG-MCP (flat retrieval over all tools) by the two layers; `k` = 100 and more is flat.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.decision import Stage
from core.domain.params import Parameters, knob
from core.routers.base import Question, Router, Scene, Verdict
from core.routers.parameters import SIMILARITY, MatchingParameters
from core.routers.ranking import Scored, ranked_verdict, top


@dataclass(frozen=True)
class RagMcpParameters(MatchingParameters):
    """The size of the short-list; the rest is how texts are compared."""

    k: int = knob(5, symbol="k", low=1, high=100, step=1, group=SIMILARITY, help="Servers on the short-list.")


class RagMcp(Router):
    """Retrieval without economics."""

    id = "rag_mcp"
    title = "RAG-MCP"
    paper = "RAG-MCP, as the benchmark of: Clearing MCP Navigation Fog with Economics-Aware Hierarchical Tool Routing"
    summary = "Similarity alone: the most similar servers, then the most similar of their tools."
    parameters = RagMcpParameters
    score = "similarity"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Two top-k by similarity."""
        if not isinstance(parameters, RagMcpParameters):
            raise TypeError(f"RAG-MCP takes RagMcpParameters, not {type(parameters).__name__}")
        match = question.match(parameters)
        listed = top(match.servers, match.servers, scene.server_order, parameters.k)
        within = int(listed[scene.tool_server].sum())
        return ranked_verdict(
            scene,
            Scored(match.servers, match.servers),
            Scored(match.tools, match.tools),
            n=parameters.n,
            shortlisted=listed,
            score=self.score,
            stages=(
                Stage("short-list", "servers", int(listed.sum()), len(listed), "Highest similarity."),
                Stage("candidates", "tools", min(parameters.n, within), within, "Highest similarity."),
            ),
            nothing="The short-listed servers have no tools; raise k.",
        )
