"""From signals to a relevance score per tool, from scores to probabilities, and the refusal of sub-tasks that nothing fits.

`core.relevance.relevance_index` has the formulas of scores and probabilities.

    refused        if P(nothing fits) >= limit(w)           w: wrong refusals at most, in percent of possible sub-tasks
    limit(w)       the (1 - w / 100) quantile over answerable questions of labelled catalogs, each catalog with an equal weight
    impossible     a labelled question without its right tools and their equals

>>> limit_of(0.0), limit_of(5.0) > limit_of(20.0)
(1.0, True)
>>> [point.refused for point in measured_curve([0.1, 0.2], [0.3, 0.99]).points][:2]
[0.0, 0.5]
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import DOUBTFUL_FROM, NOTHING_FROM, SURE_FROM, Confidence, Fit
from core.domain.feedback import RefusalCurve, RefusalPoint
from core.domain.progress import made_once
from core.relevance.relevance_index import DAMPED, RelevanceIndex, RelevanceModel

Floats = NDArray[np.float64]
Signal = NDArray[np.floating]
Like = Callable[[int], float | None]
"""The likeness of a question to the requests of a tool (row), None without requests."""
Evidence = tuple[float, float, float | None]
"""The evidence that nothing fits: the spread of the best scores, the greatest cosine, and the likeness to the best tool's nearest request."""


def sigmoid(logits: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(logits, -60.0, 60.0)))


PEAK, DAMPING = 6.0, 0.7
N0 = 30.0  # tools of a large catalog that are added to every catalog, so that a single tool has a scale too
TOP = 30
SAME_LOW, SAME_HIGH = 0.3, 0.7  # cosines of own texts, up to which two tools differ, from which they are equal
TWIN, GHOST, LEAD_LIMIT = 1.5, 2.0, 3.0
LEAST = 1e-6


def z_scores(x: Signal, prior: tuple[float, float]) -> Floats:
    """(T,) -> (T,): deviations from the mean; both moments are shrunk towards the prior. In single precision a z-score of 9 would be off by 1e-6.

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
    """`moments` from the number of values, their mean, and the sum of their squares around it, with N0 more values of the prior's mean
    and deviation.

    >>> moments_around(2, 1.5, 0.5, (0.0, 1.0)) == moments(np.array([1.0, 2.0], dtype=np.float32), (0.0, 1.0))
    True
    """
    shrunk = (size * mean + N0 * prior[0]) / (size + N0)
    around = square + size * (mean - shrunk) ** 2
    mixed = (around + N0 * (prior[1] ** 2 + (prior[0] - shrunk) ** 2)) / (size + N0)
    return shrunk, max(mixed**0.5, LEAST)


def damped(scores: Floats) -> Floats:
    """(T,) -> (T,): the largest becomes 6^0.7 max^0.3, so that a rare word does not decide alone."""
    return scores * damping(float(scores.max(initial=0.0)))


def damping(best: float) -> float:
    return (PEAK / best) ** DAMPING if best > 0.1 else 1.0


def contributions(signals: Mapping[str, Signal], model: RelevanceModel) -> dict[str, Floats]:
    return {name: model.weights[name] * normalised(name, x, model) for name, x in signals.items()}


def normalised(name: str, x: Signal, model: RelevanceModel) -> Floats:
    """(T,) a signal before its weight. Request signals are already normalised."""
    if name in model.requests.weights:
        return np.asarray(x, dtype=np.float64)
    scores = z_scores(x, model.prior[name])
    return damped(scores) if name in DAMPED else scores


def leads(best: Floats, same: Floats, forgiven: Floats | float = 0.0) -> Floats:
    """(k,) scores, best first, and (k, k) equality of two tools -> (k,): the lead over the best tool that does something else.

    `forgiven` (k, k) is the part of a rival's score (column) that does not count against a tool (row).

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
    """Probabilities of fit of every tool and server, and P(nothing fits), which is unknown without `like`.

    `shift` (T,) is the labels' effect in logits. It enters the scores, so that a tool that labels raise takes the lead from tools that
    it passes, but not from equal tools of other servers. `line` is the slope and offset of a calibration for the logits.
    """
    return fit_of_parts(
        contributions(signals, model), index.likeness, index.server_of, index.servers, model,
        cosine=float(signals["dense"].max(initial=-1.0)), shift=shift, line=line, like=like,
    )  # fmt: skip


