"""MCP-Zero as ETOM runs it (its appendix C.3): the query becomes a request for a tool, looked up in two stages.

    server: <domain>  tool: <operation>  = request(q)
    s_i  = cos(e(server), e(f_i)),  top-s servers                          t_ij = cos(e(tool), e(d_ij))
    score = (s * t) * max(s, t),    the best of their tools                s, t clipped at 0

A hint that comes with the query is its request's server. The paper's: request, two stages, score, decomposition into
parts that are looked up one by one, enriched documents (`core.index.enriched`), rejection. Ours: a server's text counts
with the mean of its profile and its summary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.params import Range, knob
from core.economics.utility import ranking
from core.routers.base import Router, RoutingResult
from core.routers.context import Match, Query, RoutingContext
from core.routers.enriched_documents import tool_documents
from core.routers.orchestrator import OrchestratorParameters, RetrievalNotes, Retrieved, joined_result, orchestrate
from core.routers.papers import ETOM
from core.routers.parameters import SIMILARITY
from core.routers.ranked_result import Floats, top


@dataclass(frozen=True)
class McpZeroParameters(OrchestratorParameters):
    """Breadth of both stages."""

    s: int = knob(5, Range(1, 100), group=SIMILARITY, symbol="s", label="Servers looked into",
        help="Servers that are looked into (server_top_k).")  # fmt: skip
    t: int = knob(20, Range(1, 200), group=SIMILARITY, symbol="t", label="Tools found",
        help="Tools that come up (tool_top_k).")  # fmt: skip


class McpZero(Router[McpZeroParameters]):
    """Makes a request "server: … tool: …", takes the nearest servers, then their tools by (s·t)·max(s, t)."""

    id = "mcp_zero"
    title = "MCP-Zero"
    paper = ETOM
    score = "(s·t)·max(s, t)"

    def decide(self, query: Query, context: RoutingContext, parameters: McpZeroParameters) -> RoutingResult:
        """Request, servers, tools, for each part."""
        requests: list[str] = []

        def retrieve(text: str, match: Match) -> Retrieved:
            request = query.planner.request(text)
            server = query.hint or request.server
            requests.append(f"server: {server} tool: {request.tool}")
            return _two_stages(query, context, match, server, request.tool, parameters)

        parts = orchestrate(query, context, parameters, retrieve)
        return joined_result(
            context,
            parts,
            score=self.score,
            notes=RetrievalNotes(
                "tools", f"Nearest to the request's server. {'; '.join(requests)}", "(s·t)·max(s, t), MCP-Zero."
            ),
            planner=query.planner.name,
        )


def _two_stages(
    query: Query, context: RoutingContext, match: Match, server: str, tool: str, p: McpZeroParameters
) -> Retrieved:
    views = [query.cosines("servers", view, server) for view in ("profile", "summary")]
    s = np.maximum(np.mean(views, axis=0), 0)
    searched = top(s, match.servers, context.server_order, p.s)
    scores = zero_score(s[context.tool_server], np.maximum(query.cosines_of(tool_documents(context.catalog), tool), 0))
    within = np.flatnonzero(searched[context.tool_server])
    best = within[ranking(scores[within], match.tools[within], context.tool_order[within])][: p.t]
    return Retrieved(s, scores, searched, best)


def zero_score(s: Floats, t: Floats) -> Floats:
    """(s * t) * max(s, t) of similarities in [0, 1]: both must agree, and the stronger one counts twice.

    >>> zero_score(np.array([0.5]), np.array([0.8])).round(3).tolist()
    [0.32]
    """
    return s * t * np.maximum(s, t)
