"""ToolShed as ETOM runs it (its appendix C.2): flat retrieval over enriched tool documents, in three phases.

    before      enriched documents: name, description, parameters, hypothetical questions, key topics
    retrieval   rewrite(q), decompose into parts; each part with its variations, top-k by cosine of each (`tool_fusion`)
    after       de-duplicate, rerank, select; or reject: {server: "no", tool: "no"}

The paper's: the phases and their parameters (top-k 5 to 25, three variations, the best 10 reranked). Ours: the documents are
made by rules, the reranker is one of `core.reranking`, and a server's score is that of its best tool.
"""

from __future__ import annotations

from core.routers.context import Query
from core.routers.papers import ETOM
from core.routers.tool_fusion import FusionRouter


class Toolshed(FusionRouter):
    """Enriched tool documents, looked up in several wordings without a hierarchy, merged and reranked."""

    id = "toolshed"
    title = "ToolShed"
    paper = ETOM
    score = "fused similarity"

    def first_wording(self, query: Query, text: str) -> str:
        """The part as the planner rewrites it."""
        return query.planner.rewrite(text)
