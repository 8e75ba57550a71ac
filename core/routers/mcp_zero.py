"""MCP-Zero as ETOM runs it (its appendix C.3): the question becomes a request for a tool, looked up in two stages.

    server: <domain>  tool: <operation>  = request(q)
    s_i  = cos(e(server), e(f_i)),  top-s servers                          t_ij = cos(e(tool), e(d_ij))
    score = (s * t) * max(s, t),    the best of their tools                s, t clipped at 0

A hint that comes with the question is its request's server. The paper's: request, two stages, score, decomposition into
parts that are looked up one by one, enriched documents (`core.index.enriched`), rejection. Ours: a server's text counts
with the mean of its profile and its summary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.params import Parameters, knob
from core.economics.utility import ranking
from core.routers.base import Match, Question, Router, Scene, Verdict
from core.routers.enriched_documents import tool_documents
from core.routers.orchestrating import Finding, OrchestratorParameters, orchestrate, verdict
from core.routers.parameters import SIMILARITY
from core.routers.ranking import Floats, top


@dataclass(frozen=True)
class McpZeroParameters(OrchestratorParameters):
    """Breadth of both stages."""

    s: int = knob(
        5, symbol="s", low=1, high=100, step=1, group=SIMILARITY, help="Servers that are looked into (server_top_k)."
    )
    t: int = knob(20, symbol="t", low=1, high=200, step=1, group=SIMILARITY, help="Tools that come up (tool_top_k).")


class McpZero(Router):
    """A structured request, servers first."""

    id = "mcp_zero"
    title = "MCP-Zero"
    paper = "ETOM: A Five-Level Benchmark for Evaluating Tool Orchestration within the MCP Ecosystem"
    summary = 'Makes a request "server: … tool: …", takes the nearest servers, then their tools by (s·t)·max(s, t).'
    parameters = McpZeroParameters
    score = "(s·t)·max(s, t)"

    def decide(self, question: Question, scene: Scene, parameters: Parameters) -> Verdict:
        """Request, servers, tools, for each part."""
        if not isinstance(parameters, McpZeroParameters):
            raise TypeError(f"MCP-Zero takes McpZeroParameters, not {type(parameters).__name__}")
        asked: list[str] = []

        def find(text: str, match: Match) -> Finding:
            request = question.planner.request(text)
            server = question.hint or request.server
            asked.append(f"server: {server} tool: {request.tool}")
            return _find(question, scene, match, server, request.tool, parameters)

        parts = orchestrate(question, scene, parameters, find)
        return verdict(
            scene,
            parts,
            score=self.score,
            looked=("tools", f"Nearest to the request's server. {'; '.join(asked)}", "(s·t)·max(s, t), MCP-Zero."),
            by=question.planner.name,
        )


def _find(question: Question, scene: Scene, match: Match, server: str, tool: str, p: McpZeroParameters) -> Finding:
    views = [question.cosines("servers", view, server) for view in ("profile", "summary")]
    s = np.maximum(np.mean(views, axis=0), 0)
    listed = top(s, match.servers, scene.server_order, p.s)
    scores = zero_score(s[scene.tool_server], np.maximum(question.cosines_of(tool_documents(scene.catalog), tool), 0))
    within = np.flatnonzero(listed[scene.tool_server])
    best = within[ranking(scores[within], match.tools[within], scene.tool_order[within])][: p.t]
    return Finding(s, scores, listed, best)


def zero_score(s: Floats, t: Floats) -> Floats:
    """(s * t) * max(s, t) of similarities in [0, 1]: both must agree, and the stronger one counts twice.

    >>> zero_score(np.array([0.5]), np.array([0.8])).round(3).tolist()
    [0.32]
    """
    return s * t * np.maximum(s, t)
