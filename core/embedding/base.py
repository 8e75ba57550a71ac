"""The interfaces of embedding: an encoder, a store of vectors, and the hash that names a text.

An `Encoder` turns N texts into an (N, D) matrix of unit rows. A `VectorStore` keeps rows by model and text hash, so
that a changed catalog costs only its changed texts.

>>> store = MemoryVectorStore()
>>> store.save_vectors("toy", {text_hash("a"): np.ones(2, dtype=np.float32)})
>>> sorted(store.load_vectors("toy", [text_hash("a"), text_hash("b")])) == [text_hash("a")]
True
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from core.shared.errors import WayfareError

Vectors = NDArray[np.float32]
MAX_CHARACTERS = 20_000  # far beyond any model's window: bounds the work that a stranger's text can cause


class EncoderError(WayfareError):
    """A model that is not there or cannot be used."""


class Encoder(Protocol):
    """Texts to unit vectors.

    `model` names model, pooling and weights, never the runtime: equal names mean interchangeable vectors.
    `note` is one sentence where the encoder is not the one that was asked for, else empty.
    """

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def note(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(N, D) float32; rows have norm 1, a blank text has a row of zeros."""
        ...

    def tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """For each text one unit row for each of its tokens, (tokens, D) float32; none for a blank text."""
        ...


class VectorStore(Protocol):
    """Vectors by model and text hash."""

    def load_vectors(self, model: str, hashes: Sequence[str], /) -> dict[str, Vectors]:
        """Those of the vectors that are in the store, (D,) each."""
        ...

    def save_vectors(self, model: str, vectors: Mapping[str, Vectors], /) -> None:
        """Keep vectors; an entry that is already there may be overwritten."""
        ...


class MemoryVectorStore:
    """A `VectorStore` that lives as long as the process."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Vectors] = {}

    def load_vectors(self, model: str, hashes: Sequence[str]) -> dict[str, Vectors]:
        return {key: self._kept[model, key] for key in hashes if (model, key) in self._kept}

    def save_vectors(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        self._kept.update({(model, key): vector for key, vector in vectors.items()})

    def of_model(self, model: str) -> dict[str, Vectors]:
        """Every vector of a model by its text's hash."""
        return {key: vector for (of, key), vector in self._kept.items() if of == model}


def text_hash(text: str) -> str:
    """The name of a text: the first 32 hex digits of its SHA-256. Any Python string has one, even with lone surrogates.

    >>> text_hash("read a file")
    '983f92956ac1a23e6e5b5c58af68db1e'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def cleaned(text: str) -> str:
    """A text as every encoder sees it: no lone surrogates (tokenizers refuse them), no edge blanks, bounded.

    >>> cleaned("  read \\ud800 a file ")
    'read ? a file'
    """
    return text[:MAX_CHARACTERS].strip().encode("utf-8", "replace").decode("utf-8")


def unit_rows(matrix: NDArray[np.floating]) -> Vectors:
    """Rows divided by their Euclidean norm; a row of zeros stays zero. (N, D) to (N, D) float32.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.ascontiguousarray(matrix / np.where(norms > 0, norms, 1.0), dtype=np.float32)
