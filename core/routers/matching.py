"""The `Matcher` that routers are given: a catalog's index with the encoder that embeds the sub-task."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from core.economics.utility import calibrated
from core.embedding.cached import CachedEncoder
from core.index.catalog_index import CatalogIndex
from core.routers.base import Match
from core.routers.parameters import MatchingParameters


@dataclass(frozen=True, slots=True)
class IndexMatcher:
    """Embeds the sub-task (and the hint, where there is one) and scores every server and tool."""

    index: CatalogIndex
    encoder: CachedEncoder

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
