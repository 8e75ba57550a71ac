"""Some tools of a catalog as a catalog of their own, for a client that may see no others."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.network.traces import NetworkView
from core.relevance.by_words import WordsFit
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder
from core.relevance.fit_matcher import FitMatcher
from core.relevance.learnt_models import LearntModels
from core.relevance.relevance_index import RelevanceIndex
from core.routers.context import IndexMatcher, RoutingContext

PARTS_KEPT = 8


@dataclass(frozen=True, slots=True)
class _Part:
    whole: Catalog
    catalog: Catalog
    relevance: RelevanceIndex | WordsFit
    index: CatalogIndex


class CatalogParts:
    """The parts of catalogs with their indexes; the latest are kept. Thread-safe."""

    def __init__(self, encoder: CachedEncoder, relevance_encoder: CachedEncoder, learnt: LearntModels) -> None:
        self._encoder = encoder
        self._relevance_encoder = relevance_encoder
        self._learnt = learnt
        self._kept: LRUCache[tuple[str, str, bool], _Part] = LRUCache(PARTS_KEPT)
        self._lock = threading.Lock()

    def context(
        self, whole: RoutingContext, tools: NDArray[np.int64], network: Callable[[Catalog], NetworkView]
    ) -> RoutingContext:
        """Returns the context of a catalog that has only these tools: rows of `whole`, ascending. No other tool changes the fit, the
        weight of a word or the order. The first use of a part builds its indexes from known vectors."""
        key = whole.catalog.name, hashlib.sha256(tools.tobytes()).hexdigest(), whole.by_words
        with self._lock:
            part = self._kept.get(key)
            if part is None or part.whole is not whole.catalog:
                part = self._kept[key] = self._made(whole, tools)
        relevance = part.relevance
        fit = (
            relevance
            if isinstance(relevance, WordsFit)
            else FitMatcher.of(
                relevance, self._relevance_encoder, self._learnt.of(part.catalog, lambda: relevance, key[1])
            )
        )
        return replace(
            whole.narrowed(tools, np.unique(whole.tool_server[tools])),
            catalog=part.catalog,
            matcher=IndexMatcher(part.index, self._encoder, fit),
            network=network(part.catalog),
        )

    def _made(self, whole: RoutingContext, tools: NDArray[np.int64]) -> _Part:
        catalog = _only(whole.catalog, np.isin(np.arange(len(whole.catalog.tools)), tools))
        relevance = WordsFit(catalog) if whole.by_words else RelevanceIndex.build(catalog, self._relevance_encoder)
        return _Part(whole.catalog, catalog, relevance, CatalogIndex(catalog, self._encoder))


def _only(catalog: Catalog, chosen: NDArray[np.bool_]) -> Catalog:
    """Returns the catalog with the chosen tools (T,) and their servers."""
    rows = iter(chosen.tolist())
    parts = [replace(server, tools=tuple(tool for tool in server.tools if next(rows))) for server in catalog.servers]
    return Catalog(catalog.name, tuple(server for server in parts if server.tools))
