"""ToolShed's retrieval: one query in several wordings over enriched documents, de-duplicated, reranked.

    Q(q)       = {r} and the variations of expand(r)                 r = rewrite(q); Hybrid: r = the request's text
    score(t)   = max over q' in Q of cos(e(q'), e(d_t))              d_t: the enriched document of t (`core.index.enriched`)
    candidates = the union over q' of the top-k by cosine, at least the threshold
    rerank     : (1 - w) score(t) + w rerank(q, t) among the best of them

The paper's: wordings, k, threshold, union, a reranker that reads question and candidates. Ours: the reranker is one of
`core.reranking`, and retrieval keeps a share of the score (w): without a model that reads the
candidates a reranker alone ranks worse than retrieval.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.params import FINE_SHARE, Range, knob
from core.reranking import NONE
from core.routers.base import Router, RoutingResult
from core.routers.context import Match, Query, RoutingContext
from core.routers.enriched_documents import tool_documents
from core.routers.orchestrator import OrchestratorParameters, RetrievalNotes, Retrieved, joined_result, orchestrate
from core.routers.parameters import SIMILARITY
from core.routers.ranked_result import Floats, best_tool, top
from core.routers.rerank_step import RERANK, RerankingParameters, best_first, reranked


@dataclass(frozen=True)
class FusionParameters(RerankingParameters, OrchestratorParameters):
    """Breadth of retrieval, wordings, reranking: the parameters of ETOM's ablation study (its appendix G)."""

    k: int = knob(10, Range(1, 100), group=SIMILARITY, symbol="k", label="Tools per wording",
        help="Tools that each wording brings up (tool_top_k).")  # fmt: skip
    variations: int = knob(3, Range(0, 8), group=SIMILARITY, symbol="|Q|", label="Other wordings",
        help="Other wordings of the question that are looked up too (query_expansion_count).")  # fmt: skip
    threshold: float = knob(0.0, FINE_SHARE, group=SIMILARITY, symbol="cos₀", label="Least cosine",
        help="Least cosine of a tool that comes up.")  # fmt: skip
    rerank_top_k: int = knob(20, Range(1, 100), group=RERANK, symbol="k'", label="Candidates reranked",
        help="Candidates that are reranked.")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fused:
    """Scores of all tools (T,) in [0, 1], the retrieved rows, best first, and how many wordings were looked up."""

    scores: Floats
    rows: NDArray[np.int64]
    wordings: int


class FusionRouter(Router[FusionParameters]):
    """Flat multi-query retrieval for each part of a query. A subclass says what the first wording of a part is."""

    @abstractmethod
    def first_wording(self, query: Query, text: str) -> str:
        """The text of a part that is looked up first, and that its variations are made of."""

    def decide(self, query: Query, context: RoutingContext, parameters: FusionParameters) -> RoutingResult:
        """Parts, wordings, retrieval, selection."""
        lookups: list[Fused] = []

        def retrieve(text: str, match: Match) -> Retrieved:
            found = fused(
                query, context, match, wordings_of(query, self.first_wording(query, text), parameters), parameters
            )
            lookups.append(found)
            every = np.ones(len(context.server_names), dtype=np.bool_)
            return Retrieved(best_tool(context, found.scores), found.scores, every, found.rows)

        parts = orchestrate(query, context, parameters, retrieve)
        notes = RetrievalNotes(
            "retrieval",
            "Flat: every server is looked into.",
            _tools_note(sum(found.wordings for found in lookups), parameters),
        )
        return joined_result(context, parts, score=self.score, notes=notes, planner=query.planner.name)


def fused(query: Query, context: RoutingContext, match: Match, wordings: tuple[str, ...], p: FusionParameters) -> Fused:
    """Multi-query retrieval of `wordings`, of which the first is what is reranked by, and reranking."""
    texts = tool_documents(context.catalog)
    cosines = np.maximum([query.cosines_of(texts, wording) for wording in wordings], 0)
    scores = cosines.max(axis=0)
    best = [top(of_one, match.tools, context.tool_order, p.k) & (of_one >= p.threshold) for of_one in cosines]
    rows = np.flatnonzero(np.any(best, axis=0))
    rows = best_first(rows, scores[rows], match, context)
    first, rest = rows[: p.rerank_top_k], rows[p.rerank_top_k :]
    scores[first] = reranked(query, context, wordings[0], first, scores[first], match, p)
    return Fused(scores, np.concatenate([best_first(first, scores[first], match, context), rest]), len(wordings))


def wordings_of(query: Query, text: str, p: FusionParameters) -> tuple[str, ...]:
    """The text and its variations, each once."""
    return tuple(dict.fromkeys((text, *query.planner.expand(text, p.variations)))) if p.variations else (text,)


def _tools_note(wordings: int, p: FusionParameters) -> str:
    reranking = "not reranked" if p.reranker == NONE else f"the best {p.rerank_top_k} reranked ({p.reranker})"
    return f"{wordings} wordings of {p.k} tools each over enriched documents, merged, {reranking}."