def fit_of_parts(
    parts: Mapping[str, Floats],
    likeness: Callable[[NDArray[np.int64]], NDArray[np.floating]],
    server_of: NDArray[np.int64],
    servers: int,
    model: RelevanceModel,
    *,
    cosine: float = -1.0,
    shift: Floats | None = None,
    line: tuple[float, float] = (1.0, 0.0),
    like: Like | None = None,
) -> Fit:
    """`fit_of` from the contribution of each signal to the scores of K tools, (K,) each. The K tools must contain the thirty best tools of
    the catalog. `server_of` (K,) and `like` take a place among them, `likeness` maps some places to the cosines of the tools' own texts.
    `cosine` is the greatest dense signal of the catalog.
    """
    scores = sum_of(parts)
    lift = np.zeros(len(scores)) if shift is None else shift / model.fit["behind"]
    scores += lift
    if not len(scores):
        nothing = None if like is None else 1.0
        return Fit(np.zeros(0), np.zeros(servers), nothing, scores, parts, shift, confidence_of(0.0, nothing))
    top = best_rows(scores)
    cosines = likeness(top)
    same = np.clip((cosines - SAME_LOW) / (SAME_HIGH - SAME_LOW), 0.0, 1.0).astype(np.float64)
    elsewhere = server_of[top][:, None] != server_of[top]
    ahead = np.clip(scores - max(GHOST, float(scores[top[0]])), -LEAD_LIMIT, LEAD_LIMIT)  # other tools have no twins
    ahead[top] = leads(scores[top], same, np.maximum(lift[top], 0.0) * same * elsewhere)
    fits = probabilities(ahead, model, line)
    of_servers, nothing = np.zeros(servers), None
    np.maximum.at(of_servers, server_of, fits)
    if like is not None:
        nothing = chance_of_nothing(evidence_of(scores[top], cosine, cosines, like(int(top[0])), model), model)
    confidence = confidence_of(float(fits[top].max()), nothing)
    return Fit(fits, of_servers, nothing, scores, parts, shift, confidence)


def probabilities(ahead: Floats, model: RelevanceModel, line: tuple[float, float]) -> Floats:
    """Leads to probabilities of fit, any shape; they rise with the lead."""
    logits = model.fit["one"] + np.where(ahead > 0, model.fit["ahead"] * ahead, model.fit["behind"] * ahead)
    return sigmoid(line[0] * logits + line[1])


def nothing_fits(
    index: RelevanceIndex,
    signals: Mapping[str, Signal],
    model: RelevanceModel,
    like: Like,
    without: Sequence[int] = (),
) -> float:
    """P(nothing fits) `without` some tools (rows), 1 if no tool is left. Without the right tools, nothing fits."""
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
    cosine, best = float(left["dense"].max()), rows[top]
    return evidence_of(scores[top], cosine, index.likeness(best), like(int(best[0])), model)


def sum_of(parts: Mapping[str, Floats]) -> Floats:
    total = np.zeros(len(next(iter(parts.values()))))
    for values in parts.values():
        total += values
    return total


def best_rows(scores: Floats) -> NDArray[np.int64]:
    size = min(TOP, len(scores))
    top = np.argpartition(-scores, size - 1)[:size]
    return top[np.argsort(-scores[top], kind="stable")]


NEVER = 1.0
"""The limit that refuses nothing: no probability reaches it."""


@dataclass(frozen=True, slots=True)
class _Shipped:
    percent: tuple[float, ...]
    limit: tuple[float, ...]
    curve: RefusalCurve


