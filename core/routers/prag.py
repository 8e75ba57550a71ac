"""PRAG, prediction-enhanced RAG of NetMCP: the question becomes the description of a tool, then BM25 in two stages.

    q' = predict_tool(q);   top-s servers by BM25(q', d_s);   top-t of their tools by BM25(q', d_t);   the best wins

The prediction (section IV-A) takes away what a question says besides: "Who founded the first luxury goods company?" asks
for a web search, and shares its words with tools about companies. SONAR is this with the network's state in the score.
"""

from __future__ import annotations

from core.routers.papers import NETMCP
from core.routers.two_stage import TwoStageParameters, TwoStageRouter, predicted


class Prag(TwoStageRouter[TwoStageParameters]):
    """Predicts the kind of tool that is wanted, then looks its words up: a few servers, a few tools, the best."""

    id = "prag"
    title = "PRAG"
    paper = NETMCP
    lookup = staticmethod(predicted)
