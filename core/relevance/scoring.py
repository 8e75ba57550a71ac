"""From signals to a relevance score per tool, and from scores to probabilities. Pure functions; formulas in `model`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Fit
from core.relevance.encoder import Vectors
from core.relevance.refusal import Evidence, Like, chance_of_nothing, confidence_of, evidence_of
from core.relevance.relevance_index import DAMPED, RelevanceIndex, RelevanceModel

if TYPE_CHECKING:
    from core.relevance.requests import RequestIndex

# Whether probabilities of fit mean what they say, and the line that makes their logits do so (Platt scaling, shrunk to none).
#
#     logit' = a logit + b          minimise  sum of -ln p(what happened) + SHRINK ((a - 1)^2 + b^2)
#     ECE    = sum over ten bins of  share of the bin * | mean p - share that fits |
#
# Rows are sub-tasks, columns the K tools that were likeliest for each. NumPy only.

SHRINK = 1.0
NEWTON_STEPS = 30
BINS = 10
Floats = NDArray[np.float64]
Signal = NDArray[np.floating]


def sigmoid(logits: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0)))


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
    """(Q,) the mean over each sub-task's pairs of -ln p(what happened).

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


PEAK, DAMPING = 6.0, 0.7
N0 = 30.0  # tools of a large catalog that every catalog is taken to have besides its own: one of a single tool has a scale too
TOP = 30
SAME_LOW, SAME_HIGH = 0.3, 0.7  # cosines of own texts: two tools do different things, the same thing
TWIN, GHOST, LEAD_LIMIT = 1.5, 2.0, 3.0
LEAST = 1e-6


def z_scores(x: Signal, prior: tuple[float, float]) -> Floats:
    """(T,) -> (T,): deviations from the mean, both moments shrunk towards the prior's. In single precision a z-score of 9 would be off by 1e-6.

    >>> z_scores(np.array([0.5], dtype=np.float32), (0.0, 0.1)).round()
    array([4.])
    """
    mean, deviation = moments(x, prior)
    scores = x - np.float64(mean)
    scores /= deviation
    return scores


def moments(x: Signal, prior: tuple[float, float]) -> tuple[float, float]:
    values = np.asarray(x, dtype=np.float64)
    size, total = len(values), float(values.sum())
    mean = total / max(size, 1)
    return moments_around(size, mean, float(values @ values) - total * mean, prior)


def moments_around(size: int, mean: float, square: float, prior: tuple[float, float]) -> tuple[float, float]:
    """`moments` from the number of values, their mean, and the sum of their squares around it: as if N0 more values with the prior's
    mean and deviation were there.

    >>> moments_around(2, 1.5, 0.5, (0.0, 1.0)) == moments(np.array([1.0, 2.0], dtype=np.float32), (0.0, 1.0))
    True
    """
    shrunk = (size * mean + N0 * prior[0]) / (size + N0)
    around = square + size * (mean - shrunk) ** 2
    mixed = (around + N0 * (prior[1] ** 2 + (prior[0] - shrunk) ** 2)) / (size + N0)
    return shrunk, max(mixed**0.5, LEAST)


def damped(scores: Floats) -> Floats:
    """(T,) -> (T,): the largest becomes 6^0.7 max^0.3, so that one rare word does not decide alone."""
    return scores * damping(float(scores.max(initial=0.0)))


def damping(best: float) -> float:
    return (PEAK / best) ** DAMPING if best > 0.1 else 1.0


def contributions(signals: Mapping[str, Signal], model: RelevanceModel) -> dict[str, Floats]:
    return {name: model.weights[name] * normalised(name, x, model) for name, x in signals.items()}


def normalised(name: str, x: Signal, model: RelevanceModel) -> Floats:
    """(T,) a signal as it enters the sum, before its weight. Request signals are already normalised."""
    if name in model.requests.weights:
        return np.asarray(x, dtype=np.float64)
    scores = z_scores(x, model.prior[name])
    return damped(scores) if name in DAMPED else scores


def with_requests(
    signals: Mapping[str, Signal], requests: RequestIndex | None, text: str, vector: Vectors, model: RelevanceModel
) -> Mapping[str, Signal]:
    if requests is None:
        return signals
    return {
        **signals,
        **requests.signals(text, vector, lambda: sum_of(contributions(signals, model)), model.requests),
    }


def leads(best: Floats, same: Floats, forgiven: Floats | float = 0.0) -> Floats:
    """(k,) scores, best first, and (k, k) how far two tools do the same -> (k,): ahead of the best that does something else.

    `forgiven` (k, k) is what of a rival's score (column) does not count against a tool (row).

    >>> leads(np.array([5.0, 4.9, 3.0]), np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1.0]]))      # the first two are twins
    array([ 1.6,  1.4, -2. ])
    """
    rivals = best[None, :] - TWIN * same - forgiven
    np.fill_diagonal(rivals, -np.inf)
    return np.clip(best - np.maximum(rivals.max(axis=1, initial=-np.inf), GHOST), -LEAD_LIMIT, LEAD_LIMIT)


