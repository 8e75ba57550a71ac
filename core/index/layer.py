"""One layer of the index, tools or servers: N rows under several views, scored by a declared mixture of them.

    sim_n = max(0, sum over dense views v of w_v * <e_v,n , q>) + w_lex * coverage_n           the weights sum to 1

The dense part is one pass over one matrix: the views' matrices are mixed once per set of weights and kept. Rows of the
mixture are not unit vectors, and must not be: the result is the weighted mean of cosines. `np.vecdot` takes a row at a
time on one thread, so equal rows get equal scores and no query waits for a second core (gemv does both otherwise).

Where a row's names cannot be trusted (`Trust`), the share of the views that hold them goes to the view that stands in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.embedding.base import Vectors
from core.index.lexical import LexicalIndex
from core.shared.errors import ParameterError

LEXICAL = "lexical"
MIXTURES = 4  # mixed matrices kept: 15 MB each for 10,000 rows of 384


def shares(weights: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """Weights divided by their sum, one for each name; a name that is not given weighs 0.

    Raises ParameterError for a name that is not there, a weight below 0 or not finite, or weights that are all 0.

    >>> shares({"names": 3, "full": 1}, ["names", "full", "lexical"])
    {'names': 0.75, 'full': 0.25, 'lexical': 0.0}
    """
    for name, weight in weights.items():
        if name not in names:
            raise ParameterError(f"There is no view {name!r}; choose among {', '.join(names)}.")
        if not (math.isfinite(weight) and weight >= 0):
            raise ParameterError(f"The weight of {name} is {weight}; give a number of at least 0.")
    total = math.fsum(weights.values())
    if not total > 0:
        raise ParameterError(f"All weights are 0; give a weight above 0 to one of {', '.join(names)}.")
    return {name: weights.get(name, 0.0) / total for name in names}


@dataclass(frozen=True, slots=True)
class Trust:
    """How far each row's names are trusted: `share` (N,) in [0, 1]; `views` hold names, `stand_in` does not."""

    share: Vectors
    views: frozenset[str]
    stand_in: str


def name_trust(names: Vectors, descriptions: Vectors) -> Vectors:
    """How much a name says: the cosine of names and own description, 0 up to 0.1, 1 from 0.4; 1 without a description.

    A brand says nothing of what a tool does, and its cosine with the description is that of unrelated texts (0 to 0.2);
    of telling names nine in ten lie above 0.2 (docs/decisions/0002-similarity.md). Shapes: (N, D) each -> (N,).

    >>> row = np.eye(2, dtype=np.float32)
    >>> name_trust(np.stack([row[0], row[0], row[0]]), np.stack([row[0], row[1], 0 * row[0]])).tolist()
    [1.0, 0.0, 1.0]
    """
    agreement = np.vecdot(names, descriptions)
    undescribed = ~descriptions.any(axis=1)
    return np.where(undescribed, 1.0, np.clip((agreement - 0.1) / 0.3, 0.0, 1.0)).astype(np.float32)


class ViewLayer:
    """Matrices (N, D) by view and BM25 over one text per row. Immutable; safe for several threads."""

    def __init__(self, views: Mapping[str, Vectors], lexical: LexicalIndex, trust: Trust | None = None) -> None:
        self.views = dict(views)
        self.lexical = lexical
        self.trust = trust
        self._mixture = lru_cache(maxsize=MIXTURES)(self._mix)

    def similarity(
        self, query: Vectors, texts: Mapping[str, float], mixture: Mapping[str, float], *, doubt_names: bool = False
    ) -> Vectors:
        """(N,) of at least 0. `query` (D,); `texts`: lexical queries with shares; `mixture` comes from `shares`.

        `doubt_names`: the views that hold names count only as far as the names are trusted.
        """
        weights = tuple(mixture[view] for view in self.views)
        found = np.maximum(np.vecdot(self._mixture(weights, doubt_names), query), np.float32(0))
        if mixture[LEXICAL] > 0:
            for text, share in texts.items():
                found += np.float32(mixture[LEXICAL] * share) * self.lexical.coverage(text)
        return found

    def of_row(self, query: Vectors, text: str, row: int) -> dict[str, float]:
        """Every view's cosine, and the lexical coverage, of one row."""
        cosines = {view: float(matrix[row] @ query) for view, matrix in self.views.items()}
        return cosines | {LEXICAL: float(self.lexical.coverage(text)[row])}

    def _mix(self, weights: tuple[float, ...], doubt_names: bool) -> Vectors:
        used = [(weight, view) for weight, view in zip(weights, self.views, strict=True) if weight > 0]
        trust = self.trust if doubt_names else None
        doubted = [view for _, view in used if trust is not None and view in trust.views]
        if len(used) == 1 and used[0][0] == 1.0 and not doubted:
            return self.views[used[0][1]]
        mixed = np.zeros_like(next(iter(self.views.values())))
        for weight, view in used:
            rows = np.float32(weight) * self.views[view]
            if trust is not None and view in trust.views:
                share = trust.share[:, None]
                rows = share * rows + np.float32(weight) * (1 - share) * self.views[trust.stand_in]
            mixed += rows
        return mixed
