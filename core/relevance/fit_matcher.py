"""The fit of every tool for a query: the text embedded, its signals, and the probabilities, in one call.

Up to 20,000 tools each is scored. Of a larger catalog the scorer takes the nearest thousand, which FAISS finds, the best tools by words
and by example requests, and the tools that labels raise. z-scores are over all tools: means and deviations of products are closed forms
(`core.relevance.vectors`), words are added up for every tool. A tool that is not scored fits as little as any tool can. Measured instead
of proved: docs/decisions/0025-large-catalogs.md.

Before a catalog has vectors, its tools fit by words alone, and no text is embedded:

    s       = .5 d(words) + .25 d(everyday) + .125 d(names)            d as in `core.relevance.relevance_index`
    cos_jk  = J_jk + .1                                                J: Jaccard of the stems of two tools' own texts
    p_fit_j = sigmoid(FIT . (min(lead_j, 0), max(lead_j, 0), 1))       with constants that were fitted to these scores

P(nothing fits) needs a cosine, so it is unknown, and no decision is sure: docs/decisions/0029-by-words.md.
"""

from __future__ import annotations

import time
import tomllib
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Fit
from core.domain.progress import made_once
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.relevance.lexical import Everyday, LexicalIndex, stem, terms, words_and_stems
from core.relevance.relevance_index import (
    DAMPED,
    OF_WORDS,
    SIGNALS,
    WORD_LENGTH_SHARE,
    RelevanceIndex,
    RelevanceModel,
    asked_text,
    prior_of,
    server_of_tools,
    words_of_tools,
)
from core.relevance.requests import like_requests, model_for, with_requests
from core.relevance.scoring import (
    LEAD_LIMIT,
    Floats,
    Like,
    contributions,
    damping,
    fit_of,
    fit_of_parts,
    moments,
    moments_around,
    probabilities,
    sum_of,
)
from core.relevance.text_views import names, own_text
from core.relevance.vectors import HalfRows, Moments

Rows = NDArray[np.int64]
NEAREST, BY_WORDS, BY_REQUESTS = 1_000, 300, 300


@dataclass(frozen=True, slots=True)
class FitMatcher:
    """A catalog's relevance index with its encoder, the model, and the learnt model."""

    index: RelevanceIndex
    encoder: CachedEncoder
    model: RelevanceModel
    learnt: Learnt = NOTHING_LEARNT

    @classmethod
    def of(cls, index: RelevanceIndex, encoder: CachedEncoder, learnt: Learnt = NOTHING_LEARNT) -> FitMatcher:
        return cls(index, encoder, model_for(learnt.requests), learnt)

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        index, learnt, model = self.index, self.learnt, self._weighted()
        query = asked_text(text, hint)
        started = time.perf_counter()
        vector = self.encoder.encode_query(query)
        # labels are of sub-tasks without hints
        alone = self.encoder.encode_query(text) if hint and learnt.memory is not None else vector
        embed_ms = (time.perf_counter() - started) * 1e3
        like, shift = like_requests(learnt.requests, self.encoder, query, vector), learnt.shift(alone)
        if isinstance(index.rows, HalfRows) and index.moments is not None:
            first = _First(index, index.rows, *index.moments, model, learnt)
            return first.fit(query, vector, shift, like), embed_ms
        signals = index.signals(query, vector, learnt.moved(vector))
        signals = with_requests(signals, learnt.requests, query, vector, model)
        return fit_of(index, signals, model, shift, learnt.line, like), embed_ms

    def likeness(self, rows: Rows) -> Floats:
        return self.index.likeness(rows).astype(np.float64)

    def _weighted(self) -> RelevanceModel:
        weights = self.learnt.values.weights
        return self.model if not weights else replace(self.model, weights={**self.model.weights, **weights})


