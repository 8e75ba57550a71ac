"""A second look at the best tools of a retrieval, for the routers that rerank a list of their own.

    score'(t) = (1 - w) * score(t) + w * rerank(q, t)          score and reranker in [0, 1]

w = 1 is a reranker that decides alone, as a language model does in the papers. The offline ones of `core.reranking` were not
trained to judge: alone they rank worse than retrieval, as a share of the score better (figures in each router's defaults).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.params import SHARE, Parameters, knob
from core.economics.utility import ranking
from core.index.text_views import full
from core.reranking import NONE, RERANKERS, Documents
from core.routers.context import Match, Query, RoutingContext
from core.routers.per_catalog import per_catalog
from core.routers.ranked_result import Floats

RERANK = "reranking"


@per_catalog
def _texts(catalog: Catalog) -> tuple[str, ...]:
    return tuple(map(full, catalog.tools))


def reranker_knob(default: str, *, none: str) -> str:
    """Which reranker; `none` says what is left without one."""
    return knob(default, group=RERANK, label="Reranker", choices=(*RERANKERS, NONE),
        help="late: token by token. lexical: words in common. fusion: ranks under all views. "
        f"cross_encoder: the model that WAYFARE_RERANKER names. none: {none}.")  # fmt: skip


def rerank_share_knob(default: float, rest: str) -> float:
    """How much the reranker's score counts; `rest` says what the remaining share is."""
    return knob(default, SHARE, group=RERANK, symbol="w", label="Share of the reranker",
        help=f"Share of the reranker's score; the rest is that of {rest}")  # fmt: skip


@dataclass(frozen=True)
class RerankingParameters(Parameters):
    """Which reranker, and how much its score counts."""

    reranker: str = reranker_knob("lexical", none="the order of retrieval")
    rerank_share: float = rerank_share_knob(0.5, "retrieval. 1: the reranker decides alone.")


def reranked(
    query: Query,
    context: RoutingContext,
    text: str,
    rows: NDArray[np.int64],
    scores: Floats,
    match: Match,
    p: RerankingParameters,
) -> Floats:
    """(K,) scores of the given rows of tools after the second look, from their scores (K,) in [0, 1]."""
    if p.reranker == NONE or not len(rows):
        return scores
    texts = _texts(context.catalog)
    documents = Documents(
        tuple(texts[row] for row in map(int, rows)), {"retrieval": scores, "similarity": match.tools[rows]}
    )
    second = RERANKERS[p.reranker](query.tokens, context.cross_encoder).rerank(text, documents)
    return (1 - p.rerank_share) * scores + p.rerank_share * second


def best_first(rows: NDArray[np.int64], scores: Floats, match: Match, context: RoutingContext) -> NDArray[np.int64]:
    """Rows of tools by their scores (K,), ties by similarity, then name."""
    return rows[ranking(scores, match.tools[rows], context.tool_order[rows])]
