"""ETOM's Hybrid (its appendix C.4): MCP-Zero's request in place of ToolShed's rewriting, the rest as ToolShed.

    server: <domain>  tool: <operation>  = request(part)
    the request with its variations -> ToolShed's multi-query retrieval, de-duplication, reranking

It is a probe of the paper's, not a contender: structured requests with flat retrieval. A hint that comes with the query
is its request's server.
"""

from __future__ import annotations

from core.routers.context import Query
from core.routers.papers import ETOM
from core.routers.tool_fusion import FusionRouter


class Hybrid(FusionRouter):
    """MCP-Zero's structured request, looked up as ToolShed does: several wordings, no hierarchy, reranked."""

    id = "hybrid"
    title = "Hybrid"
    paper = ETOM
    score = "fused similarity"

    def first_wording(self, query: Query, text: str) -> str:
        """The request as one text."""
        request = query.planner.request(text)
        return f"{query.hint or request.server}: {request.tool}"
