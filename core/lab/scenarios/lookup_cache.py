"""What a simulation computes once: similarities, BM25 scores and a planner's replies follow from the text alone.

The cache keeps how long each value took to compute, so that a decision's time can be reported as it would have been without
a cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from core.domain.fit import Fit
from core.embedding.base import Vectors
from core.planning.base import Planner
from core.relevance.index import asked_text
from core.routers.context import Layer, Match, Matcher
from core.routers.parameters import MatchingParameters

T = TypeVar("T")


class LookupCache:
    """Values by key. `saved_ms` is the time that the values found in the cache had taken to compute.

    >>> cache = LookupCache()
    >>> cache("a", lambda: 1), cache("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.saved_ms = 0.0
        self._clock = clock
        self._values: dict[Hashable, tuple[Any, float]] = {}

    def __call__(self, key: Hashable, work: Callable[[], T]) -> T:
        """The value, computed where it is not in the cache."""
        cached = self._values.get(key)
        if cached is None:
            started = self._clock()
            value = work()
            self._values[key] = value, (self._clock() - started) * 1e3
            return value
        self.saved_ms += cached[1]
        return cached[0]


class CachedMatcher:
    """A matcher with a cache."""

    def __init__(self, matcher: Matcher, cache: LookupCache) -> None:
        self._matcher = matcher
        self._cache = cache

    def match(self, subtask: str, server_hint: str, parameters: MatchingParameters) -> Match:
        """See `Matcher.match`. Embedding is kept apart: a text that several routers ask for is embedded once."""
        for text in (subtask, server_hint):
            if text:
                self.embed(text)
        found = self._cache(
            ("match", subtask, server_hint, parameters),
            lambda: self._matcher.match(subtask, server_hint, parameters),
        )
        return Match(found.servers, found.tools)

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        """See `Matcher.fit`. Embedding is kept apart here as well."""
        self.embed(asked_text(text, hint))
        fit, _ = self._cache(("fit", text, hint), lambda: self._matcher.fit(text, hint))
        return fit, 0.0

    def likeness(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `Matcher.likeness`."""
        return self._cache(("likeness", rows.tobytes()), lambda: self._matcher.likeness(rows))

    def embed(self, text: str) -> Vectors:
        """See `Matcher.embed`."""
        return self._cache(("embed", text), lambda: self._matcher.embed(text))

    def cosines(self, layer: Layer, view: str, vector: Vectors) -> NDArray[np.float64]:
        """See `Matcher.cosines`."""
        return self._cache(
            ("cosines", layer, view, vector.tobytes()), lambda: self._matcher.cosines(layer, view, vector)
        )

    def cosines_of(self, texts: tuple[str, ...], vector: Vectors) -> NDArray[np.float64]:
        """See `Matcher.cosines_of`."""
        return self._cache(("own", texts, vector.tobytes()), lambda: self._matcher.cosines_of(texts, vector))

    def bm25(self, layer: Layer, text: str) -> NDArray[np.float64]:
        """See `Matcher.bm25`."""
        return self._cache(("bm25", layer, text), lambda: self._matcher.bm25(layer, text))

    def tokens(self, texts: Sequence[str]) -> Sequence[NDArray[Any]]:
        """See `Matcher.tokens`."""
        return self._cache(("tokens", tuple(texts)), lambda: self._matcher.tokens(texts))


class CachedPlanner:
    """A planner with a cache for every method of the port; `predicted` replaces tool prediction where it is given."""

    def __init__(self, planner: Planner, cache: LookupCache, predicted: str = "") -> None:
        self._planner = planner
        self._cache = cache
        self._predicted = predicted

    def predict_tool(self, question: str) -> str:
        """See `Planner.predict_tool`."""
        return self._predicted or self._cache(("predict_tool", question), lambda: self._planner.predict_tool(question))

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._planner, name)
        if not callable(method):
            return method

        def cached(*arguments: Any, **named: Any) -> Any:
            key = tuple(tuple(cast(Any, a)) if isinstance(a, list) else a for a in arguments)
            return self._cache((name, key, tuple(named.items())), lambda: method(*arguments, **named))

        return cached


def cached_planner(planner: Planner, cache: LookupCache, predicted: str = "") -> Planner:
    """The planner with a cache."""
    return cast(Planner, CachedPlanner(planner, cache, predicted))
