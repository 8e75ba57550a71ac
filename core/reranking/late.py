"""Late interaction: each token of the query looks for the token of the document that is nearest in meaning (ColBERT).

    score(q, d) = (1 / |q|) * sum over tokens i of q of max over tokens j of d of <e_i, e_j>          clipped at 0

The tokens' vectors are those that the encoder makes anyway before it takes their mean (MiniLM was not trained for this).
As half of the score, beside the mixture of views, it finds at least as much on every set that was measured as the mixture does
(docs/decisions/0008-pa-rag.md). Documents are encoded once and stay in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.reranking.base import Documents, Scores, Tokens

DECIMALS = 6  # a matrix product rounds equal rows apart in the last bits; a tie must stay a tie


class LateInteraction:
    """Token vectors against token vectors."""

    name = "late interaction"

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def rerank(self, query: str, documents: Documents) -> Scores:
        """See `Reranker.rerank`."""
        of_query, *of_documents = self._tokens((query, *documents.texts))
        return max_sim(of_query, of_documents)


def max_sim(query: NDArray[Any], documents: Sequence[NDArray[Any]]) -> Scores:
    """(N,) in [0, 1] from (Q, D) unit rows of a query and (T_n, D) of each document; 0 where either has no token.

    >>> one, other = np.eye(2, dtype=np.float32)
    >>> max_sim(np.stack([one, other]), [np.stack([one, other]), one[None], np.zeros((0, 2))]).tolist()
    [1.0, 0.5, 0.0]
    """
    lengths = np.array([len(rows) for rows in documents], dtype=np.int64)
    filled = lengths > 0
    scores = np.zeros(len(lengths), dtype=np.float64)
    if len(query) and filled.any():
        starts = (np.cumsum(lengths) - lengths)[filled]
        rows = np.concatenate([rows for rows in documents if len(rows)], dtype=np.float32)
        nearest = np.maximum.reduceat(rows @ query.astype(np.float32).T, starts, axis=0)
        scores[filled] = np.clip(nearest.mean(axis=1), 0.0, 1.0)
    return scores.round(DECIMALS)
