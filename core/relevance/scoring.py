"""From signals to a relevance score per tool, and from scores to probabilities. Pure functions; formulas in `model`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from core.domain.fit import Fit
from core.embedding.base import Vectors
from core.index.lexical import K1
from core.relevance.index import QuerySignals, RelevanceIndex
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
    found: QuerySignals,
    model: RelevanceModel,
    shift: Floats | None = None,
    line: tuple[float, float] = (1.0, 0.0),
) -> Fit:
    """Probabilities of fit of every tool and server, and that nothing fits.

    `shift` (T,) is what labels add, in logits; it enters the scores, so that a tool that labels raise takes the lead from
    those that it passes. `line` is the slope and offset that a calibration puts on the logits.
    """
    parts = contributions(found.tools, model)
    scores = np.zeros(len(index.own))
    for part in parts.values():
        scores += part
    if shift is not None:
        scores += shift / model.fit["behind"]
    if not len(scores):
        return Fit(np.zeros(0), np.zeros(index.servers), 1.0, scores, parts, shift)
    size = min(TOP, len(scores))
    top = np.argpartition(-scores, size - 1)[:size]
    top = top[np.argsort(-scores[top], kind="stable")]
    own = index.own[top]
    same = np.clip((own @ own.T - SAME_LOW) / (SAME_HIGH - SAME_LOW), 0.0, 1.0).astype(np.float64)
    doubt = _doubt(scores[top], found, model)
    rival = max(GHOST, float(scores[top[0]]))
    ahead = np.clip(scores - rival, -LEAD_LIMIT, LEAD_LIMIT)  # tools beyond the best thirty have no twins
    ahead[top] = leads(scores[top], same)
    logits = (
        model.fit["doubt"] * doubt
        + model.fit["one"]
        + np.where(ahead > 0, model.fit["ahead"] * ahead, model.fit["behind"] * ahead)
    )
    tools = _sigmoid(line[0] * logits + line[1])
    return Fit(tools, best_of_servers(tools, index), float(_sigmoid(np.array([doubt]))[0]), scores, parts, shift)


def best_of_servers(tools: Floats, index: RelevanceIndex) -> Floats:
    """(S,) the best tool's probability; 0 for a server without tools."""
    best = np.zeros(index.servers)
    np.maximum.at(best, index.server_of, tools)
    return best


def _doubt(best: Floats, found: QuerySignals, model: RelevanceModel) -> float:
    """The logit of "nothing fits" from what the query shows, whatever the catalog's scale."""
    weights = np.exp((best - best[0]) / SPREAD_TEMPERATURE)
    weights /= weights.sum()
    asked = max(found.asked, LEAST)
    evidence = {
        "spread": float(-(weights * np.log(weights + 1e-12)).sum()),
        "met": found.met / asked,
        "cosine": float(found.tools["dense"].max()),
        "share": float(min(1.0, float(found.tools["words"].max()) / (asked * (K1 + 1.0))) ** 0.5),
        "best": float(best[0]) / 5.0,
        "one": 1.0,
    }
    return sum(model.nothing[name] * value for name, value in evidence.items())


def _sigmoid(logits: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0)))
