"""The fit of every tool for a query: the text embedded, its signals, and the probabilities, in one call.

Up to 20,000 tools each is scored. Of a larger catalog the first ones are: the nearest thousand, which FAISS finds, the best by words,
those with the best example requests, and those that labels raise. z-scores are those of all tools: means and deviations of products are
closed forms (`core.relevance.half_rows`), words are added up for every tool. A tool that is not scored fits as little as any tool can.
Measured instead of proved: docs/decisions/0025-large-catalogs.md.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Fit
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.half_rows import HalfRows, Moments
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.relevance.lexical import words_and_stems
from core.relevance.refusal import Like
from core.relevance.relevance_index import DAMPED, OF_WORDS, SIGNALS, RelevanceIndex, RelevanceModel, asked_text
from core.relevance.requests import like_requests
from core.relevance.scoring import (
    LEAD_LIMIT,
    Floats,
    Judged,
    damping,
    fit_of,
    fit_of_parts,
    model_for,
    moments,
    moments_around,
    probabilities,
    sum_of,
    with_requests,
)

Rows = NDArray[np.int64]
NEAREST, BY_WORDS, BY_REQUESTS = 1_000, 300, 300


@dataclass(frozen=True, slots=True)
class FitMatcher:
    """A catalog's relevance index with the encoder that it was built with, the model, and what labels have taught."""

    index: RelevanceIndex
    encoder: CachedEncoder
    model: RelevanceModel
    learnt: Learnt = NOTHING_LEARNT

    @classmethod
    def of(cls, index: RelevanceIndex, encoder: CachedEncoder, learnt: Learnt = NOTHING_LEARNT) -> FitMatcher:
        """With the shipped model, as it is for the catalog's example requests."""
        return cls(index, encoder, model_for(learnt.requests), learnt)

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        """The fit of every tool, and the ms that embedding took. A hint joins the text for every signal."""
        index, learnt, model = self.index, self.learnt, self._weighted()
        asked = asked_text(text, hint)
        started = time.perf_counter()
        vector = self.encoder.encode_query(asked)
        # labels are of sub-tasks: one that was asked with a hint is met by one that is asked without
        alone = self.encoder.encode_query(text) if hint and learnt.memory is not None else vector
        embed_ms = (time.perf_counter() - started) * 1e3
        like, shift = like_requests(learnt.requests, self.encoder, asked, vector), learnt.shift(alone)
        if isinstance(index.rows, HalfRows) and index.moments is not None:
            first = _First(index, index.rows, *index.moments, model, learnt)
            return first.fit(asked, vector, shift, like), embed_ms
        signals = index.signals(asked, vector, learnt.moved(vector))
        signals = with_requests(signals, learnt.requests, asked, vector, model)
        return fit_of(index, signals, model, shift, learnt.line, like), embed_ms

    def likeness(self, rows: Rows) -> Floats:
        """(K, K) cosines between tools, by their own texts."""
        own = self.index.own[rows]
        return (own @ own.T).astype(np.float64)

    def _weighted(self) -> RelevanceModel:
        weights = self.learnt.values.weights
        return self.model if not weights else replace(self.model, weights={**self.model.weights, **weights})


