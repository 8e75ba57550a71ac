"""A decision among many tools: all of them looked at, and in two steps, in turn; and the memory that an index takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from core.relevance.encoder import Vectors, unit_rows

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

WORDS = 1 << 15


class WordVectors:
    """An encoder without a model: each word has a random direction, a text is the sum of its words, and a common part that all texts have."""

    model, dimension, note = "words", 384, ""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._words = rng.standard_normal((WORDS, self.dimension), dtype=np.float32)
        self._common = 6.0 * unit_rows(rng.standard_normal((1, self.dimension), dtype=np.float32))
        self._counted = HashingVectorizer(n_features=WORDS, alternate_sign=False, norm=None)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(N, 384) unit rows."""
        counts = self._counted.transform(texts)
        counts.data = np.sqrt(counts.data).astype(np.float32)
        return unit_rows(counts.astype(np.float32) @ self._words + self._common)
