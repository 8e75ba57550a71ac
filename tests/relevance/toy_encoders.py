"""An encoder without a model: each word has a fixed random direction, a text is the sum of its words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from string import ascii_lowercase
from threading import Event

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from core.relevance.encoder import Vectors, cleaned, unit_rows


class WordEncoder:
    """Deterministic, and remembers its texts."""

    model = "words-v1"
    dimension = 48
    note = ""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        rows = [sum((_direction(word) for word in cleaned(text).lower().split()), np.zeros(48)) for text in texts]
        return unit_rows(np.array(rows).reshape(len(texts), 48))

    def with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """The words are the tokens."""
        words = [cleaned(text).lower().split() for text in texts]
        return self.encode(texts), [
            unit_rows(np.array(list(map(_direction, tokens))).reshape(-1, 48)) for tokens in words
        ]


@cache
def _direction(word: str) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=48)


class Gated(WordEncoder):
    """Encodes nothing before its `gate` is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Event()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Waits for the gate."""
        assert self.gate.wait(120)
        return super().encode(texts)


class Letters:
    """An encoder without a model: counts of letters."""

    model, dimension, note = "letters", 26, ""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """One row a text, of length 1."""
        rows = np.array(
            [[text.count(letter) + 0.01 for letter in ascii_lowercase] for text in map(str.lower, texts)],
            dtype=np.float32,
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """The words are the tokens."""
        return self.encode(texts), [self.encode(text.split() or [text]) for text in texts]


WORDS = 1 << 14


class WordVectors:
    """As `WordEncoder`, 384 wide and quick enough for 100,000 texts. All texts have a part in common, as those of a real model have."""

    model, dimension, note = "hashed-words", 384, ""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._words = rng.standard_normal((WORDS, self.dimension), dtype=np.float32)
        self._common = 20.0 * unit_rows(rng.standard_normal((1, self.dimension), dtype=np.float32))
        self._counted = HashingVectorizer(n_features=WORDS, alternate_sign=False, norm=None)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(N, 384) unit rows."""
        counts = self._counted.transform(texts).astype(np.float32)
        counts.data = np.sqrt(counts.data)
        return unit_rows(counts @ self._words + self._common)

    def with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """The words are the tokens."""
        return self.encode(texts), [self.encode(text.split() or [text]) for text in texts]
