"""Hard negatives: for each query the wrong tools that the frozen encoder ranks highest; and twins, which are not wrong."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from core.domain.catalog import Tool
from core.index.text_views import full
from core.tuning.pairs import LabelledCatalog, Pair
from core.tuning.settings import TuningSettings
from core.tuning.split_encoder import SplitEncoder

TWIN = 0.92  # cosine of two full texts that say the same


class HardNegatives:
    """Made with the encoder as it is before training; looked up during it."""

    def __init__(
        self,
        encoder: SplitEncoder,
        catalogs: Sequence[LabelledCatalog],
        pairs: Sequence[Pair],
        settings: TuningSettings,
    ) -> None:
        self._tools = [{tool.id: tool for tool in catalog.tools} for catalog in catalogs]
        self._hard = settings.hard
        self._best: dict[tuple[int, str], list[str]] = {}
        self._twins: list[dict[str, frozenset[str]]] = []
        queries: dict[int, dict[str, None]] = defaultdict(dict)
        for pair in pairs:
            queries[pair.catalog][pair.query] = None
        for number, catalog in enumerate(catalogs):
            self._look(number, encoder, catalog, list(queries[number]))

    def accepted(self, pair: Pair) -> frozenset[str]:
        """Every tool (id) that is no negative of a pair: the right ones and the twin texts of its own."""
        return pair.accepted | self._twins[pair.catalog][pair.tool]

    def draw(self, pair: Pair, draw: random.Random) -> Tool:
        """One of a pair's hard negatives."""
        right = self.accepted(pair)
        near = [key for key in self._best[pair.catalog, pair.query] if key not in right][: self._hard]
        return self._tools[pair.catalog][draw.choice(near or list(self._tools[pair.catalog]))]

    def _look(self, number: int, encoder: SplitEncoder, catalog: LabelledCatalog, queries: list[str]) -> None:
        keys = list(self._tools[number])
        rows = encoder.encode([full(tool) for tool in catalog.tools])
        scores = encoder.encode(queries) @ rows.T
        for query, order in zip(queries, np.argsort(-scores, axis=1, kind="stable"), strict=True):
            self._best[number, query] = [keys[place] for place in order[: 2 * self._hard]]
        alike = rows @ rows.T > TWIN
        self._twins.append({key: frozenset(keys[j] for j in np.flatnonzero(alike[i])) for i, key in enumerate(keys)})
