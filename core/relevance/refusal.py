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

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

from core.domain.decision import DOUBTFUL_FROM, NOTHING_FROM, SURE_FROM, Confidence, Fit
from core.domain.feedback import RefusalCurve, RefusalPoint

NEVER = 1.0
"""The limit that refuses nothing: no probability reaches it."""


@dataclass(frozen=True, slots=True)
class _Shipped:
    percent: tuple[float, ...]
    limit: tuple[float, ...]
    curve: RefusalCurve


@cache
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
    """The shipped curve."""
    return _shipped().curve


def limit_of(percent: float) -> float:
    """P(nothing fits) from which a sub-task is refused, NEVER for 0. Falls as `percent` rises."""
    if percent <= 0:
        return NEVER
    known = _shipped()
    return float(np.interp(percent, known.percent, known.limit))


def confidence_of(best: float, nothing: float) -> Confidence:
    """Returns the probabilities in one word: `nothing` from a P(nothing fits) of .7, else `sure` if the best tool fits with a
    probability of .8 and P(nothing fits) is below .5.

    >>> confidence_of(0.9, 0.1), confidence_of(0.4, 0.1), confidence_of(0.9, 0.6), confidence_of(0.9, 0.99)
    ('sure', 'unsure', 'unsure', 'nothing')
    """
    if nothing >= NOTHING_FROM:
        return "nothing"
    return "sure" if best >= SURE_FROM and nothing < DOUBTFUL_FROM else "unsure"


LANGUAGES = {
    "ar": "Arabic", "de": "German", "es": "Spanish", "fr": "French", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch",
    "pl": "Polish", "pt": "Portuguese", "ru": "Russian", "tr": "Turkish", "zh": "Chinese",
}  # fmt: skip
FOREIGN_FROM = 0.9
"""A probability that 4 of 15,900 English tasks and example requests reach, and 69 of 70 questions in other languages."""


@cache
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
    """Returns the same with the language of the question. No decision on a question that is not English is sure."""
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
