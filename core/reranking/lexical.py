"""Lexical overlap: how much of the query's words a document has, each weighed by how rare it is among the documents.

    score(q, d) = BM25(q, d) / the most that BM25 could give q           within the documents at hand (`core.index.lexical`)

A word that all candidates share says nothing between them, and weighs next to nothing here, while over a whole catalog it
may be rare.
"""

from __future__ import annotations

import numpy as np

from core.index.lexical import LexicalIndex
from core.reranking.base import Documents, Scores


class LexicalOverlap:
    """Words in common.

    >>> LexicalOverlap().rerank("read a file", Documents(("read files", "read a file"))).argmax()
    np.int64(1)
    """

    name = "lexical overlap"

    def rerank(self, query: str, documents: Documents) -> Scores:
        """See `Reranker.rerank`."""
        return LexicalIndex(documents.texts).coverage(query).astype(np.float64)
