"""The words of a text for BM25: each as it stands and as its stem, so that a word that is met exactly counts twice.

>>> words_and_stems("booking flights")
['booking', '~book', 'flights', '~flight']
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import Stemmer  # pyright: ignore[reportMissingTypeStubs]

from core.index.lexical import terms

STEM_MARK = "~"
_PORTER: Any = Stemmer.Stemmer("porter")  # pyright: ignore


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of an English word by Porter's algorithm; a word of another language stays nearly as it is."""
    return _PORTER.stemWord(word)


def words_and_stems(text: str) -> list[str]:
    """Every term of a text, followed by its stem with a mark."""
    return [token for term in terms(text) for token in (term, STEM_MARK + stem(term))]
