"""Encoders: the interfaces of embedding, the hash that names a text, and the cache in front of a model.

An `Encoder` turns N texts into an (N, D) matrix of unit rows. A `VectorStore` keeps rows by model and text hash, so that a changed
catalog embeds only its changed texts.

>>> store = MemoryVectorStore()
>>> store.save_vectors("toy", {text_hash("a"): np.ones(2, dtype=np.float32)})
>>> sorted(store.load_vectors("toy", [text_hash("a"), text_hash("b")])) == [text_hash("a")]
True
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from threading import Lock
from typing import Any, Protocol

import numpy as np
from cachetools import LRUCache, cachedmethod
from cachetools.keys import methodkey
from numpy.typing import NDArray

from core.domain.errors import WayfareError
from core.domain.progress import Report, Step, silent

Vectors = NDArray[np.float32]
MAX_CHARACTERS = 20_000  # far beyond any model's window; bounds the work for a stranger's text


class EncoderError(WayfareError): ...


class Encoder(Protocol):
    """Texts to unit vectors.

    `model` names model, pooling and weights, never the runtime, so that equal names mean interchangeable vectors. `note` is a sentence if
    another encoder than the requested encoder is used, else empty.
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

    def with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Vectors]]:
        """The rows of `encode`, and for each text a unit row per token, (tokens, D) float32, none for a blank text, in a single run of the model."""
        ...


class VectorStore(Protocol):
    """Vectors by model and text hash."""

    def load_vectors(self, model: str, hashes: Sequence[str], /) -> dict[str, Vectors]: ...

    def save_vectors(self, model: str, vectors: Mapping[str, Vectors], /) -> None: ...


