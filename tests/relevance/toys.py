"""A scorer without a model: tools are points, the words signal says what is right as far as it is told to."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.domain.feedback import LabelledQuery
from core.relevance.encoder import unit_rows
from core.relevance.labelled import QuerySignals

TOOLS, WIDTH = 40, 16
TOOL_ROW = {f"s::t{n}": n for n in range(TOOLS)}


class ToyScorer:
    """Signals `dense` and `words`. Sub-task "N about M" has the direction of tool M in it; its words point at tool N."""

    weights: Mapping[str, float] = {"dense": 0.5, "words": 0.5}
    slope = 1.5

    def __init__(self, *, words: float = 0.0) -> None:
        rng = np.random.default_rng(0)
        self.rows = unit_rows(rng.normal(size=(TOOLS, WIDTH)))
        self._drift = unit_rows(rng.normal(size=(1, WIDTH)))[0]
        self._words = words

    def found(self, query: LabelledQuery) -> QuerySignals:
        number, _, about = query.subtask.partition(" about ")
        rng = np.random.default_rng(int(number))
        vector = unit_rows(
            (self.rows[int(about)] + self._drift + 3.0 * unit_rows(rng.normal(size=(1, WIDTH)))[0])[None]
        )[0]
        words = rng.normal(size=TOOLS).astype(np.float32)
        words[int(about)] += self._words
        return QuerySignals(vector, vector, {"dense": self.rows @ vector, "words": words})

    def dense(self, vector: np.ndarray, moved: np.ndarray) -> np.ndarray:
        return self.rows @ moved

    def normalised(self, name: str, raw: np.ndarray) -> np.ndarray:
        return (raw - raw.mean()) / max(float(raw.std()), 1e-6)

    def logits(self, found, weights, vector, shift) -> np.ndarray:
        raw = {**found.raw, "dense": self.rows @ vector}
        score = sum(weights[name] * self.normalised(name, values) for name, values in raw.items())
        return self.slope * score - 3.0 + (0.0 if shift is None else shift)


def tasks(count: int, *, tools: int = TOOLS) -> list[LabelledQuery]:
    """So many sub-tasks over the first so many tools."""
    return [LabelledQuery(f"{n} about {n % tools}", "", (f"s::t{n % tools}",)) for n in range(count)]