@dataclass(frozen=True, slots=True)
class _First:
    """A large catalog: its index, the moments of its tools and of their servers' profiles, the model, and what labels have taught."""

    index: RelevanceIndex
    rows: HalfRows
    tools: Moments
    profiles: Moments
    model: RelevanceModel
    learnt: Learnt

    def fit(self, text: str, vector: Vectors, shift: Floats | None, like: Like) -> Fit:
        """As `fit_of`, with the first tools scored. `vector` (D,) is that of the text."""
        index, model, requests = self.index, self.model, self.learnt.requests
        dense, terms = index.towards_tools(vector, self.learnt.moved(vector)), words_and_stems(text)
        words = index.fill_words(text, terms, np.zeros((len(OF_WORDS), len(index.own)), dtype=np.float32))
        lines = self._lines(dense, vector, words)
        products, nearest = self.rows.nearest(dense, NEAREST)
        chosen = np.zeros(len(index.own), dtype=np.bool_)
        chosen[nearest] = True
        chosen[_best((lines.slopes[2:, 0].astype(np.float32) @ words), BY_WORDS)] = True
        if shift is not None:
            chosen |= shift > 0
        asked: dict[str, Floats] = {}
        mean, deviation = 0.0, 1.0
        if requests is not None:
            base = None
            if not requests.enough:
                base = lines.of(self._raw(requests.tools, requests.rows @ dense, vector, words)).sum(axis=0)
            asked, (mean, deviation) = requests.of_covered(terms, vector, base, model.requests)
            added = sum_of({name: model.weights[name] * values for name, values in asked.items()})
            chosen[requests.tools[_best(added if base is None else base + added, BY_REQUESTS)]] = True
        rows = np.flatnonzero(chosen)
        places, others = np.searchsorted(rows, nearest), np.ones(len(rows), dtype=np.bool_)
        others[places] = False
        cosines = np.empty(len(rows), dtype=np.float32)
        cosines[places], cosines[others] = products, self.rows[rows[others]] @ dense
        scored = lines.of(self._raw(rows, cosines, vector, words))
        parts: dict[str, Floats] = dict(zip(SIGNALS, scored, strict=True))
        if requests is not None:
            without, covered = (sum_of(parts) - mean) / deviation, requests.covered[rows]
            places = np.searchsorted(requests.tools, rows[covered])
            for name, values in asked.items():
                part = model.requests.slope.get(name, 0.0) * without
                part[covered] = values[places]
                parts[name] = model.weights[name] * part
        judged = Judged(index.own, rows, index.server_of[rows], index.servers)
        shifted, greatest = None if shift is None else shift[rows], float(products[0])
        found = fit_of_parts(judged, parts, greatest, model, shifted, self.learnt.line, like)
        return self._of_all(found, rows, shift)

    def _lines(self, dense: Vectors, vector: Vectors, words: Vectors) -> _Lines:
        model, count = self.model, len(self.index.own)
        drawn = [
            moments_around(count, *self.tools.of_products(dense), model.prior["dense"]),
            moments_around(count, *self.profiles.of_products(vector), model.prior["profile"]),
        ]
        slopes = [model.weights[name] / deviation for name, (_, deviation) in zip(SIGNALS, drawn, strict=False)]
        for name, x in zip(OF_WORDS, words, strict=True):
            mean, deviation = moments(x, model.prior[name])
            factor = damping(float(x.max() - mean) / deviation) if name in DAMPED else 1.0
            slopes.append(model.weights[name] * factor / deviation)
            drawn.append((mean, deviation))
        return _Lines(np.array(slopes)[:, None], np.array([mean for mean, _ in drawn])[:, None])

    def _raw(self, rows: Rows, cosines: Vectors, vector: Vectors, words: Vectors) -> Floats:
        """(5, K) every signal but requests of some tools, in the order of `SIGNALS`. `cosines` (K,) are the dense one."""
        servers, places = np.unique(self.index.server_of[rows], return_inverse=True)
        found = np.empty((len(SIGNALS), len(rows)))
        found[0] = cosines
        found[1] = self.index.profiles(vector, servers)[places]
        found[2:] = words.take(rows, axis=1)
        return found

    def _of_all(self, found: Fit, rows: Rows, shift: Floats | None) -> Fit:
        """The fit of the tools in these rows (K,) as one of all tools."""
        count, server_of = len(self.index.own), self.index.server_of
        least = probabilities(np.array([-LEAD_LIMIT]), self.model, self.learnt.line)[0]
        servers = np.zeros(len(found.servers))
        servers[server_of] = least

        def every(some: Floats, other: float = 0.0) -> Floats:
            whole = np.full(count, other) if other else np.zeros(count)
            whole[rows] = some
            return whole

        return replace(
            found,
            tools=every(found.tools, least),
            servers=np.maximum(servers, found.servers),
            relevance=every(found.relevance, float(found.relevance.min())),
            signals={name: every(part) for name, part in found.signals.items()},
            learnt=shift,
            scored=rows,
        )


@dataclass(frozen=True, slots=True)
class _Lines:
    """Contributions of signals to the sum: slope (x - mean), where slope is weight * factor / deviation. Columns (5, 1), in the order of `SIGNALS`."""

    slopes: Floats
    means: Floats

    def of(self, x: Floats) -> Floats:
        """The contributions of the signals, written over their values (5, K)."""
        x -= self.means
        x *= self.slopes
        return x


def _best(values: NDArray[np.floating], count: int) -> Rows:
    """The places of the greatest values (T,), in any order."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.argpartition(values, -count)[-count:]
