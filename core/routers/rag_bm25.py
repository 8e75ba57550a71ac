"""RAG, the plainest baseline of NetMCP: the query in English, BM25 in two stages, the best tool wins.

    q' = translate(q);   top-s servers by BM25(q', d_s);   top-t of their tools by BM25(q', d_t);   the best wins

The settings s3t6 to s6t12 are the paper's. Ours: "translate" is left out with rules, which know no language but the
query's own, and a rewriting by the model otherwise; ties go to the higher similarity (`core.routers.two_stage`).
"""

from __future__ import annotations

from core.routers.papers import NETMCP
from core.routers.two_stage import TwoStageParameters, TwoStageRouter, translated


class RagBm25(TwoStageRouter[TwoStageParameters]):
    """Words in common (BM25): a few servers, a few of their tools, the best of those."""

    id = "rag_bm25"
    title = "RAG (BM25)"
    paper = NETMCP
    lookup = staticmethod(translated)