@dataclass(frozen=True, slots=True)
class _First:
    """A large catalog: its index, the moments of its tools and of their servers' profiles, the model, and the learnt model."""

    index: RelevanceIndex
    rows: HalfRows
    tools: Moments
    profiles: Moments
    model: RelevanceModel
    learnt: Learnt

    def fit(self, text: str, vector: Vectors, shift: Floats | None, like: Like) -> Fit:
        """As `fit_of`, but scores the first tools alone. `vector` (D,) is the text's."""
        index, model, requests = self.index, self.model, self.learnt.requests
        dense, terms = index.towards_tools(vector, self.learnt.moved(vector)), words_and_stems(text)
        words = index.fill_words(text, terms, np.zeros((len(OF_WORDS), len(index.own)), dtype=np.float32))
        slopes, means = self._lines(dense, vector, words)
        products, nearest = self.rows.nearest(dense, NEAREST)
        chosen = np.zeros(len(index.own), dtype=np.bool_)
        chosen[nearest] = True
        chosen[_best((slopes[2:, 0].astype(np.float32) @ words), BY_WORDS)] = True
        if shift is not None:
            chosen |= shift > 0
        by_request: dict[str, Floats] = {}
        mean, deviation = 0.0, 1.0
        if requests is not None:
            base = None
            if not requests.enough:
                raw = self._raw(requests.tools, requests.rows @ dense, vector, words)
                base = _contributions(raw, slopes, means).sum(axis=0)
            by_request, (mean, deviation) = requests.of_covered(terms, vector, base, model.requests)
            added = sum_of({name: model.weights[name] * values for name, values in by_request.items()})
            chosen[requests.tools[_best(added if base is None else base + added, BY_REQUESTS)]] = True
        rows = np.flatnonzero(chosen)
        places, others = np.searchsorted(rows, nearest), np.ones(len(rows), dtype=np.bool_)
        others[places] = False
        cosines = np.empty(len(rows), dtype=np.float32)
        cosines[places], cosines[others] = products, self.rows[rows[others]] @ dense
        scored = _contributions(self._raw(rows, cosines, vector, words), slopes, means)
        parts: dict[str, Floats] = dict(zip(SIGNALS, scored, strict=True))
        if requests is not None:
            without, covered = (sum_of(parts) - mean) / deviation, requests.covered[rows]
            places = np.searchsorted(requests.tools, rows[covered])
            for name, values in by_request.items():
                part = model.requests.slope.get(name, 0.0) * without
                part[covered] = values[places]
                parts[name] = model.weights[name] * part
        fit = fit_of_parts(
            parts, lambda places: index.likeness(rows[places]), index.server_of[rows], index.servers, model,
            cosine=float(products[0]), shift=None if shift is None else shift[rows], line=self.learnt.line,
            like=lambda place: like(int(rows[place])),
        )  # fmt: skip
        return self._of_all(fit, rows, shift)

    def _lines(self, dense: Vectors, vector: Vectors, words: Vectors) -> tuple[Floats, Floats]:
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
        return np.array(slopes)[:, None], np.array([mean for mean, _ in drawn])[:, None]

    def _raw(self, rows: Rows, cosines: Vectors, vector: Vectors, words: Vectors) -> Floats:
        """(5, K) every signal but requests of some tools, in the order of `SIGNALS`. `cosines` (K,) are the dense signal."""
        servers, places = np.unique(self.index.server_of[rows], return_inverse=True)
        signals = np.empty((len(SIGNALS), len(rows)))
        signals[0] = cosines
        signals[1] = self.index.profiles(vector, servers)[places]
        signals[2:] = words.take(rows, axis=1)
        return signals

    def _of_all(self, fit: Fit, rows: Rows, shift: Floats | None) -> Fit:
        count, server_of = len(self.index.own), self.index.server_of
        least = probabilities(np.array([-LEAD_LIMIT]), self.model, self.learnt.line)[0]
        servers = np.zeros(len(fit.servers))
        servers[server_of] = least

        def every(some: Floats, other: float = 0.0) -> Floats:
            whole = np.full(count, other) if other else np.zeros(count)
            whole[rows] = some
            return whole

        return replace(
            fit,
            tools=every(fit.tools, least),
            servers=np.maximum(servers, fit.servers),
            relevance=every(fit.relevance, float(fit.relevance.min())),
            signals={name: every(values) for name, values in fit.signals.items()},
            learnt=shift,
            scored=rows,
        )


def _contributions(x: Floats, slopes: Floats, means: Floats) -> Floats:
    """slope (x - mean) of each signal; slope is weight * factor / deviation. Overwrites the values (5, K). Columns (5, 1) each."""
    x -= means
    x *= slopes
    return x


def _best(values: NDArray[np.floating], count: int) -> Rows:
    if len(values) <= count:
        return np.arange(len(values))
    return np.argpartition(values, -count)[-count:]


LESS_THAN_COSINE = 0.1
"""Jaccard coefficients of own texts plus this constant replace the vectors' cosines nearly as well (log loss .178 instead of .176, and
.195 without twins)."""
STEMS_KEPT = 4096  # tools whose stems stay in memory


@made_once
def model_by_words() -> RelevanceModel:
    """The shipped model of a catalog without vectors. Its signals are of words.

    >>> sorted(model_by_words().weights)
    ['everyday', 'names', 'words']
    """
    table = tomllib.loads(files("core.relevance").joinpath("model.toml").read_text(encoding="utf-8"))["by_words"]
    shipped = RelevanceModel.shipped()
    prior = {**shipped.prior, **prior_of(table)}
    return replace(shipped, weights=table["weights"], prior=prior, fit=table["fit"], nothing={})


class WordsFit:
    """The fit of T tools by words. Immutable; safe for several threads. `lexical` may come from a relevance index of the catalog."""

    def __init__(self, catalog: Catalog, lexical: LexicalIndex | None = None) -> None:
        self.lexical = words_of_tools(catalog) if lexical is None else lexical
        self._catalog = catalog
        self._server_of = server_of_tools(catalog)
        self._stems = lru_cache(maxsize=STEMS_KEPT)(self._stems_of)

    @cached_property
    def _names(self) -> LexicalIndex:
        texts = [names(tool) for tool in self._catalog.tools]
        return LexicalIndex(texts, words_of=words_and_stems, b=WORD_LENGTH_SHARE)

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        """The fit of every tool, and 0 ms for embedding. A hint joins the text."""
        query, model = asked_text(text, hint), model_by_words()
        table, everyday = Everyday.shipped(), np.zeros(len(self._server_of), dtype=np.float32)
        self.lexical.add(table.words_of(table.met(query)), everyday)
        signals = {
            "words": self.lexical.scores_of(words_and_stems(query)),
            "everyday": everyday,
            "names": self._names.scores_of(words_and_stems(query)),
        }
        parts, servers = contributions(signals, model), len(self._catalog.servers)
        return fit_of_parts(parts, self.likeness, self._server_of, servers, model), 0.0

    def likeness(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        sets = [self._stems(int(row)) for row in rows]
        shared = np.array([[_jaccard(first, other) for other in sets] for first in sets]).reshape(len(sets), len(sets))
        return np.minimum(shared + LESS_THAN_COSINE, 1.0)

    def _stems_of(self, row: int) -> frozenset[str]:
        return frozenset(map(stem, terms(own_text(self._catalog.tools[row]))))


def _jaccard(first: frozenset[str], other: frozenset[str]) -> float:
    """
    >>> _jaccard(frozenset("ab"), frozenset("bc")), _jaccard(frozenset(), frozenset())
    (0.3333333333333333, 0.0)
    """
    either = len(first | other)
    return len(first & other) / either if either else 0.0
