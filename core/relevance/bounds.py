"""Bounds on the relevance of every tool from rows in eight bits, and the exact fit of the few that can matter.

    s_j in [b_j - e, b_j + e]           b_j: relevance by coarse cosines, all other signals exact; e from `core.relevance.coarse`
    near  = those with b_j + e >= t - e                t: a number that the thirty greatest b_j reach
    p_j  <= curve(b_j + e - best)       of all others, for p_fit rises with relevance

Thirty tools have a relevance of at least t - e, so the thirty best, which p_fit is made of, are all near. Means and deviations are those of
all tools. A tool with example requests has its exact cosine from the beginning: the line that their signals
start from depends on it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Fit
from core.relevance.coarse import Coarse, runs_of
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.relevance.lexical import words_and_stems
from core.relevance.refusal import Like
from core.relevance.relevance_index import DAMPED, OF_WORDS, SIGNALS, RelevanceIndex, RelevanceModel, asked_text
from core.relevance.requests import RequestIndex, like_requests
from core.relevance.scoring import (
    LEAD_LIMIT,
    TOP,
    Floats,
    Judged,
    damping,
    fit_of,
    fit_of_more,
    fit_of_parts,
    model_for,
    moments,
    moments_around,
    probabilities,
    rival_of,
    sum_of,
    with_requests,
)

Rows = NDArray[np.int64]
GROUP = 64
ROUNDING = 1e-4  # of a sum in single precision, with room to spare


@dataclass(frozen=True, slots=True)
class Lines:
    """What signals add to the sum: slope (x - mean), where slope is weight * factor / deviation. Columns (5, 1), in the order of `SIGNALS`."""

    slopes: Floats
    means: Floats

    def of(self, x: Floats) -> Floats:
        """What the signals add, in place of their values (5, K)."""
        x -= self.means
        x *= self.slopes
        return x


class BoundedFit:
    """One query over a large catalog. `near` (K,) are the rows of the tools that may be among the thirty best, ascending.

    `text` and `vector` are those of the query with its hint, `alone` the vector without. `like` is as in `fit_of`.
    """

    def __init__(
        self, index: RelevanceIndex, coarse: Coarse, model: RelevanceModel, learnt: Learnt, text: str, vector: Vectors, alone: Vectors, like: Like
    ) -> None:  # fmt: skip
        self._index, self._model, self._learnt, self._coarse = index, model, learnt, coarse
        self._vector, self._dense = vector, index.towards_tools(vector, learnt.moved(vector))
        scan = coarse.tools.started(self._dense)
        words = words_and_stems(text)
        self._words = index.fill_words(text, words, np.zeros((len(OF_WORDS), len(index.rows)), dtype=np.float32))
        self._lines = self._drawn_lines()
        self._shift = learnt.shift(alone)
        self._asked: dict[str, Floats] = {}
        self._asked_line = 0.0, 1.0
        covered = None if learnt.requests is None else self._meet_requests(learnt.requests, words)
        profiles = coarse.profiles.products(vector)
        self._base, error = scan()
        nearest = np.flatnonzero(self._base >= self._base.max() - np.float32(2 * error))
        self._error = self._add_up(error, *profiles)
        if learnt.requests is not None and covered is not None:
            if learnt.requests.enough:
                self._base += covered
            else:
                self._base[learnt.requests.tools] = covered
        if self._shift is not None:
            self._base += self._shift / model.fit["behind"]
        near = self._base >= np.float32(reached(self._base, TOP) - 2 * (self._error + ROUNDING))
        near[nearest] = True  # the greatest cosine tells whether nothing fits
        self.near: Rows = np.flatnonzero(near)
        cosines = index.rows.products(self.near, self._dense)
        runs = runs_of(index.server_of[self.near])
        judged = Judged(index.own, self.near, runs[1], len(runs[0]))
        shift = None if self._shift is None else self._shift[self.near]
        self._near_parts = self._parts(self.near, cosines, runs)
        named = self._named(self._near_parts)
        self._fit = fit_of_parts(judged, named, float(cosines.max()), model, shift, self._calibration, like)

    # The sum ----------------------------------------------------------------------------------------------------------

    def _drawn_lines(self) -> Lines:
        model, coarse = self._model, self._coarse
        drawn = [
            moments_around(*coarse.tools.moments(self._dense), model.prior["dense"]),
            moments_around(*coarse.profiles.moments(self._vector), model.prior["profile"]),
        ]
        slopes = [model.weights[name] / deviation for name, (_, deviation) in zip(SIGNALS, drawn, strict=False)]
        for name, x in zip(OF_WORDS, self._words, strict=True):
            mean, deviation = moments(x, model.prior[name])
            factor = damping(float(x.max() - mean) / deviation) if name in DAMPED else 1.0
            slopes.append(model.weights[name] * factor / deviation)
            drawn.append((mean, deviation))
        return Lines(np.array(slopes)[:, None], np.array([mean for mean, _ in drawn])[:, None])

    def _meet_requests(self, requests: RequestIndex, words: Sequence[str]) -> Floats:
        """(C,) what the tools that have requests get: their exact relevance; what requests add to it where every tool has enough of them."""
        exact = None
        if not requests.enough:
            cosines = requests.cosines(self._dense)
            exact = self._without_requests(requests.tools, cosines, requests.runs).sum(axis=0)
        self._asked, self._asked_line = requests.of_covered(words, self._vector, exact, self._model.requests)
        added = sum_of({name: self._model.weights[name] * values for name, values in self._asked.items()})
        return added if exact is None else exact + added

    def _add_up(self, error: float, profiles: Vectors, farthest: float) -> float:
        """Turns the cosines in `base`, off by `error`, into relevance, and returns how far off that is. Those of the `profiles` (S,) are off by
        `farthest`, and are used up. Tools without requests are on a line of it:
        (1 + slope) (relevance - mean) + mean.
        """
        lines, index, requests, model = self._lines, self._index, self._learnt.requests, self._model
        steep, mean = 1.0, 0.0
        if requests is not None and not requests.enough:
            slope = sum(model.weights[name] * slope for name, slope in model.requests.slope.items())
            mean, deviation = self._asked_line
            steep += slope / deviation
        slopes = steep * lines.slopes[:, 0]
        dense, profile = slopes[:2].tolist()
        profiles *= np.float32(profile)
        profiles -= np.float32(float(slopes @ lines.means[:, 0]) - (1 - steep) * mean)
        self._base *= np.float32(dense)
        self._base += profiles.take(index.server_of)
        self._base += slopes[2:].astype(np.float32) @ self._words
        return abs(dense) * error + abs(profile) * farthest + ROUNDING * steep

    # Exact, for some tools --------------------------------------------------------------------------------------------

    def _without_requests(
        self, rows: Rows, cosines: Vectors | None = None, runs: tuple[Rows, Rows] | None = None
    ) -> Floats:
        """(5, K) what every signal but requests adds to some tools, in the order of `SIGNALS`. `runs` are those of their servers."""
        index = self._index
        servers, places = runs_of(index.server_of[rows]) if runs is None else runs
        found = np.empty((len(SIGNALS), len(rows)))
        found[0] = index.rows.products(rows, self._dense) if cosines is None else cosines
        found[1] = index.profiles(self._vector, servers)[places]
        found[2:] = self._words.take(rows, axis=1)
        return self._lines.of(found)

    def _parts(self, rows: Rows, cosines: Vectors | None = None, runs: tuple[Rows, Rows] | None = None) -> Floats:
        """(P, K) what every signal adds to some tools, in the order of `SIGNALS` and then of requests."""
        without = self._without_requests(rows, cosines, runs)
        requests, model = self._learnt.requests, self._model.requests
        if requests is None:
            return without
        mean, deviation = self._asked_line
        base = (without.sum(axis=0) - mean) / deviation
        covered = requests.covered[rows]
        places = np.searchsorted(requests.tools, rows[covered])
        parts = np.empty((len(SIGNALS) + len(self._asked), len(rows)))
        parts[: len(SIGNALS)] = without
        for part, (name, values) in zip(parts[len(SIGNALS) :], self._asked.items(), strict=True):
            np.multiply(base, model.slope[name], out=part)
            part[covered] = values[places]
            np.multiply(part, self._model.weights[name], out=part)
        return parts

    def _named(self, parts: Floats) -> dict[str, Floats]:
        return dict(zip((*SIGNALS, *self._asked), parts, strict=True))

    def fit(self, rows: Rows, servers: Rows | None = None) -> Fit:
        """The fit of some tools (K,), the near ones among them, and of their servers, or of `servers`; all are rows, ascending."""
        shift = None if self._shift is None else self._shift[rows]
        places, further = np.searchsorted(rows, self.near), np.ones(len(rows), dtype=np.bool_)
        further[places] = False
        parts = np.empty((len(self._near_parts), len(rows)))
        parts[:, places], parts[:, further] = self._near_parts, self._parts(rows[further])
        judged, named = self._judged(rows, servers), self._named(parts)
        return fit_of_more(self._fit, places, judged, named, self._model, shift, self._calibration)

    def _judged(self, rows: Rows, servers: Rows | None = None) -> Judged:
        server_of = self._index.server_of[rows]
        known, places = runs_of(server_of) if servers is None else (servers, np.searchsorted(servers, server_of))
        return Judged(self._index.own, rows, places, len(known))

    # Bounds for all others --------------------------------------------------------------------------------------------

    def servers(self) -> tuple[Floats, Floats]:
        """(S,) twice: what the best tool of each server fits with at least and at most."""
        index, filled = self._index, self._coarse.filled
        rival = rival_of(float(self._fit.relevance.max()))
        others = self._base > np.float32(rival - LEAD_LIMIT - self._error)  # all farther ones fit the same
        others[self.near] = False
        rows = np.flatnonzero(others)
        servers, places = runs_of(index.server_of[rows])
        ahead = np.full(len(servers) + 1, -LEAD_LIMIT)
        np.maximum.at(ahead, places, np.clip(self._base[rows] + (self._error - rival), -LEAD_LIMIT, LEAD_LIMIT))
        # the least that any tool fits with, in the same array: the same in the last bit
        chances = probabilities(ahead, self._model, self._calibration)
        low = np.where(filled, chances[-1], 0.0)
        high = low.copy()
        high[servers] = chances[:-1]
        np.maximum.at(low, index.server_of[self.near], self._fit.tools)
        return low, np.maximum(low, high)

    @property
    def _calibration(self) -> tuple[float, float]:
        return self._learnt.values.slope, self._learnt.values.offset


def reached(values: NDArray[np.floating], count: int) -> float:
    """A number that at least `count` of values (T,) reach, and few more: the one that the greatest values of so many groups reach. Finding
    it takes a fifth of the time of a partition.
    """
    groups = max(len(values) // GROUP, 4 * count)
    each = len(values) // groups
    if not each:
        return float(values.min())
    greatest = values[: groups * each].reshape(each, groups).max(axis=0)
    return float(np.partition(greatest, groups - count)[groups - count])


# ----------------------------------------------------------------------------------------------------------------------
# One query against one catalog: the text embedded, its signals, and the probabilities of fit, in one call.


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
        asked, vector, alone, embed_ms = self._embedded(text, hint)
        learnt, values, model = self.learnt, self.learnt.values, self._weighted()
        signals = self.index.signals(asked, vector, learnt.moved(vector))
        signals = with_requests(signals, learnt.requests, asked, vector, model)
        like, line = self._like(asked, vector), (values.slope, values.offset)
        return fit_of(self.index, signals, model, learnt.shift(alone), line, like), embed_ms

    def bounds(self, text: str, hint: str) -> tuple[BoundedFit | None, float]:
        """Bounds on the same, and the ms that embedding took. Returns None for a catalog that is too small for them."""
        if self.index.coarse is None:
            return None, 0.0
        asked, vector, alone, embed_ms = self._embedded(text, hint)
        like = self._like(asked, vector)
        return BoundedFit(
            self.index, self.index.coarse, self._weighted(), self.learnt, asked, vector, alone, like
        ), embed_ms

    def likeness(self, rows: Rows) -> Floats:
        """(K, K) cosines between tools, by their own texts."""
        own = self.index.own[rows]
        return (own @ own.T).astype(np.float64)

    def _embedded(self, text: str, hint: str) -> tuple[str, Vectors, Vectors, float]:
        """The text with its hint, its vector, that without the hint where labels are met by it, and the ms that it took."""
        asked = asked_text(text, hint)
        started = time.perf_counter()
        vector = self.encoder.encode_query(asked)
        # labels are of sub-tasks: one that was asked with a hint is met by one that is asked without
        alone = self.encoder.encode_query(text) if hint and self.learnt.memory is not None else vector
        return asked, vector, alone, (time.perf_counter() - started) * 1e3

    def _like(self, asked: str, vector: Vectors) -> Like:
        return like_requests(self.learnt.requests, self.encoder, asked, vector)

    def _weighted(self) -> RelevanceModel:
        weights = self.learnt.values.weights
        return self.model if not weights else replace(self.model, weights={**self.model.weights, **weights})
