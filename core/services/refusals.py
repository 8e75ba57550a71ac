"""What refusing does on a catalog: over its own labelled sub-tasks where there are enough, else as it was measured elsewhere."""

from __future__ import annotations

import threading

import numpy as np
from cachetools import LRUCache

from core.domain.feedback import LabelledQuery
from core.domain.refusal import RefusalCurve
from core.importers.shipped_catalogs import SAMPLE
from core.relevance.held_back import LEAST_LABELS
from core.relevance.refusal import limit_of, measured_curve, shipped_curve
from core.relevance.scorer import IndexScorer
from core.relevance.scoring import SAME_HIGH, nothing_fits
from core.services.catalogs import CatalogService
from core.services.feedback import FeedbackService

KEPT = 8
MOST_MEASURED = 500  # the newest; each takes some milliseconds


class RefusalService:
    """Measures the trade-off of the knob `wrong_refusals`. Thread-safe."""

    def __init__(self, catalogs: CatalogService, feedback: FeedbackService) -> None:
        self._catalogs = catalogs
        self._feedback = feedback
        self._known: LRUCache[object, RefusalCurve] = LRUCache(KEPT)
        self._lock = threading.Lock()

    def limit(self, percent: float) -> float:
        """P(nothing fits) from which the knob at `percent` refuses; 1 where it never does."""
        return limit_of(percent)

    def curve(self, catalog: str = SAMPLE) -> RefusalCurve:
        """Wrong refusals against impossible sub-tasks refused. A labelled sub-task is made impossible by taking away its right
        tools and those that do the same. What labels teach is left out: it is new sub-tasks that are to be told."""
        rows = self._catalogs.catalog(catalog).tool_row
        queries = tuple(one for one in self._feedback.queries(catalog) if any(tool in rows for tool in one.right))
        if len(queries) < LEAST_LABELS:
            return shipped_curve()
        with self._lock:
            known = self._known.get((catalog, queries))
        if known is None:
            scorer = self._catalogs.scorer(catalog)
            chances = [
                _chances(scorer, one, [rows[t] for t in one.right if t in rows]) for one in queries[-MOST_MEASURED:]
            ]
            known = measured_curve([yes for yes, _ in chances], [no for _, no in chances])
            with self._lock:
                self._known[catalog, queries] = known
        return known


def _chances(scorer: IndexScorer, query: LabelledQuery, right: list[int]) -> tuple[float, float]:
    """P(nothing fits) of a sub-task as it is, and without the tools that can do it."""
    signals = scorer.found(query).raw
    own = scorer.index.own
    gone = np.flatnonzero((own @ own[right].T).max(axis=1) >= SAME_HIGH)
    return nothing_fits(signals, scorer.model), nothing_fits(signals, scorer.model, [*right, *gone.tolist()])