class MemoryVectorStore:
    """A `VectorStore` that lives as long as the process."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Vectors] = {}

    def load_vectors(self, model: str, hashes: Sequence[str]) -> dict[str, Vectors]:
        return {key: self._kept[model, key] for key in hashes if (model, key) in self._kept}

    def save_vectors(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        self._kept.update({(model, key): vector for key, vector in vectors.items()})

    def of_model(self, model: str) -> dict[str, Vectors]:
        return {key: vector for (other, key), vector in self._kept.items() if other == model}


def text_hash(text: str) -> str:
    """The name of a text: the first 32 hex digits of its SHA-256. Lone surrogates are allowed.

    >>> text_hash("read a file")
    '983f92956ac1a23e6e5b5c58af68db1e'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def cleaned(text: str) -> str:
    """A text for encoders: without lone surrogates (tokenizers refuse them) and edge blanks, bounded.

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


def eight_bits(rows: NDArray[np.floating]) -> NDArray[np.int8]:
    """Rows (N, D) in whole numbers from -127 to 127. Each keeps its direction to about a hundredth of a degree, and not its length.

    >>> eight_bits(np.array([[0.5, -1.0]])).tolist()
    [[64, -127]]
    """
    scaled: NDArray[np.floating] = rows / np.abs(rows).max(axis=1, keepdims=True, initial=1e-9) * np.float32(127)
    return np.rint(scaled).astype(np.int8)


# The cache: documents in a `VectorStore`, queries in memory; the model opens for the first text without a vector

Progress = Callable[[int, int], None]  # texts embedded so far, texts to embed
TokenVectors = NDArray[np.float16]
EMBEDDING = "Embedding texts that have no vector yet"
TOKEN_CACHE = 3072  # texts whose token vectors stay in memory, about 10 kB a request, 40 kB a definition


@dataclass(frozen=True, slots=True)
class EncoderSource:
    """An encoder before its opening: its key, its width, and the function `open`."""

    model: str
    dimension: int
    open: Callable[[], Encoder]

    @classmethod
    def of(cls, encoder: Encoder) -> EncoderSource:
        return cls(encoder.model, encoder.dimension, lambda: encoder)


class CachedEncoder:
    """An encoder with a cache. Safe for several threads. A query never waits for a catalog that is being embedded.

    `report` gets the progress of a catalog's texts.
    """

    def __init__(
        self,
        source: EncoderSource,
        store: VectorStore,
        *,
        query_cache: int = 4096,
        batch: int = 128,
        report: Report = silent,
    ) -> None:
        self.model = source.model
        self.dimension = source.dimension
        self._source = source
        self._store = store
        self._batch = batch
        self._report = report
        self._encoder: Encoder | None = None
        self._opening = Lock()
        self._building = Lock()
        self._tokens: LRUCache[str, TokenVectors] = LRUCache(TOKEN_CACHE)
        self._tokens_lock = Lock()
        self._queries: LRUCache[Any, Vectors] = LRUCache(query_cache)
        self._queries_lock = Lock()

    @property
    def note(self) -> str:
        return self._encoder.note if self._encoder is not None else ""

    @property
    def is_open(self) -> bool:
        return self._encoder is not None

    def encoder(self) -> Encoder:
        """The encoder, opened on first use. Raises EncoderError if it cannot be opened."""
        with self._opening:
            if self._encoder is None:
                self._encoder = self._source.open()
            return self._encoder

    @cachedmethod(attrgetter("_queries"), lock=attrgetter("_queries_lock"))
    def encode_query(self, text: str) -> Vectors:
        """(D,) unit vector of a text, read-only; zeros for a blank text. Caches the vector and the vectors of the tokens."""
        (vector,), (rows,) = self.encoder().with_tokens([text])
        vector.setflags(write=False)
        with self._tokens_lock:
            self._tokens[text] = rows.astype(np.float16)
        return vector

    def encode_queries(self, texts: Sequence[str]) -> None:
        """Embeds the texts that `encode_query` has not cached, in batches. Takes a third of the time of single texts."""
        with self._queries_lock:
            missing = [text for text in dict.fromkeys(texts) if methodkey(self, text) not in self._queries]
        if not missing:
            return
        vectors, tokens = self.encoder().with_tokens(missing)
        vectors.setflags(write=False)
        with self._queries_lock:
            self._queries.update((methodkey(self, text), vector) for text, vector in zip(missing, vectors, strict=True))
        with self._tokens_lock:
            self._tokens.update((text, rows.astype(np.float16)) for text, rows in zip(missing, tokens, strict=True))

    def tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """For each text a unit row per token, (tokens, D) in half precision. The latest texts are cached."""
        with self._tokens_lock:
            cached = {text: self._tokens[text] for text in texts if text in self._tokens}
        missing = [text for text in dict.fromkeys(texts) if text not in cached]
        for start in range(0, len(missing), self._batch):
            batch = missing[start : start + self._batch]
            _, tokens = self.encoder().with_tokens(batch)
            cached |= zip(batch, (rows.astype(np.float16) for rows in tokens), strict=True)
        with self._tokens_lock:
            self._tokens.update((text, cached[text]) for text in missing)
        return [cached[text] for text in texts]

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """(N, D) unit rows. Only texts without a stored vector are embedded, each once. Each batch is saved at once."""
        hashes = [text_hash(text) for text in texts]
        distinct = dict(zip(hashes, texts, strict=True))
        with self._building:
            stored = self._stored(list(distinct))
            # similar lengths together, because a batch is as wide as its longest text
            missing = sorted((key for key in distinct if key not in stored), key=lambda key: -len(distinct[key]))
            batches = [missing[start : start + self._batch] for start in range(0, len(missing), self._batch)]
            done = 0
            if progress is not None and missing:
                progress(done, len(missing))
            order: list[int] = np.random.default_rng(0).permutation(len(batches)).tolist()
            for keys in map(batches.__getitem__, order):  # drawn, so that the time so far tells the remaining time
                self._report(Step(EMBEDDING, done, len(missing), after="building the index"))
                fresh = dict(zip(keys, self.encoder().encode([distinct[key] for key in keys]), strict=True))
                self._store.save_vectors(self.model, fresh)
                stored |= fresh
                done += len(keys)
                if progress is not None:
                    progress(done, len(missing))
            self._report(None)
        vectors = np.zeros((len(hashes), self.dimension), dtype=np.float32)
        for row, key in enumerate(hashes):
            vectors[row] = stored[key]
        return vectors

    def _stored(self, hashes: Sequence[str]) -> dict[str, Vectors]:
        stored = self._store.load_vectors(self.model, hashes)
        # a square is finite if all parts are; a product takes a fifth of the time of a check of each part
        return {key: v for key, v in stored.items() if v.shape == (self.dimension,) and math.isfinite(np.dot(v, v))}
