"""Bounds on the relevance of every tool from rows in eight bits, and the exact fit of the few that can matter.

    s_j in [b_j - e_j, b_j + e_j]       b_j: relevance by coarse cosines, all other signals exact; e_j from `core.relevance.coarse`
    near  = those with b_j + e_j >= t   t: the least b_j - e_j of the hundred greatest b_j
    p_j  <= curve(b_j + e_j - best)     of all others, for p_fit rises with relevance

A hundred tools have a relevance of at least t, so the hundred best are all near, and the thirty that p_fit is made of with them. Means
and deviations are those of all tools. A tool with example requests has its exact cosine from the beginning: the line that their signals
start from depends on it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Fit
from core.relevance.coarse import Coarse
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.relevance.relevance_index import DAMPED, RelevanceIndex, RelevanceModel, asked_text
from core.relevance.scoring import (
    LEAD_LIMIT,
    Floats,
    Judged,
    damping,
    fit_of,
    fit_of_parts,
    model_for,
    moments,
    moments_of_sums,
    probabilities,
    rival_of,
    sum_of,
    with_requests,
)

Rows = NDArray[np.int64]
NEAREST = 100  # tools that are surely looked at: more than a decision shows, so that the rest fits far worse
GROUP = 64
NOT_DAMPED = np.float32(1.0)
ROUNDING = 1e-4  # of a sum in single precision, with room to spare


@dataclass(frozen=True, slots=True)
class Line:
    """A signal as it enters the sum: weight * factor * (x - mean) / deviation."""

    weight: np.float32
    mean: np.float32
    deviation: np.float32
    factor: np.float32 = NOT_DAMPED

    def of(self, x: Vectors) -> Vectors:
        """What the signal adds, any shape."""
        scores = (x - self.mean) / self.deviation
        return self.weight * (scores if self.factor == 1.0 else scores * self.factor)

    @property
    def slope(self) -> np.float32:
        """What it adds for one unit of the signal."""
        return self.weight * self.factor / self.deviation


class BoundedFit:
    """One query over a large catalog. `near` (K,) are the rows of the tools that may be among the hundred best.

    `text` and `vector` are those of the query with its hint, `alone` the vector without.
    """

    def __init__(
        self, index: RelevanceIndex, coarse: Coarse, model: RelevanceModel, learnt: Learnt, text: str, vector: Vectors, alone: Vectors
    ) -> None:  # fmt: skip
        self._index, self._model, self._learnt = index, model, learnt
        self._coarse = coarse
        self._vector, self._dense = vector, index.towards_tools(vector, learnt.moved(vector))
        self._words = {name: x for name, x in index.signals_of_words(text).items() if x.any()}
        self._lines = self._drawn_lines()
        self._shift = learnt.shift(alone)
        cosines, errors, farthest = coarse.tools.products(self._dense)
        base, error = self._sums(cosines, errors)
        self._asked: dict[str, Vectors] = {}
        self._asked_line = np.float32(0.0), np.float32(1.0)
        if learnt.requests is not None:
            base, error = self._with_requests(text, base, error)
        if self._shift is not None:
            base += self._shift / model.fit["behind"]
        best = greatest_rows(base, NEAREST)
        least = float((base[best] - error[best]).min()) - 2 * ROUNDING
        self._upper = base + error
        near = self._upper >= np.float32(least)
        near |= cosines >= cosines.max() - np.float32(2 * farthest)  # the greatest cosine tells whether nothing fits
        self.near: Rows = np.flatnonzero(near)
        self._cosine = float((index.rows[self.near] @ self._dense).max())
        self._fit = self.fit(self.near)

    # The sum ----------------------------------------------------------------------------------------------------------

    def _drawn_lines(self) -> dict[str, Line]:
        model = self._model
        weights = {name: np.float32(weight) for name, weight in model.weights.items()}
        lines = {
            name: Line(weights[name], *moments_of_sums(*rows.sums(vector), model.prior[name]))
            for name, rows, vector in (
                ("dense", self._coarse.tools, self._dense),
                ("profile", self._coarse.profiles, self._vector),
            )
        }
        count = len(self._index.rows)
        for name in ("words", "everyday", "concept"):
            x = self._words.get(name)
            if x is None:  # nothing was met: zeros
                lines[name] = Line(weights[name], *moments_of_sums(count, 0.0, 0.0, model.prior[name]))
                greatest = 0.0
            else:
                lines[name] = Line(weights[name], *moments(x, model.prior[name]))
                greatest = float(x.max())
            if name in DAMPED:
                line = lines[name]
                best = max(float((np.float32(greatest) - line.mean) / line.deviation), 0.0)
                lines[name] = Line(line.weight, line.mean, line.deviation, damping(best))
        return lines

    def _sums(self, cosines: Vectors, errors: Vectors) -> tuple[Vectors, Vectors]:
        """(T,) the relevance without requests and labels, and how far off it may be."""
        lines, index = self._lines, self._index
        profiles, _, farthest = self._coarse.profiles.products(self._vector)
        means = sum(float(line.slope) * float(line.mean) for line in lines.values())
        profiles *= lines["profile"].slope
        profiles -= np.float32(means)
        base = profiles.take(index.server_of)
        base += lines["dense"].slope * cosines
        for name, x in self._words.items():
            base += lines[name].slope * x
        errors *= abs(lines["dense"].slope)
        errors += np.float32(abs(lines["profile"].slope) * farthest + ROUNDING)
        return base, errors

    def _with_requests(self, text: str, base: Vectors, error: Vectors) -> tuple[Vectors, Vectors]:
        """The same with the signals of requests: exact for tools that have some, and a line of relevance for all others."""
        requests, model = self._learnt.requests, self._model.requests
        if requests is None:
            raise TypeError("a catalog without requests")
        exact = None if requests.enough else sum_of(self._parts_without_requests(requests.tools)).astype(np.float32)
        self._asked, self._asked_line = requests.of_covered(text, self._vector, exact, model)
        weights = {name: np.float32(self._model.weights[name]) for name in model.weights}
        added = sum(
            (weights[name] * values for name, values in self._asked.items()), np.zeros(len(requests.tools), np.float32)
        )
        if exact is None:
            return base + added, error
        mean, deviation = self._asked_line
        slope = np.float32(sum(weights[name] * model.slope[name] for name in weights)) / deviation
        base = base * (1 + slope) - slope * mean
        error = error * (1 + slope)
        base[requests.tools], error[requests.tools] = exact + added, 0.0
        return base, error

    # Exact, for some tools --------------------------------------------------------------------------------------------

    def _parts_without_requests(self, rows: Rows) -> dict[str, Vectors]:
        lines, index = self._lines, self._index
        servers, place = np.unique(index.server_of[rows], return_inverse=True)
        nothing = np.zeros(len(rows), dtype=np.float32)
        found = {
            "dense": lines["dense"].of(index.rows[rows] @ self._dense),
            "profile": lines["profile"].of(index.profiles(self._vector, servers))[place],
        }
        for name in ("words", "everyday", "concept"):
            found[name] = lines[name].of(self._words[name][rows] if name in self._words else nothing)
        return found

    def _parts(self, rows: Rows) -> dict[str, Vectors]:
        """What every signal adds to some tools, (K,) each."""
        parts, requests, model = self._parts_without_requests(rows), self._learnt.requests, self._model.requests
        if requests is None:
            return parts
        mean, deviation = self._asked_line
        base = (sum_of(parts).astype(np.float32) - mean) / deviation
        covered = requests.covered[rows]
        places = np.searchsorted(requests.tools, rows[covered])
        for name, values in self._asked.items():
            line = np.float32(model.slope[name]) * base
            line[covered] = values[places]
            parts[name] = np.float32(self._model.weights[name]) * line
        return parts

    def fit(self, rows: Rows, servers: Rows | None = None) -> Fit:
        """The fit of some tools (K,), the near ones among them, and of their servers, or of `servers` (rows, ascending)."""
        server_of = self._index.server_of[rows]
        known = np.unique(server_of) if servers is None else servers
        judged = Judged(self._index.own, rows, np.searchsorted(known, server_of), len(known))
        shift = None if self._shift is None else self._shift[rows]
        return fit_of_parts(judged, self._parts(rows), self._cosine, self._model, shift, self._calibration)

    # Bounds for all others --------------------------------------------------------------------------------------------

    def servers(self) -> tuple[Floats, Floats]:
        """(S,) twice: what the best tool of each server fits with at least and at most."""
        index, coarse = self._index, self._coarse
        low, high = np.zeros(index.servers), np.zeros(index.servers)
        rival = rival_of(float(self._fit.relevance.max()))
        upper = self._upper.copy()
        upper[self.near] = -np.inf
        others = np.full(index.servers, rival - LEAD_LIMIT)
        rows = np.flatnonzero(upper > np.float32(rival - LEAD_LIMIT))  # all farther ones fit the same
        np.maximum.at(others, index.server_of[rows], upper[rows].astype(np.float64))
        ahead = np.clip(others - rival, -LEAD_LIMIT, LEAD_LIMIT)
        # the least that any tool fits with, in the same array: the same in the last bit
        chances = probabilities(np.append(ahead, -LEAD_LIMIT), self._model, self._calibration)
        filled = coarse.filled
        low[filled], high[filled] = chances[-1], chances[:-1][filled]
        np.maximum.at(low, index.server_of[self.near], self._fit.tools)
        return low, np.maximum(low, high)

    @property
    def _calibration(self) -> tuple[float, float]:
        return self._learnt.values.slope, self._learnt.values.offset


def greatest_rows(values: Vectors, count: int) -> Rows:
    """At least `count` rows of values (T,), the `count` greatest among them: a limit that the greatest values of so many groups reach.
    Finding it takes a fifth of the time of a partition.
    """
    groups = max(len(values) // GROUP, 4 * count)
    each = len(values) // groups
    if not each:
        return np.arange(len(values))
    greatest = values[: groups * each].reshape(each, groups).max(axis=0)
    return np.flatnonzero(values >= np.partition(greatest, groups - count)[groups - count])


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
        return fit_of(self.index, signals, model, learnt.shift(alone), (values.slope, values.offset)), embed_ms

    def bounds(self, text: str, hint: str) -> tuple[BoundedFit | None, float]:
        """Bounds on the same, and the ms that embedding took. Returns None for a catalog that is too small for them."""
        if self.index.coarse is None:
            return None, 0.0
        asked, vector, alone, embed_ms = self._embedded(text, hint)
        return BoundedFit(self.index, self.index.coarse, self._weighted(), self.learnt, asked, vector, alone), embed_ms

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

    def _weighted(self) -> RelevanceModel:
        weights = self.learnt.values.weights
        return self.model if not weights else replace(self.model, weights={**self.model.weights, **weights})
