"""RerankRAG of NetMCP: RAG, and a second look at the tools that it kept.

    T_c as RAG (BM25 in two stages);   score(t) = (1 - w) C(t) + w rerank(q, t) over T_c;   the best wins
    C(t) = BM25(t) / max over T_c of BM25                                                  in [0, 1]

A language model reranks in the paper, and decides alone: w = 1. Ours: an offline reranker of `core.reranking`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.domain.decision import Stage
from core.reranking import NONE
from core.routers.context import Query, RoutingContext
from core.routers.papers import NETMCP
from core.routers.rerank_step import RerankingParameters, rerank_share_knob, reranked, reranker_knob
from core.routers.two_stage import Retrieval, StageScores, TwoStageParameters, TwoStageRouter, translated


@dataclass(frozen=True)
class RerankRagParameters(RerankingParameters, TwoStageParameters):
    """RAG's settings and the reranker: one that looks at meaning, since words were counted already, and decides alone."""

    reranker: str = reranker_knob("fusion", none="RAG as it is")
    rerank_share: float = rerank_share_knob(1.0, "BM25. 1: the reranker decides alone, as in the paper.")


class RerankRag(TwoStageRouter[RerankRagParameters]):
    """Words in common (BM25) keep a few tools of a few servers; a reranker decides among those."""

    id = "rerank_rag"
    title = "RerankRAG"
    paper = NETMCP
    score = "reranked score"
    lookup = staticmethod(translated)

    def scored(
        self, query: Query, context: RoutingContext, found: Retrieval, parameters: RerankRagParameters
    ) -> StageScores:
        """BM25 as a share of the best, and the reranker's score of the kept tools."""
        rows = np.flatnonzero(found.kept)
        scores = found.tools / max(1.0, found.tools[rows].max(initial=0.0))
        scores[rows] = reranked(query, context, found.text, rows, scores[rows], found.match, parameters)
        note = f"The {len(rows)} that were kept, looked at again."
        stage = Stage("reranking", "tools", len(rows), len(rows), note, by=parameters.reranker)
        stages = () if parameters.reranker == NONE else (stage,)
        return StageScores(scores, "Highest score after reranking.", stages)
