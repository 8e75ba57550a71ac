"""Refusing sub-tasks that nothing fits: the limit on P(nothing fits) for a share of wrong refusals, and its effect.

    refused        where P(nothing fits) >= limit(w)        w: wrong refusals at most, in percent of possible sub-tasks
    limit(w)       the (1 - w / 100) quantile over answerable questions of labelled catalogs, each catalog with the same weight
    impossible     a labelled question without its right tools and their equals

>>> limit_of(0.0), limit_of(5.0) > limit_of(20.0)
(1.0, True)
>>> [point.refused for point in measured_curve([0.1, 0.2], [0.3, 0.99]).points][:2]
[0.0, 0.5]
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import DOUBTFUL_FROM, NOTHING_FROM, SURE_FROM, Confidence, Fit
from core.domain.feedback import RefusalCurve, RefusalPoint
from core.domain.progress import made_once

if TYPE_CHECKING:
    from core.relevance.relevance_index import RelevanceModel

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
    known = _shipped()
    return float(np.interp(percent, known.percent, known.limit))


Like = Callable[[int], float | None]
"""How like a question is to what people ask of a tool (row), None where nobody has written that down."""
Evidence = tuple[float, float, float | None]
"""What says whether nothing fits: the spread of the best scores, the greatest cosine, and the likeness to the best tool's nearest request."""


def evidence_of(
    best: NDArray[np.float64], cosine: float, own: NDArray[np.float32], like: float | None, model: RelevanceModel
) -> Evidence:
    """From the k `best` scores, with the cosines (k, k) of those tools' own texts.

        spread = - sum over i of w_i ln(sum over j of alike_ij w_j)         w = softmax(best / temperature)

    Tools that are alike count as less than two (Leinster and Cobbold, 2012), but only where the best tool has requests: there alike_ij is
    the cosine, else 1 for the tool itself and 0 for all others.

    >>> from core.relevance.relevance_index import RelevanceModel
    >>> twins, model = np.ones((2, 2), dtype=np.float32), RelevanceModel.shipped()
    >>> [round(evidence_of(np.array([5.0, 5.0]), 0.6, twins, like, model)[0], 2) + 0.0 for like in (None, 0.9)]
    [0.69, 0.0]
    """
    weights = np.exp((best - best[0]) / model.temperature)
    weights /= weights.sum()
    shares = weights if like is None else np.maximum(own, 0.0) @ weights
    return float(-(weights * np.log(shares + 1e-12)).sum()), cosine, like


def chance_of_nothing(evidence: Evidence, model: RelevanceModel) -> float:
    """P(nothing fits): many different tools that are about as good as the best speak for it, a high cosine and likeness against it."""
    spread, cosine, like = evidence
    known = model.nothing if like is None else model.requests.nothing
    logit = known["spread"] * spread + known["cosine"] * cosine + known["one"]
    if like is not None:
        logit += known["like"] * like
    return 1.0 / (1.0 + math.exp(-logit))


def confidence_of(best: float, nothing: float | None) -> Confidence:
    """Returns the probabilities in one word: `nothing` from a P(nothing fits) of .7, else `sure` if the best tool fits with a
    probability of .8 and P(nothing fits) is below .5. Where that is not known, nothing is sure.

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
    langid: Any = import_module("py3langid.langid")  # it has no types
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    identifier.set_languages(["en", *LANGUAGES])
    return identifier


def language_of(text: str) -> str:
    """Returns the name of the language of a question, "" if it is English or not to be told. The first use takes half a second.

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
    """The inverse: the percentage of wrong refusals from which a sub-task with this P(nothing fits) is refused. None if no percentage
    refuses it.

    >>> percent_refusing(0.1), round(percent_refusing(limit_of(7.0)), 9), percent_refusing(0.99)
    (None, 7.0, 0.0)
    """
    known = _shipped()
    if chance < known.limit[-1]:
        return None
    if chance >= known.limit[0]:
        return 0.0
    return float(np.interp(chance, known.limit[::-1], known.percent[::-1]))


def measured_curve(answerable: Sequence[float], impossible: Sequence[float]) -> RefusalCurve:
    """The curve over given questions, by their P(nothing fits) with and without their right tools."""
    yes, no = np.asarray(answerable), np.asarray(impossible)
    points = [RefusalPoint(0.0, 0.0, 0.0)]
    for percent in _shipped().percent:
        limit = limit_of(percent)
        points.append(RefusalPoint(percent, float((yes >= limit).mean()), float((no >= limit).mean())))
    return RefusalCurve(tuple(points), len(yes))
