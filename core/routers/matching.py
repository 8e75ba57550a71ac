"""The `Matcher` that routers are given: a catalog's index with the encoder that embeds the sub-task."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Fit
from core.relevance.catalog_index import CatalogIndex, ViewLayer
from core.relevance.encoder import CachedEncoder, Vectors
from core.relevance.fit_matcher import FitMatcher, WordsFit
from core.routers.context import Layer, Match
from core.routers.parameters import MatchingParameters
from core.routers.utility import calibrated


@dataclass(frozen=True, slots=True)
class IndexMatcher:
    """Embeds the sub-task, and the hint if there is one, and scores every server and tool; `fitting` gives probabilities of fit, by words alone
    while the catalog has no vectors."""

    index: CatalogIndex
    encoder: CachedEncoder
    fitting: FitMatcher | WordsFit

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        """The probability of fit of each tool and server, and the ms that embedding took."""
        return self.fitting.fit(text, hint)

    def likeness(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """(K, K) cosines between tools, by their own texts."""
        return self.fitting.likeness(rows)

    def match(self, subtask: str, server_hint: str, parameters: MatchingParameters) -> Match:
        """Similarities under the parameters' weights; shapes (S,) and (T,), in [0, 1]."""
        started = time.perf_counter()
        query = self.encoder.encode_query(subtask)
        hint = self.encoder.encode_query(server_hint) if server_hint else None
        embed_ms = (time.perf_counter() - started) * 1e3
        tools = self.index.tool_similarity(
            query, subtask, parameters.tool_weights(), doubt_names=parameters.doubt_names
        )
        servers = self.index.server_similarity(
            query,
            subtask,
            parameters.server_weights(),
            tools,
            hint=hint,
            hint_text=server_hint,
            hint_weight=parameters.hint_weight if hint is not None else 0.0,
        )
        contrast = {"midpoint": parameters.sim_midpoint, "steepness": parameters.sim_steepness}
        return Match(
            calibrated(servers.astype(np.float64), **contrast),
            calibrated(tools.astype(np.float64), **contrast),
            embed_ms,
        )

    def embed(self, text: str) -> Vectors:
        """(D,) unit vector of a text."""
        return self.encoder.encode_query(text)

    def cosines(self, layer: Layer, view: str, vector: Vectors) -> NDArray[np.float64]:
        """(T,) or (S,) cosines of a vector with one view."""
        return np.vecdot(self._layer(layer).views[view], vector).astype(np.float64)

    def cosines_of(self, texts: tuple[str, ...], vector: Vectors) -> NDArray[np.float64]:
        """(N,) cosines of a vector with texts of a router's own."""
        return np.vecdot(self.index.rows_of(texts, self.encoder), vector).astype(np.float64)

    def bm25(self, layer: Layer, text: str) -> NDArray[np.float64]:
        """(T,) or (S,) raw BM25 scores of a text."""
        return self._layer(layer).lexical.scores(text).astype(np.float64)

    def tokens(self, texts: Sequence[str]) -> Sequence[NDArray[Any]]:
        """(tokens, D) unit rows of each text."""
        return self.encoder.tokens(texts)

    def _layer(self, layer: Layer) -> ViewLayer:
        return self.index.tools if layer == "tools" else self.index.servers
