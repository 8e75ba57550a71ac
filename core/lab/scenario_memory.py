"""What a simulation looks up once: similarities, BM25 scores and a planner's answers follow from the text alone.

Memory keeps how long each answer took when it was worked out, so that a decision's time can be told as it would have been
without memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from core.embedding.base import Vectors
from core.planning.base import Planner
from core.routers.base import Layer, Match, Matcher
from core.routers.parameters import MatchingParameters

T = TypeVar("T")


class Memory:
    """Answers by key. `saved_ms` is the time that the answers from memory took when they were worked out.

    >>> memory = Memory()
    >>> memory("a", lambda: 1), memory("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.saved_ms = 0.0
        self._clock = clock
        self._kept: dict[Hashable, tuple[Any, float]] = {}

    def __call__(self, key: Hashable, work: Callable[[], T]) -> T:
        """The answer, worked out where it is not kept."""
        known = self._kept.get(key)
        if known is None:
            started = self._clock()
            answer = work()
            self._kept[key] = answer, (self._clock() - started) * 1e3
            return answer
        self.saved_ms += known[1]
        return known[0]


class RememberingMatcher:
    """A matcher with memory."""

    def __init__(self, matcher: Matcher, memory: Memory) -> None:
        self._matcher = matcher
        self._memory = memory

    def match(self, subtask: str, server_hint: str, parameters: MatchingParameters) -> Match:
        """See `Matcher.match`. Embedding is kept apart: a text that several routers ask for is embedded once."""
        for text in (subtask, server_hint):
            if text:
                self.embed(text)
        found = self._memory(
            ("match", subtask, server_hint, parameters),
            lambda: self._matcher.match(subtask, server_hint, parameters),
        )
        return Match(found.servers, found.tools)

    def embed(self, text: str) -> Vectors:
        """See `Matcher.embed`."""
        return self._memory(("embed", text), lambda: self._matcher.embed(text))

    def cosines(self, layer: Layer, view: str, vector: Vectors) -> NDArray[np.float64]:
        """See `Matcher.cosines`."""
        return self._memory(
            ("cosines", layer, view, vector.tobytes()), lambda: self._matcher.cosines(layer, view, vector)
        )

    def cosines_of(self, texts: tuple[str, ...], vector: Vectors) -> NDArray[np.float64]:
        """See `Matcher.cosines_of`."""
        return self._memory(("own", texts, vector.tobytes()), lambda: self._matcher.cosines_of(texts, vector))

    def bm25(self, layer: Layer, text: str) -> NDArray[np.float64]:
        """See `Matcher.bm25`."""
        return self._memory(("bm25", layer, text), lambda: self._matcher.bm25(layer, text))

    def tokens(self, texts: Sequence[str]) -> Sequence[NDArray[Any]]:
        """See `Matcher.tokens`."""
        return self._memory(("tokens", tuple(texts)), lambda: self._matcher.tokens(texts))


class RememberingPlanner:
    """A planner with memory: every method of the port, and what tool prediction is to say where that is given."""

    def __init__(self, planner: Planner, memory: Memory, predicted: str = "") -> None:
        self._planner = planner
        self._memory = memory
        self._predicted = predicted

    def predict_tool(self, question: str) -> str:
        """See `Planner.predict_tool`."""
        return self._predicted or self._memory(("predict_tool", question), lambda: self._planner.predict_tool(question))

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self._planner, name)
        if not callable(answer):
            return answer

        def remembered(*arguments: Any, **named: Any) -> Any:
            key = tuple(tuple(cast(Any, a)) if isinstance(a, list) else a for a in arguments)
            return self._memory((name, key, tuple(named.items())), lambda: answer(*arguments, **named))

        return remembered


def remembering(planner: Planner, memory: Memory, predicted: str = "") -> Planner:
    """The planner with memory."""
    return cast(Planner, RememberingPlanner(planner, memory, predicted))
