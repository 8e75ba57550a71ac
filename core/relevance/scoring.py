"""From signals to a relevance score per tool, and from scores to probabilities. Pure functions; formulas in `model`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from core.domain.fit import Fit
from core.embedding.base import Vectors
from core.relevance.index import RelevanceIndex
from core.relevance.model import DAMPED, RelevanceModel

PEAK, DAMPING = 6.0, 0.7
N0 = 30.0  # tools of a large catalog that every catalog is taken to have besides its own: one of a single tool has a scale too
TOP = 30
SAME_LOW, SAME_HIGH = 0.3, 0.7  # cosines of own texts: two tools do different things, the same thing
TWIN, GHOST, LEAD_LIMIT = 1.5, 2.0, 3.0
SPREAD_TEMPERATURE = 0.4
LEAST = 1e-6
Floats = NDArray[np.float64]


def z_scores(x: Vectors, prior: tuple[float, float]) -> Vectors:
    """(T,) -> (T,): deviations from the mean, both moments shrunk towards the prior's.

    >>> z_scores(np.array([0.5], dtype=np.float32), (0.0, 0.1)).round()
    array([4.], dtype=float32)
    """
    values = np.asarray(x, dtype=np.float32)
    size = len(values)
    mean = (float(values.sum()) + N0 * prior[0]) / (size + N0)
    centred = values - np.float32(mean)
    square = (float(np.dot(centred, centred)) + N0 * (prior[1] ** 2 + (prior[0] - mean) ** 2)) / (size + N0)
    return centred / np.float32(max(square**0.5, LEAST))


def damped(scores: Vectors) -> Vectors:
    """(T,) -> (T,): the largest becomes 6^0.7 max^0.3, so that one rare word does not decide alone."""
    best = float(scores.max(initial=0.0))
    return scores * np.float32((PEAK / best) ** DAMPING) if best > 0.1 else scores


def contributions(signals: Mapping[str, Vectors], model: RelevanceModel) -> dict[str, Vectors]:
    """What each signal adds to the relevance of each tool, (T,) each."""
    found: dict[str, Vectors] = {}
    for name, x in signals.items():
        scores = z_scores(x, model.prior[name])
        found[name] = np.float32(model.weights[name]) * (damped(scores) if name in DAMPED else scores)
    return found


def leads(best: Floats, same: Floats) -> Floats:
    """(k,) scores, best first, and (k, k) how far two tools do the same -> (k,): ahead of the best that does something else.

    >>> leads(np.array([5.0, 4.9, 3.0]), np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1.0]]))      # the first two are twins
    array([ 1.6,  1.4, -2. ])
    """
    rivals = best[None, :] - TWIN * same
    np.fill_diagonal(rivals, -np.inf)
    return np.clip(best - np.maximum(rivals.max(axis=1, initial=-np.inf), GHOST), -LEAD_LIMIT, LEAD_LIMIT)


def fit_of(
    index: RelevanceIndex,
    signals: Mapping[str, Vectors],
    model: RelevanceModel,
    shift: Floats | None = None,
    line: tuple[float, float] = (1.0, 0.0),
) -> Fit:
    """Probabilities of fit of every tool and server, and that nothing fits.

    `shift` (T,) is what labels add, in logits; it enters the scores, so that a tool that labels raise takes the lead from
    those that it passes. `line` is the slope and offset that a calibration puts on the logits.
    """
    parts = contributions(signals, model)
    scores = _sum(parts)
    if shift is not None:
        scores += shift / model.fit["behind"]
    if not len(scores):
        return Fit(np.zeros(0), np.zeros(index.servers), 1.0, scores, parts, shift)
    top = _best(scores)
    own = index.own[top]
    same = np.clip((own @ own.T - SAME_LOW) / (SAME_HIGH - SAME_LOW), 0.0, 1.0).astype(np.float64)
    doubt = _doubt(scores[top], signals, model)
    rival = max(GHOST, float(scores[top[0]]))
    ahead = np.clip(scores - rival, -LEAD_LIMIT, LEAD_LIMIT)  # tools beyond the best thirty have no twins
    ahead[top] = leads(scores[top], same)
    logits = model.fit["one"] + np.where(ahead > 0, model.fit["ahead"] * ahead, model.fit["behind"] * ahead)
    tools = _sigmoid(line[0] * logits + line[1])
    return Fit(tools, best_of_servers(tools, index), float(_sigmoid(np.array([doubt]))[0]), scores, parts, shift)


def best_of_servers(tools: Floats, index: RelevanceIndex) -> Floats:
    """(S,) the best tool's probability; 0 for a server without tools."""
    best = np.zeros(index.servers)
    np.maximum.at(best, index.server_of, tools)
    return best


def nothing_fits(signals: Mapping[str, Vectors], model: RelevanceModel, without: Sequence[int] = ()) -> float:
    """P(nothing fits) as it would be `without` some tools (rows): what was answerable has no answer once its right ones are gone.

    1 where no tool is left.
    """
    left = {name: np.delete(x, list(without)) for name, x in signals.items()}
    scores = _sum(contributions(left, model))
    if not len(scores):
        return 1.0
    return float(_sigmoid(np.array([_doubt(scores[_best(scores)], left, model)]))[0])


def _sum(parts: Mapping[str, Vectors]) -> Floats:
    """(T,) the relevance of each tool."""
    total = np.zeros(len(next(iter(parts.values()))))
    for part in parts.values():
        total += part
    return total


def _best(scores: Floats) -> NDArray[np.int64]:
    """Rows of the thirty best scores, best first."""
    size = min(TOP, len(scores))
    top = np.argpartition(-scores, size - 1)[:size]
    return top[np.argsort(-scores[top], kind="stable")]


def _doubt(best: Floats, signals: Mapping[str, Vectors], model: RelevanceModel) -> float:
    """The logit of "nothing fits": many tools that are about as good as the best speak for it, a high cosine against it."""
    weights = np.exp((best - best[0]) / SPREAD_TEMPERATURE)
    weights /= weights.sum()
    spread = float(-(weights * np.log(weights + 1e-12)).sum())
    known = model.nothing
    return known["spread"] * spread + known["cosine"] * float(signals["dense"].max()) + known["one"]


def _sigmoid(logits: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0)))
