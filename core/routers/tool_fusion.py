"""ToolShed's retrieval: one question in several wordings over enriched documents, de-duplicated, reranked.

    Q(q)       = {r} and the variations of expand(r)                 r = rewrite(q); Hybrid: r = the request's text
    score(t)   = max over q' in Q of cos(e(q'), e(d_t))              d_t: the enriched document of t (`core.index.enriched`)
    candidates = the union over q' of the top-k by cosine, at least the threshold
    rerank     : (1 - w) score(t) + w rerank(q, t) among the best of them

The paper's: wordings, k, threshold, union, a reranker that reads question and candidates. Ours: the reranker is one of
`core.reranking`, and retrieval keeps a say (w): without a model to read them a reranker alone ranks worse than retrieval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.params import knob
from core.routers.base import Match, Question, Scene
from core.routers.enriched_documents import tool_documents
from core.routers.orchestrating import OrchestratorParameters
from core.routers.parameters import SIMILARITY
from core.routers.ranking import Floats, top
from core.routers.reranked import RERANK, RerankingParameters, best_first, reranked


@dataclass(frozen=True)
class FusionParameters(RerankingParameters, OrchestratorParameters):
    """Breadth of retrieval, wordings, reranking: the parameters of ETOM's ablation study (its appendix G)."""

    k: int = knob(
        10,
        symbol="k",
        low=1,
        high=100,
        step=1,
        group=SIMILARITY,
        help="Tools that each wording brings up (tool_top_k).",
    )
    variations: int = knob(
        3, symbol="|Q|", low=0, high=8, step=1, group=SIMILARITY,
        help="Other wordings of the question that are looked up too (query_expansion_count).",
    )  # fmt: skip
    threshold: float = knob(
        0.0, symbol="cos₀", low=0.0, high=1.0, step=0.01, group=SIMILARITY, help="Least cosine of a tool that comes up."
    )
    rerank_top_k: int = knob(
        20, symbol="k'", low=1, high=100, step=1, group=RERANK, help="Candidates that are reranked."
    )


@dataclass(frozen=True, slots=True)
class Fused:
    """Scores of all tools (T,) in [0, 1], the rows that came up, best first, and how many wordings were looked up."""

    scores: Floats
    rows: NDArray[np.int64]
    wordings: int


def fused(question: Question, scene: Scene, match: Match, wordings: tuple[str, ...], p: FusionParameters) -> Fused:
    """Multi-query retrieval of `wordings`, of which the first is what is asked, and reranking."""
    texts = tool_documents(scene.catalog)
    cosines = np.maximum([question.cosines_of(texts, wording) for wording in wordings], 0)
    scores = cosines.max(axis=0)
    up = np.any([top(line, match.tools, scene.tool_order, p.k) & (line >= p.threshold) for line in cosines], axis=0)
    rows = np.flatnonzero(up)
    rows = best_first(rows, scores[rows], match, scene)
    first, rest = rows[: p.rerank_top_k], rows[p.rerank_top_k :]
    scores[first] = reranked(question, scene, wordings[0], first, scores[first], match, p)
    return Fused(scores, np.concatenate([best_first(first, scores[first], match, scene), rest]), len(wordings))


def wordings_of(question: Question, text: str, p: FusionParameters) -> tuple[str, ...]:
    """The text and its variations, each once."""
    return tuple(dict.fromkeys((text, *question.planner.expand(text, p.variations)))) if p.variations else (text,)
