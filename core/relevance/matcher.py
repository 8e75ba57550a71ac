"""One query against one catalog: the text embedded, its signals, and the probabilities of fit, in one call."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from core.domain.fit import Fit
from core.embedding.cached import CachedEncoder
from core.relevance.index import RelevanceIndex, asked_text
from core.relevance.learnt import NOTHING_LEARNT, Learnt
from core.relevance.model import RelevanceModel
from core.relevance.scoring import fit_of


@dataclass(frozen=True, slots=True)
class FitMatcher:
    """A catalog's relevance index with the encoder that it was built with, the model, and what labels have taught."""

    index: RelevanceIndex
    encoder: CachedEncoder
    model: RelevanceModel
    learnt: Learnt = NOTHING_LEARNT

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        """The fit of every tool, and the ms that embedding took. A hint joins the text for every signal."""
        asked = asked_text(text, hint)
        started = time.perf_counter()
        vector = self.encoder.encode_query(asked)
        # labels are of sub-tasks: one that was asked with a hint is met by one that is asked without
        alone = self.encoder.encode_query(text) if hint and self.learnt.memory is not None else vector
        embed_ms = (time.perf_counter() - started) * 1e3
        learnt, values = self.learnt, self.learnt.values
        signals = self.index.signals(asked, vector, learnt.moved(vector))
        model = (
            self.model if not values.weights else replace(self.model, weights={**self.model.weights, **values.weights})
        )
        return fit_of(self.index, signals, model, learnt.shift(alone), (values.slope, values.offset)), embed_ms
