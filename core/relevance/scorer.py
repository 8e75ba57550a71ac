"""The shipped relevance model as a fit sees it: `Scorer` over a catalog's relevance index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.domain.feedback import LabelledQuery
from core.embedding.base import Vectors
from core.embedding.cached import CachedEncoder
from core.relevance.index import RelevanceIndex, asked_text
from core.relevance.labelled import DENSE, QuerySignals
from core.relevance.model import DAMPED, RelevanceModel
from core.relevance.scoring import damped, fit_of, z_scores


@dataclass(frozen=True, slots=True)
class IndexScorer:
    """`core.relevance.labelled.Scorer` over an index, the encoder that it was built with, and the shipped model."""

    index: RelevanceIndex
    encoder: CachedEncoder
    model: RelevanceModel

    @property
    def weights(self) -> Mapping[str, float]:
        """The model's."""
        return self.model.weights

    @property
    def rows(self) -> Vectors:
        """The index's mixed views."""
        return self.index.rows

    def dense(self, vector: Vectors, moved: Vectors) -> Vectors:
        """The index's, of a query that was moved."""
        return self.index.dense(vector, moved)

    @property
    def slope(self) -> float:
        """Logits for one unit of score, of a tool behind another."""
        return self.model.fit["behind"]

    def found(self, query: LabelledQuery) -> QuerySignals:
        """The signals of a sub-task with its hint."""
        text = asked_text(query.subtask, query.server_hint)
        vector = self.encoder.encode_query(text)
        signals = self.index.signals(text, vector)
        alone = self.encoder.encode_query(query.subtask) if query.server_hint else vector
        return QuerySignals(vector, alone, signals)

    def normalised(self, name: str, raw: Vectors) -> Vectors:
        """As in `core.relevance.scoring`."""
        scores = z_scores(raw, self.model.prior[name])
        return damped(scores) if name in DAMPED else scores

    def logits(
        self,
        found: QuerySignals,
        weights: Mapping[str, float],
        vector: Vectors,
        shift: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """Of the probabilities that `fit_of` gives."""
        signals = found.raw if vector is found.vector else {**found.raw, DENSE: self.dense(found.vector, vector)}
        chance = fit_of(self.index, signals, replace(self.model, weights=weights), shift).tools
        chance = np.clip(chance, 1e-12, 1 - 1e-12)
        return np.log(chance) - np.log1p(-chance)
