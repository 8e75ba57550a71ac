"""RAG-MCP as EHRR's benchmark has it: similarity alone, inside the hierarchy, on the raw text of the task.

    top-k servers by Sim(q, f_i), then top-n of their tools by Sim(q, f_ij)                EHRR, section VI, "RAG-MCP [3]"

The benchmark enhances the published RAG-MCP (flat retrieval over all tools) by the two layers; `k` = 100 and more is flat.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.domain.decision import Stage
from core.domain.params import Range, knob
from core.routers.base import EHRR, Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.parameters import FIT, SIMILARITY, MatchingParameters
from core.routers.ranked_result import Scored, ranked_result, top


@dataclass(frozen=True)
class RagMcpParameters(MatchingParameters):
    """The size of the short-list; the rest is how texts are compared."""

    k: int = knob(5, Range(1, 100), group=SIMILARITY, symbol="k", label="Servers on the short-list",
        help="Servers on the short-list.")  # fmt: skip


class RagMcp(Router[RagMcpParameters]):
    """Similarity alone: the most similar servers, then the most similar of their tools."""

    id = "rag_mcp"
    title = "RAG-MCP"
    paper = f"RAG-MCP, as the benchmark of: {EHRR}"
    score = "similarity"
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: RagMcpParameters) -> RoutingResult:
        """Two top-k by similarity."""
        match = query.match(parameters)
        listed = top(match.servers, match.servers, context.server_order, parameters.k)
        within = int(listed[context.tool_server].sum())
        return ranked_result(
            context,
            Scored(match.servers, match.servers),
            Scored(match.tools, query.fit().relevance if parameters.similarity == FIT else match.tools),
            n=parameters.n,
            shortlisted=listed,
            score=self.score,
            stages=(
                Stage("short-list", "servers", int(listed.sum()), len(listed), "Highest similarity."),
                Stage("candidates", "tools", min(parameters.n, within), within, "Highest similarity."),
            ),
            no_candidate="The short-listed servers have no tools; raise k.",
        )
