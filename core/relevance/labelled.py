"""Labelled sub-tasks of a catalog for fitting: signals, right tools, similarities, and the fit of weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from core.domain.feedback import LabelledQuery
from core.relevance.encoder import CachedEncoder
from core.relevance.feedback import BOUND, FLOOR, HALF, QueryMap, Vectors, closeness, shifts, targets_of
from core.relevance.relevance_index import RelevanceIndex, RelevanceModel, asked_text
from core.relevance.requests import RequestIndex, model_for, with_requests
from core.relevance.scoring import Floats, Signal, fit_of, normalised, sigmoid
from core.relevance.vectors import HalfRows

# scipy carries no types
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

# Weights of the signals, fitted to labelled sub-tasks: non-negative, shrunk towards the shipped weights
#     minimise over u >= 0   sum over sub-tasks of -ln( sum over right j of softmax_j(slope * sum_n w_n u_n f_n) )
#                            + strength * sum_n (u_n - 1)^2
# w are the shipped weights, u their factors. A label weighs as much as the shrinkage of 1 at strength 1, so few labels change
# little. scipy minimises with L-BFGS-B.


def fit_weights(
    features: NDArray[np.float32], right: NDArray[np.bool_], shipped: Floats, *, strength: float, slope: float
) -> Floats:
    """(N,) weights. `features` (Q, C, N) are the normalised signals of C tools for each of Q sub-tasks, `right` (Q, C) marks the right
    tools, at least one per sub-task. `slope` turns scores into logits.

    >>> useful, noise = np.array([[[3.0], [0.0]]] * 9), np.array([[[0.0], [2.0]]] * 9)
    >>> right = np.array([[True, False]] * 9)
    >>> x = np.concatenate([useful, noise], axis=2).astype(np.float32)
    >>> fit_weights(x, right, np.array([0.5, 0.5]), strength=4.0, slope=1.5).round(1).tolist()
    [0.7, 0.4]
    """
    from scipy.optimize import minimize  # takes a third of a second to load

    def loss(factors: Floats) -> tuple[float, Floats]:
        logits = slope * (features @ (shipped * factors).astype(np.float32)).astype(np.float64)
        chance = np.exp(logits - logits.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        hit = np.where(right, chance, 0.0)
        total = np.maximum(hit.sum(axis=1, keepdims=True), 1e-12)
        missed = (chance - hit / total).astype(np.float32)
        lost = float(-np.log(total).sum()) + strength * float(((factors - 1) ** 2).sum())
        gradient = slope * shipped * np.einsum("qc,qcn->n", missed, features) + 2 * strength * (factors - 1)
        return lost, gradient

    start, bounds = np.ones(len(shipped)), [(0.0, None)] * len(shipped)
    return shipped * minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x


# The line that calibrates logits of p_fit (Platt scaling, shrunk to none), and their calibration error. Rows are sub-tasks, columns the K
# likeliest tools for each.
#     logit' = a logit + b          minimise  sum of -ln p(outcome) + SHRINK ((a - 1)^2 + b^2)
#     ECE    = sum over ten bins of  share of the bin * | mean p - share that fits |

SHRINK = 1.0
NEWTON_STEPS = 30
BINS = 10


def fit_line(logits: Floats, fits: NDArray[np.bool_], *, shrink: float = SHRINK) -> tuple[float, float]:
    """Slope in [0.1, 10] and offset in [-10, 10] for pairs of a logit and whether the tool fits; (1, 0) for no pairs.

    >>> overrated = np.array([2.0] * 50 + [-2.0] * 50)
    >>> slope, offset = fit_line(overrated, np.array([True, False] * 25 + [False] * 50))
    >>> bool(slope < 2 and offset < -1)
    True
    """
    x, y = logits.ravel(), fits.ravel().astype(np.float64)
    design, line = np.stack([x, np.ones_like(x)], axis=1), np.array([1.0, 0.0])
    for _ in range(NEWTON_STEPS):
        chance = sigmoid(design @ line)
        gradient = design.T @ (chance - y) + 2 * shrink * (line - [1.0, 0.0])
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design + 2 * shrink * np.eye(2)
        step = np.clip(np.linalg.solve(curvature, gradient), -1.0, 1.0)
        line = line - step
        if np.abs(step).max() < 1e-6:
            break
    return float(np.clip(line[0], 0.1, 10.0)), float(np.clip(line[1], -10.0, 10.0))


def log_losses(logits: Floats, fits: NDArray[np.bool_]) -> Floats:
    """(Q,) the mean over each sub-task's pairs of -ln p(outcome).

    >>> log_losses(np.array([[0.0, 0.0]]), np.array([[True, False]])).round(3).tolist()
    [0.693]
    """
    return np.logaddexp(0.0, np.where(fits, -logits, logits)).mean(axis=1)


def calibration_error(logits: Floats, fits: NDArray[np.bool_], times: Floats | None = None) -> float:
    """ECE over all pairs; `times` (Q,) is how often each sub-task counts.

    >>> calibration_error(np.array([[0.0, 0.0]]), np.array([[True, False]]))
    0.0
    """
    chance = sigmoid(logits)
    weight = np.broadcast_to((np.ones(len(chance)) if times is None else times)[:, None], chance.shape).ravel()
    place = np.minimum((chance.ravel() * BINS).astype(np.int64), BINS - 1)
    gap = np.bincount(place, weights=weight * (chance - fits).ravel(), minlength=BINS)
    return float(np.abs(gap).sum() / max(float(weight.sum()), 1e-12))


Rows = NDArray[np.int64]
DENSE = "dense"
LIKELIEST = 200  # tools that a right tool is ranked among, beside all labelled tools
KEPT = 12  # fitted weights, maps and moved signals, which neighbouring recipes share
FITTED_ON = 64  # of the likeliest, for fitting weights


@dataclass(frozen=True, slots=True)
class QuerySignals:
    """A query: `vector` (D,) of its text with the hint; `query` (D,) of the sub-task alone, which the memory compares; `raw` signals
    (T,) each before normalising.
    """

    vector: Vectors
    query: Vectors
    raw: Mapping[str, NDArray[np.floating]]


@dataclass(frozen=True, slots=True)
class IndexScorer:
    """The relevance model over a catalog of T tools: its index, and the encoder of the index."""

    index: RelevanceIndex
    encoder: CachedEncoder
    model: RelevanceModel
    requests: RequestIndex | None = None

    @classmethod
    def of(cls, index: RelevanceIndex, encoder: CachedEncoder, requests: RequestIndex | None) -> IndexScorer:
        return cls(index, encoder, model_for(requests), requests)

    @property
    def weights(self) -> Mapping[str, float]:
        return self.model.weights

    @property
    def rows(self) -> Vectors | HalfRows:
        return self.index.rows

    def dense(self, vector: Vectors, moved: Vectors) -> Vectors:
        return self.index.dense(vector, moved)

    @property
    def slope(self) -> float:
        return self.model.fit["behind"]

    def found(self, query: LabelledQuery) -> QuerySignals:
        text = asked_text(query.query, query.server_hint)
        vector = self.encoder.encode_query(text)
        signals = with_requests(self.index.signals(text, vector), self.requests, text, vector, self.model)
        alone = self.encoder.encode_query(query.query) if query.server_hint else vector
        return QuerySignals(vector, alone, signals)

    def normalised(self, name: str, raw: Signal) -> Floats:
        return normalised(name, raw, self.model)

    def logits(
        self,
        found: QuerySignals,
        weights: Mapping[str, float],
        vector: Vectors,
        shift: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """(T,) logits of p_fit under these weights. `vector` replaces the query's vector in the dense signal; `shift` (T,) is the memory's,
        in logits.
        """
        signals = found.raw if vector is found.vector else {**found.raw, DENSE: self.dense(found.vector, vector)}
        chance = fit_of(self.index, signals, replace(self.model, weights=weights), shift).tools
        chance = np.clip(chance, 1e-12, 1 - 1e-12)
        return np.log(chance) - np.log1p(-chance)


@dataclass(frozen=True, slots=True)
class Recipe:
    """The parts of a calibration: the strength that holds the weights to the shipped weights, the ridge of the query map (None for a
    missing part), the memory's bound in logits (0 for no memory), and its floor.
    """

    strength: float | None = None
    ridge: float | None = None
    bound: float = BOUND
    floor: float = FLOOR


@dataclass(frozen=True, slots=True)
class Parts:
    recipe: Recipe
    weights: Mapping[str, float]
    query_map: QueryMap | None
    learnt_from: Rows


class LabelledSet:
    """Q sub-tasks with at least one right tool in the catalog. Signals are normalised over all tools, then kept for the C likeliest and
    all labelled tools.
    """

    def __init__(self, scorer: IndexScorer, queries: Sequence[LabelledQuery], tool_row: Mapping[str, int]) -> None:
        self.scorer = scorer
        self.queries = tuple(query for query in queries if any(tool in tool_row for tool in query.right))
        self.groups: tuple[str, ...] = tuple(query.group or query.query for query in self.queries)
        self.names = tuple(scorer.weights)
        self.right = [[tool_row[tool] for tool in query.right if tool in tool_row] for query in self.queries]
        self._votes = np.zeros((len(self.queries), len(scorer.rows)), dtype=np.float32)
        for number, query in enumerate(self.queries):
            self._votes[number, [tool_row[tool] for tool in query.wrong if tool in tool_row]] = -1.0
            self._votes[number, self.right[number]] = 1.0
        self._shipped = np.array([scorer.weights[name] for name in self.names])
        self._found = [scorer.found(query) for query in self.queries]
        self._place = self.names.index(DENSE)
        width = scorer.rows.shape[1]
        self._vectors = np.array([signals.vector for signals in self._found], dtype=np.float32).reshape(-1, width)
        alone = np.array([signals.query for signals in self._found], dtype=np.float32).reshape(-1, width)
        self._cosines = alone @ alone.T
        self._targets = targets_of(scorer.rows, self.right)
        self._prepare()
        self._fitted_weights = lru_cache(maxsize=KEPT)(self._fit_weights)
        self._map = lru_cache(maxsize=KEPT)(self._fit_map)
        self._moved_features = lru_cache(maxsize=KEPT)(self._features_under)

    def __len__(self) -> int:
        return len(self.queries)

    def _prepare(self) -> None:
        labelled = np.flatnonzero(self._votes.any(axis=0))
        width = min(len(self.scorer.rows), LIKELIEST + len(labelled))
        self.tools = np.zeros((len(self), width), dtype=np.int64)
        self._features = np.zeros((len(self), width, len(self.names)), dtype=np.float32)
        for number, signals in enumerate(self._found):
            parts = np.stack([self.scorer.normalised(name, signals.raw[name]) for name in self.names], axis=1)
            urgency = parts @ self._shipped
            urgency[labelled] += 1e6
            urgency[self.right[number]] += 1e6
            self.tools[number] = np.argsort(-urgency, kind="stable")[:width]
            self._features[number] = parts[self.tools[number]]
        self.fits = np.take_along_axis(self._votes, self.tools, axis=1) > 0

    def is_right(self, number: int) -> NDArray[np.bool_]:
        return self._votes[number] > 0

    def parts(self, recipe: Recipe, learnt_from: Rows) -> Parts:
        train = tuple(learnt_from.tolist())
        weights = self._shipped if recipe.strength is None else self._fitted_weights(recipe.strength, train)
        query_map = None if recipe.ridge is None else self._map(recipe.ridge, train)
        named = dict(zip(self.names, map(float, weights), strict=True))
        return Parts(recipe, named, query_map, learnt_from)

    def reciprocal_ranks(self, parts: Parts, asked: Rows) -> Floats:
        """(Q',) of the first right tool, by the sum of signals with the memory's shift as a score."""
        features = self._features[asked]
        if parts.query_map is not None:
            features = self._moved_features(parts.query_map, tuple(asked.tolist()))
        weights = np.array([parts.weights[name] for name in self.names], dtype=np.float32)
        scores = np.einsum(
            "qtn,n->qt", features, weights
        )  # so thin a product of BLAS may raise "invalid value" for its padding
        if parts.recipe.bound > 0:
            learnt = self._shifts(parts, asked) / self.scorer.slope
            scores = scores + np.take_along_axis(learnt, self.tools[asked], axis=1)
        return reciprocal_ranks(scores, self.fits[asked])

    def logits(self, parts: Parts, number: int) -> Floats:
        shift = None
        if parts.recipe.bound > 0 and len(parts.learnt_from):
            shift = self._shifts(parts, np.array([number]))[0]
        return self.scorer.logits(self._found[number], parts.weights, self._moved(parts, number), shift)

    def _moved(self, parts: Parts, number: int) -> Vectors:
        vector = self._vectors[number]
        return vector if parts.query_map is None else vector + parts.query_map.delta(vector)

    def _shifts(self, parts: Parts, numbers: Rows) -> Floats:
        """(Q', T) the memory of the training sub-tasks, all of a single visitor."""
        near = closeness(self._cosines[np.ix_(numbers, parts.learnt_from)], parts.recipe.floor)
        support = np.clip(near @ self._votes[parts.learnt_from], -1.0, 1.0)
        return shifts(support, parts.recipe.bound, HALF)

    def _fit_map(self, ridge: float, train: tuple[int, ...]) -> QueryMap:
        rows = np.array(train, dtype=np.int64)
        return QueryMap.fit(self._vectors[rows], self._targets[rows], ridge=ridge)

    def _features_under(self, query_map: QueryMap, numbers: tuple[int, ...]) -> NDArray[np.float32]:
        features = self._features[list(numbers)]
        moved = self._vectors[list(numbers)] + query_map.delta(self._vectors[list(numbers)])
        for place, number in enumerate(numbers):
            raw = self.scorer.dense(self._vectors[number], moved[place])
            features[place, :, self._place] = self.scorer.normalised(DENSE, raw)[self.tools[number]]
        return features

    def _fit_weights(self, strength: float, train: tuple[int, ...]) -> Floats:
        """Fits to the right tools and the likeliest other tools of each sub-task. The weights keep the sum of the shipped weights, so that
        scores keep the scale that P(nothing fits) depends on.
        """
        learnt_from = np.array(train, dtype=np.int64)
        fits = self.fits[learnt_from]
        # not `@`, because of so few columns BLAS may also read the memory beside them, and warn of it
        score = np.einsum("qtn,n->qt", self._features[learnt_from], self._shipped.astype(np.float32))
        score += np.float32(1e6) * fits
        best = np.argsort(-score, axis=1, kind="stable")[:, :FITTED_ON]
        features = np.take_along_axis(self._features[learnt_from], best[:, :, None], axis=1)
        right = np.take_along_axis(fits, best, axis=1)
        weights = fit_weights(features, right, self._shipped, strength=strength, slope=self.scorer.slope)
        return weights * (self._shipped.sum() / max(float(weights.sum()), 1e-9))


def reciprocal_ranks(scores: NDArray[np.floating], fits: NDArray[np.bool_]) -> Floats:
    """(Q,) 1 / rank of the best tool that fits. Among equal scores, tools that do not fit come first.

    >>> reciprocal_ranks(np.array([[3.0, 2.0, 1.0]]), np.array([[False, True, True]])).tolist()
    [0.5]
    """
    best = np.where(fits, scores, -np.inf).max(axis=1, keepdims=True)
    return 1.0 / (1.0 + ((scores >= best) & ~fits).sum(axis=1))
