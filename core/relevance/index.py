"""A catalog ready to be asked how well its tools fit: vectors and words of the tools, and the signals of one query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core.domain.catalog import Catalog
from core.embedding.base import Vectors
from core.embedding.cached import CachedEncoder
from core.index.lexical import LexicalIndex
from core.index.text_views import full, parameters, profile
from core.relevance.everyday import Everyday
from core.relevance.examples import Examples, shipped_examples
from core.relevance.model import VIEW_MIX
from core.relevance.views import VIEWS
from core.relevance.words import words_and_stems

WORD_LENGTH_SHARE = 0.3  # BM25's b: schemas are long for reasons that say nothing of what a tool is for
SMALL = 1e-6


class RelevanceIndex:
    """Immutable; safe for several threads. Built once for each catalog."""

    def __init__(
        self,
        catalog: Catalog,
        mixed: Vectors,
        own: Vectors,
        profiles: Vectors,
        concepts: Vectors,
        lexical: LexicalIndex,
        examples: Examples | None = None,
    ) -> None:
        self.own = own
        self.server_of = np.repeat(np.arange(len(catalog.servers)), [len(server.tools) for server in catalog.servers])
        self.servers = len(catalog.servers)
        self._mixed = mixed
        self._profiles = profiles
        self._concepts = concepts
        self._lexical = lexical
        self._examples = examples
        self._everyday = Everyday.shipped()

    @classmethod
    def build(
        cls, catalog: Catalog, encoder: CachedEncoder, *, progress: Callable[[int, int], None] | None = None
    ) -> RelevanceIndex:
        """Embed what has not been yet and index the words. `progress` is told how many texts are done, of how many."""
        texts = [*relevance_texts(catalog)]
        vectors = encoder.encode_documents(texts, progress=progress)
        count, servers = len(catalog.tools), len(catalog.servers)
        views = {name: vectors[place * count : (place + 1) * count] for place, name in enumerate(VIEW_MIX)}
        profiles = vectors[len(VIEW_MIX) * count :][:servers]
        concepts = vectors[len(VIEW_MIX) * count + servers :]
        mixed = np.zeros_like(views["full"])
        for name, share in VIEW_MIX.items():
            mixed += np.float32(share) * views[name]
        lexical = LexicalIndex(
            [f"{full(tool)} {parameters(tool)}" for tool in catalog.tools],
            words_of=words_and_stems,
            b=WORD_LENGTH_SHARE,
        )
        return cls(
            catalog,
            mixed,
            views["own"],
            profiles,
            _spread(concepts @ views["full"].T),
            lexical,
            shipped_examples(encoder.model),
        )

    @property
    def rows(self) -> Vectors:
        """(T, D): the tools' mixed views."""
        return self._mixed

    def dense(self, vector: Vectors, moved: Vectors | None = None) -> Vectors:
        """(T,) cosines with a query that examples move towards tools; `moved` (D,) takes the place of its `vector`."""
        base = vector if moved is None else moved
        if self._examples is None:
            return self._mixed @ base
        shift = self._examples.shift(vector)
        length = max(float(np.linalg.norm(vector + shift)), SMALL)
        return self._mixed @ ((base + shift) / length).astype(np.float32)

    def signals(self, text: str, vector: Vectors, moved: Vectors | None = None) -> dict[str, Vectors]:
        """What a query says of every tool, not yet normalised, (T,) each; `vector` (D,) is the text's, `moved` the one that takes
        its place in the dense signal."""
        everyday = self._everyday.met(text)
        return {
            "dense": self.dense(vector, moved),
            "profile": (self._profiles @ vector)[self.server_of],
            "words": self._lexical.scores_of(words_and_stems(text)),
            "everyday": self._lexical.weighted(self._tool_words(everyday)),
            "concept": self._concept(everyday),
        }

    def _tool_words(self, met: Mapping[int, float]) -> dict[str, float]:
        wanted: dict[str, float] = {}
        for number, weight in met.items():
            for word in self._everyday.entries[number].words:
                for token in words_and_stems(word):
                    wanted[token] = max(wanted.get(token, 0.0), weight)
        return wanted

    def _concept(self, met: Mapping[int, float]) -> Vectors:
        if not met:
            return np.zeros(len(self._mixed), dtype=np.float32)
        rows, weights = list(met), np.array(list(met.values()), dtype=np.float32)
        return weights @ self._concepts[rows]


def asked_text(subtask: str, hint: str) -> str:
    """What is embedded and looked up for a sub-task: a hint joins the text.

    >>> asked_text("read a file", "file access"), asked_text("read a file", "")
    ('file access: read a file', 'read a file')
    """
    return f"{hint}: {subtask}" if hint else subtask


def relevance_texts(catalog: Catalog) -> Sequence[str]:
    """Every text that a relevance index embeds, view by view, then the servers' profiles and the everyday concepts."""
    return [
        *(VIEWS[name](tool) for name in VIEW_MIX for tool in catalog.tools),
        *(profile(server) for server in catalog.servers),
        *(" ".join(entry.words) for entry in Everyday.shipped().entries),
    ]


def _spread(scores: Vectors) -> Vectors:
    """Rows (N, T) with mean 0 and deviation 1 over the tools."""
    if not scores.size:
        return scores
    centred = scores - scores.mean(axis=1, keepdims=True)
    return (centred / np.maximum(centred.std(axis=1, keepdims=True), SMALL)).astype(np.float32)
