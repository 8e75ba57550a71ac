"""Every text is embedded once: documents are kept in a `VectorStore`, queries in a cache.

The model itself stays closed until a text has to be embedded that has no vector yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.embedding.base import Encoder, Vectors, VectorStore, text_hash
from core.shared.progress import Report, Step, silent

Progress = Callable[[int, int], None]  # texts embedded so far, texts to embed
TokenVectors = NDArray[np.float16]
EMBEDDING = "Embedding texts that have no vector yet"
TOKEN_CACHE = 2048  # texts whose token vectors stay in memory: about 40 kB each


@dataclass(frozen=True, slots=True)
class EncoderSource:
    """An encoder that is not open yet: its key and width are known, `open` makes it."""

    model: str
    dimension: int
    open: Callable[[], Encoder]

    @classmethod
    def of(cls, encoder: Encoder) -> EncoderSource:
        """A source of an encoder that is open already."""
        return cls(encoder.model, encoder.dimension, lambda: encoder)


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """What embedding N texts took: `vectors` (N, D), of `distinct` texts `embedded` were new; `elapsed_s` in s."""

    vectors: Vectors
    distinct: int
    embedded: int
    elapsed_s: float


class CachedEncoder:
    """An encoder with a cache. Safe for several threads; a query never waits for a catalog that is being embedded.

    `report` is told how far a catalog's texts are.
    """

    def __init__(
        self,
        source: EncoderSource,
        store: VectorStore,
        *,
        query_cache: int = 4096,
        token_cache: int = TOKEN_CACHE,
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
        self._tokens: LRUCache[str, TokenVectors] = LRUCache(token_cache)
        self._tokens_lock = Lock()
        self._query = lru_cache(maxsize=query_cache)(self._encode_one)

    @property
    def note(self) -> str:
        """The open encoder's note; empty while nothing had to be embedded."""
        return self._encoder.note if self._encoder is not None else ""

    @property
    def is_open(self) -> bool:
        """Whether a query is embedded at once, without the model being opened first."""
        return self._encoder is not None

    def encoder(self) -> Encoder:
        """The encoder itself, opened on first use. Raises EncoderError where it cannot be."""
        with self._opening:
            if self._encoder is None:
                self._encoder = self._source.open()
            return self._encoder

    def encode_query(self, text: str) -> Vectors:
        """(D,) unit vector of one text, read-only; zeros for a blank text. Repeated texts come from the cache."""
        return self._query(text)

    def encode_documents(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """(N, D) unit rows; only texts that the store does not know are embedded."""
        return self.embed(texts, progress).vectors

    def tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """For each text one unit row for each of its tokens, (tokens, D) in half precision; the latest are cached."""
        with self._tokens_lock:
            known = {text: self._tokens[text] for text in texts if text in self._tokens}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(missing), self._batch):
            batch = missing[start : start + self._batch]
            known |= zip(batch, (rows.astype(np.float16) for rows in self.encoder().tokens(batch)), strict=True)
        with self._tokens_lock:
            self._tokens.update(known)
        return [known[text] for text in texts]

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> EmbeddingReport:
        """`encode_documents` with an account of it. Each batch is saved as soon as it is done."""
        started = time.perf_counter()
        hashes = [text_hash(text) for text in texts]
        distinct = dict(zip(hashes, texts, strict=True))
        with self._building:
            known = self._stored(list(distinct))
            # texts of like length together: a batch is as wide as its longest
            missing = sorted((key for key in distinct if key not in known), key=lambda key: -len(distinct[key]))
            for start in range(0, len(missing), self._batch):
                self._report(Step(EMBEDDING, start, len(missing), after="building the index"))
                keys = missing[start : start + self._batch]
                found = dict(zip(keys, self.encoder().encode([distinct[key] for key in keys]), strict=True))
                self._store.save_vectors(self.model, found)
                known |= found
                if progress is not None:
                    progress(start + len(keys), len(missing))
            self._report(None)
        vectors = np.zeros((len(hashes), self.dimension), dtype=np.float32)
        for row, key in enumerate(hashes):
            vectors[row] = known[key]
        return EmbeddingReport(vectors, len(distinct), len(missing), time.perf_counter() - started)

    def _stored(self, hashes: Sequence[str]) -> dict[str, Vectors]:
        """What the store has, without vectors of the wrong width or with numbers that are not finite."""
        kept = self._store.load_vectors(self.model, hashes)
        return {key: v for key, v in kept.items() if v.shape == (self.dimension,) and bool(np.isfinite(v).all())}

    def _encode_one(self, text: str) -> Vectors:
        vector = self.encoder().encode([text])[0]
        vector.setflags(write=False)
        return vector