def fit_of(
    index: RelevanceIndex,
    signals: Mapping[str, Signal],
    model: RelevanceModel,
    shift: Floats | None = None,
    line: tuple[float, float] = (1.0, 0.0),
    like: Like | None = None,
) -> Fit:
    """Probabilities of fit of every tool and server, and that nothing fits, which is not known without `like`.

    `shift` (T,) is what labels add, in logits; it enters the scores, so that a tool that labels raise takes the lead from
    those that it passes, but not from tools of other servers as far as they do the same. `line` is the slope and offset that a calibration puts on the logits.
    """
    tools = Judged(index.own, np.arange(len(index.own)), index.server_of, index.servers)
    return fit_of_parts(
        tools, contributions(signals, model), float(signals["dense"].max(initial=-1.0)), model, shift, line, like
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """The tools that a fit is of: `own` (T, D) of the catalog, of which they are the `rows` (K,); `server_of` (K,) and the number of their servers."""

    own: Vectors
    rows: NDArray[np.int64]
    server_of: NDArray[np.int64]
    servers: int


def fit_of_parts(
    judged: Judged,
    parts: Mapping[str, Floats],
    cosine: float,
    model: RelevanceModel,
    shift: Floats | None,
    line: tuple[float, float],
    like: Like | None,
) -> Fit:
    """`fit_of` from what each signal adds, (K,) each. `cosine` is the greatest dense signal of the catalog. The thirty best tools of the
    catalog have to be among the K.
    """
    scores = sum_of(parts)
    lift = np.zeros(len(scores)) if shift is None else shift / model.fit["behind"]
    scores += lift
    if not len(scores):
        return Fit(np.zeros(0), np.zeros(judged.servers), 1.0, scores, parts, shift, "nothing")
    top = best_rows(scores)
    own = judged.own[judged.rows[top]]
    cosines = own @ own.T
    same = same_of(cosines)
    elsewhere = judged.server_of[top][:, None] != judged.server_of[top]
    ahead = ahead_of_rivals(scores, top, same, np.maximum(lift[top], 0.0) * same * elsewhere)
    tools = probabilities(ahead, model, line)
    nothing = None
    if like is not None:
        evidence = evidence_of(scores[top], cosine, cosines, like(int(judged.rows[top[0]])), model)
        nothing = chance_of_nothing(evidence, model)
    said = confidence_of(float(tools[top].max()), nothing)
    return Fit(tools, best_of_servers(tools, judged.server_of, judged.servers), nothing, scores, parts, shift, said)


def same_of(cosines: NDArray[np.floating]) -> Floats:
    """Cosines of own texts to how far two tools do the same, in [0, 1], any shape."""
    return np.clip((cosines - SAME_LOW) / (SAME_HIGH - SAME_LOW), 0.0, 1.0).astype(np.float64)


def ahead_of_rivals(scores: Floats, top: NDArray[np.int64], same: Floats, forgiven: Floats | float = 0.0) -> Floats:
    """(T,) how far each tool is ahead of the best that does something else. `top` are the rows of the thirty best, best first, and
    `same` and `forgiven` are those of `leads`. Tools beyond them have no twins.
    """
    ahead = np.clip(scores - max(GHOST, float(scores[top[0]])), -LEAD_LIMIT, LEAD_LIMIT)
    ahead[top] = leads(scores[top], same, forgiven)
    return ahead


def probabilities(ahead: Floats, model: RelevanceModel, line: tuple[float, float]) -> Floats:
    """Leads to probabilities of fit, any shape; they rise with the lead."""
    logits = model.fit["one"] + np.where(ahead > 0, model.fit["ahead"] * ahead, model.fit["behind"] * ahead)
    return sigmoid(line[0] * logits + line[1])


def best_of_servers(tools: Floats, server_of: NDArray[np.int64], servers: int) -> Floats:
    best = np.zeros(servers)
    np.maximum.at(best, server_of, tools)
    return best


def nothing_fits(
    index: RelevanceIndex,
    signals: Mapping[str, Signal],
    model: RelevanceModel,
    like: Like,
    without: Sequence[int] = (),
) -> float:
    """P(nothing fits) as it would be `without` some tools (rows), 1 if none is left: once its right ones are gone, nothing fits."""
    evidence = evidence_without(index, signals, model, like, without)
    return 1.0 if evidence is None else chance_of_nothing(evidence, model)


def evidence_without(
    index: RelevanceIndex, signals: Mapping[str, Signal], model: RelevanceModel, like: Like, without: Sequence[int]
) -> Evidence | None:
    rows = np.delete(np.arange(len(index.own)), list(without))
    left = {name: x[rows] for name, x in signals.items()}
    scores = sum_of(contributions(left, model))
    if not len(scores):
        return None
    top = best_rows(scores)
    own, cosine = index.own[rows[top]], float(left["dense"].max())
    return evidence_of(scores[top], cosine, own @ own.T, like(int(rows[top[0]])), model)


def sum_of(parts: Mapping[str, Floats]) -> Floats:
    total = np.zeros(len(next(iter(parts.values()))))
    for part in parts.values():
        total += part
    return total


def best_rows(scores: Floats) -> NDArray[np.int64]:
    size = min(TOP, len(scores))
    top = np.argpartition(-scores, size - 1)[:size]
    return top[np.argsort(-scores[top], kind="stable")]


def model_for(requests: RequestIndex | None) -> RelevanceModel:
    shipped = RelevanceModel.shipped()
    return shipped if requests is None else shipped.with_requests(requests.coverage, len(requests.covered))