@made_once
def _shipped() -> _Shipped:
    text = files("core.relevance").joinpath("model.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["refusal"]["points"]
    points = tuple(RefusalPoint(percent, wrong, refused) for percent, _, wrong, refused in rows)
    return _Shipped(
        tuple(row[0] for row in rows),
        tuple(row[1] for row in rows),
        RefusalCurve((RefusalPoint(0.0, 0.0, 0.0), *points)),
    )


def shipped_curve() -> RefusalCurve:
    return _shipped().curve


def limit_of(percent: float) -> float:
    """P(nothing fits) from which a sub-task is refused, NEVER for 0. Falls as `percent` rises."""
    if percent <= 0:
        return NEVER
    table = _shipped()
    return float(np.interp(percent, table.percent, table.limit))


def evidence_of(
    best: NDArray[np.float64], cosine: float, own: NDArray[np.float32], like: float | None, model: RelevanceModel
) -> Evidence:
    """From the k `best` scores, with the cosines (k, k) of the tools' own texts.

        spread = - sum over i of w_i ln(sum over j of alike_ij w_j)         w = softmax(best / temperature)

    Similar tools count as less than two (Leinster and Cobbold, 2012), but only if the best tool has requests. Then alike_ij is the cosine,
    else 1 for the tool itself and 0 for all other tools.

    >>> twins, model = np.ones((2, 2), dtype=np.float32), RelevanceModel.shipped()
    >>> [round(evidence_of(np.array([5.0, 5.0]), 0.6, twins, like, model)[0], 2) + 0.0 for like in (None, 0.9)]
    [0.69, 0.0]
    """
    weights = np.exp((best - best[0]) / model.temperature)
    weights /= weights.sum()
    shares = weights if like is None else np.maximum(own, 0.0) @ weights
    return float(-(weights * np.log(shares + 1e-12)).sum()), cosine, like


def chance_of_nothing(evidence: Evidence, model: RelevanceModel) -> float:
    """P(nothing fits). It rises with the number of different tools about as good as the best, and falls with cosine and likeness."""
    spread, cosine, like = evidence
    weights = model.nothing if like is None else model.requests.nothing
    logit = weights["spread"] * spread + weights["cosine"] * cosine + weights["one"]
    if like is not None:
        logit += weights["like"] * like
    return 1.0 / (1.0 + math.exp(-logit))


def confidence_of(best: float, nothing: float | None) -> Confidence:
    """Returns the probabilities in a word: `nothing` from a P(nothing fits) of .7, else `sure` if the best tool fits with a
    probability of .8 and P(nothing fits) is below .5. If that is unknown, nothing is sure.

    >>> confidence_of(0.9, 0.1), confidence_of(0.4, 0.1), confidence_of(0.9, 0.6), confidence_of(0.9, 0.99), confidence_of(0.9, None)
    ('sure', 'unsure', 'unsure', 'nothing', 'unsure')
    """
    if nothing is None:
        return "unsure"
    if nothing >= NOTHING_FROM:
        return "nothing"
    return "sure" if best >= SURE_FROM and nothing < DOUBTFUL_FROM else "unsure"


LANGUAGES = {
    "ar": "Arabic", "de": "German", "es": "Spanish", "fr": "French", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch",
    "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "tr": "Turkish", "zh": "Chinese",
}  # fmt: skip
FOREIGN_FROM = 0.9
"""A probability that 4 of 15,900 English tasks and example requests reach, and 69 of 70 questions in other languages."""


@made_once
def _identifier() -> Any:
    langid, modelio = (import_module(f"py3langid.{name}") for name in ("langid", "modelio"))  # they have no types
    weights, prior, names, moves, rows, features = modelio.load_model(langid.MODEL_DIR / langid.MODEL_FILE)
    # only the languages below: `set_languages` would keep the weights of all 97, 20 MB
    places = [place for place, name in enumerate(names) if name == "en" or name in LANGUAGES]
    chosen = weights[:, places], prior[places], [names[place] for place in places]
    return langid.LanguageIdentifier(*chosen, moves, features, norm_probs=True, tk_row=rows)


def language_of(text: str) -> str:
    """Returns the name of the language of a question, "" if it is English or unknown. The first use takes half a second.

    >>> language_of("how many people live in Malta"), language_of("wie viele Menschen leben in Malta")
    ('', 'German')
    """
    language, probability = _identifier().classify(text)
    return LANGUAGES[language] if language != "en" and probability >= FOREIGN_FROM else ""


def understood(fit: Fit, text: str) -> Fit:
    language = language_of(text)
    if not language:
        return fit
    return replace(fit, language=language, confidence="unsure" if fit.confidence == "sure" else fit.confidence)


def percent_refusing(chance: float) -> float | None:
    """The inverse of `limit_of`: the percentage of wrong refusals from which this P(nothing fits) is refused. None if no percentage
    refuses it.

    >>> percent_refusing(0.1), round(percent_refusing(limit_of(7.0)), 9), percent_refusing(0.99)
    (None, 7.0, 0.0)
    """
    table = _shipped()
    if chance < table.limit[-1]:
        return None
    if chance >= table.limit[0]:
        return 0.0
    return float(np.interp(chance, table.limit[::-1], table.percent[::-1]))


def measured_curve(answerable: Sequence[float], impossible: Sequence[float]) -> RefusalCurve:
    """The curve over questions, by their P(nothing fits) with and without their right tools."""
    yes, no = np.asarray(answerable), np.asarray(impossible)
    points = [RefusalPoint(0.0, 0.0, 0.0)]
    for percent in _shipped().percent:
        limit = limit_of(percent)
        points.append(RefusalPoint(percent, float((yes >= limit).mean()), float((no >= limit).mean())))
    return RefusalCurve(tuple(points), len(yes))
