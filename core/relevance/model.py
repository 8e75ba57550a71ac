"""The fitted model: weights of the signals, how a score becomes a probability, and the evidence that nothing fits.

    s       = sum over signals of w_n f_n(x_n)              f = z, damped for the signals of words
    z(x)    = (x - m) / sd                                  over the catalog's tools, shrunk towards PRIOR as if N0 more were there
    d(x)    = z(x) (6 / max z(x))^0.7                       a peak of one rare word counts less than in proportion
    lead_j  = s_j - max(GHOST, max over k != j of (s_k - TWIN same_jk))        ahead of the best tool that does something else
    doubt   = NOTHING . (spread, cosine, 1)                 spread: entropy of softmax(s / 0.4) over the thirty best; cosine: the best
    p_fit_j = sigmoid(FIT . (min(lead_j, 0), max(lead_j, 0), 1))                P(nothing fits) = sigmoid(doubt)

Every number comes from `model.toml`; docs/decisions/0015-relevance.md says how it was fitted and on what.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

VIEW_MIX = {"full": 0.50, "own": 0.26, "tool": 0.24}  # of the dense views: one mixed matrix, one product
SIGNALS = ("dense", "profile", "words", "everyday", "concept")
DAMPED = frozenset({"words", "everyday"})


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """Constants by name; `prior` holds (mean, deviation) of each signal over the tools of large catalogs."""

    weights: Mapping[str, float]
    prior: Mapping[str, tuple[float, float]]
    fit: Mapping[str, float]
    nothing: Mapping[str, float]

    @classmethod
    @cache
    def shipped(cls) -> RelevanceModel:
        """The model that comes with Wayfare.

        >>> sorted(RelevanceModel.shipped().weights) == sorted(SIGNALS)
        True
        """
        return cls.read(tomllib.loads(files("core.relevance").joinpath("model.toml").read_text(encoding="utf-8")))

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> RelevanceModel:
        """A model from its tables. Raises KeyError where one is missing."""
        prior = {name: (float(mean), float(deviation)) for name, (mean, deviation) in document["prior"].items()}
        return cls(dict(document["weights"]), prior, dict(document["fit"]), dict(document["nothing"]))
