"""A small fusion: reciprocal ranks under every view that retrieval has, and under words in common.

    score(q, d) = (1 / |V|) * sum over views v of K / (K + rank_v(d))          rank from 0, ties share the best rank; K = 10

Cormack et al. 2009 have K = 60 for lists of a thousand; for a few dozen documents that is nearly a mean of ranks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.reranking.base import Documents, Scores
from core.reranking.lexical import LexicalOverlap

K = 10


class Fusion:
    """Views by rank, so that no view's scale counts.

    >>> Fusion().rerank("", Documents(("a", "b"), {"names": np.array([0.1, 0.9])})).round(3).tolist()
    [0.955, 1.0]
    """

    name = "rank fusion"

    def rerank(self, query: str, documents: Documents) -> Scores:
        """See `Reranker.rerank`."""
        views = (*documents.views.values(), LexicalOverlap().rerank(query, documents))
        return np.mean([K / (K + places(view)) for view in views], axis=0)


def places(scores: Scores) -> NDArray[np.int64]:
    """How many are better than each, (N,).

    >>> places(np.array([0.2, 0.9, 0.2])).tolist()
    [1, 0, 1]
    """
    return len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
