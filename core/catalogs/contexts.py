"""Contexts made of another context: some tools alone, for a client that may see no others, and under a simulated network. Its figures at a moment:

    L     = the EWMA of the server's last w = 10 latencies, the L of SONAR's network score        NetMCP (7)
    times = known time of a call or a connect + L
    pfail = 1 - (1 - known pfail) (1 - o),  o = the same EWMA of outages                          EHRR (8): an outage has fail = 1

The chance that an attempt succeeds, (1 - pfail) r, is then the known chance times the share of time that the server is up.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from weakref import ref

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.params import LAST_S, STEP_S, NetworkMoment
from core.domain.statistics import Source, Statistics
from core.network.profiles import NetworkProfiles
from core.network.traces import Injection, NetworkView, Traces, TraceView, recent_figures
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder
from core.relevance.fit_matcher import FitMatcher, WordsFit
from core.relevance.learnt import LearntModels
from core.relevance.relevance_index import RelevanceIndex
from core.routers.context import IndexMatcher, RoutingContext, Same

PARTS_KEPT = 8


@dataclass(frozen=True, slots=True)
class _Part:
    whole: Catalog
    catalog: Catalog
    relevance: RelevanceIndex | WordsFit
    index: CatalogIndex


@dataclass(eq=False)
class CatalogParts:
    """The parts of catalogs with their indexes; the latest are kept. Thread-safe."""

    encoder: CachedEncoder
    relevance_encoder: CachedEncoder
    learnt: LearntModels

    def __post_init__(self) -> None:
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
                relevance, self.relevance_encoder, self.learnt.of(part.catalog, lambda: relevance, key[1])
            )
        )
        return replace(
            whole.narrowed(tools, np.unique(whole.tool_server[tools])),
            catalog=part.catalog,
            matcher=IndexMatcher(part.index, self.encoder, fit),
            network=network(part.catalog),
        )

    def _made(self, whole: RoutingContext, tools: NDArray[np.int64]) -> _Part:
        catalog = _only(whole.catalog, np.isin(np.arange(len(whole.catalog.tools)), tools))
        relevance = WordsFit(catalog) if whole.by_words else RelevanceIndex.build(catalog, self.relevance_encoder)
        return _Part(whole.catalog, catalog, relevance, CatalogIndex(catalog, self.encoder))


def _only(catalog: Catalog, mask: NDArray[np.bool_]) -> Catalog:
    rows = iter(mask.tolist())
    servers = [replace(server, tools=tuple(tool for tool in server.tools if next(rows))) for server in catalog.servers]
    return Catalog(catalog.name, tuple(server for server in servers if server.tools))


TRACES_KEPT, CONTEXTS_KEPT = 4, 32
WINDOW = 10


def under_network(context: RoutingContext, view: TraceView) -> RoutingContext:
    """The context with the times, failures and recent latencies of the traces, marked as simulated. The traces have the servers of
    the context, in its order."""
    latency_s, outage = recent_figures(view.recent_s(WINDOW))
    servers, tools = context.statistics.servers, context.statistics.tools
    simulated = np.full(len(latency_s), Source.SIMULATED, dtype=np.int8)
    of_servers = replace(
        servers,
        conn_s=servers.conn_s + latency_s,
        call_s=servers.call_s + latency_s,
        post_accept_failure=1.0 - (1.0 - servers.post_accept_failure) * (1.0 - outage),
        conn_source=simulated,
        call_source=simulated,
        failure_source=simulated,
    )
    of_tools = replace(
        tools,
        latency_s=tools.latency_s + latency_s[context.tool_server],
        latency_source=simulated[context.tool_server],
    )
    return replace(context, statistics=Statistics(of_servers, of_tools, context.statistics.version), network=view)


@dataclass(eq=False)
class SimulatedNetworks:
    """Makes routing contexts and faults of network profiles. Thread-safe."""

    profiles: NetworkProfiles

    def __post_init__(self) -> None:
        self._traces: LRUCache[object, Traces] = LRUCache(TRACES_KEPT)
        self._contexts: LRUCache[object, tuple[ref[RoutingContext], RoutingContext]] = LRUCache(CONTEXTS_KEPT)
        self._lock = threading.Lock()

    def context(self, context: RoutingContext, moment: NetworkMoment) -> RoutingContext:
        """The context at this moment, the same object for the same moment. Raises UnknownNameError, CatalogError for a profile."""
        if not moment.has_profile:
            return context
        traces = self._traces_of(context.catalog, moment.network)
        key = id(context), id(traces), moment
        with self._lock:
            cached = self._contexts.get(key)
            if cached is None or cached[0]() is not context:
                cached = ref(context), under_network(context, TraceView(traces, _step(moment)))
                self._contexts[key] = cached
            return cached[1]

    def injection(self, catalog: Catalog, moment: NetworkMoment) -> Injection:
        """The faults of calls at this moment. Raises UnknownNameError, CatalogError for a profile."""
        injection = Injection(self._traces_of(catalog, moment.network))
        injection.at = _step(moment)
        return injection

    def _traces_of(self, catalog: Catalog, name: str) -> Traces:
        profile = self.profiles.load(name)
        key = Same(catalog), profile.text()
        with self._lock:
            if key not in self._traces:
                self._traces[key] = profile.traces(catalog.servers, int(LAST_S // STEP_S) + 1)
            return self._traces[key]


def _step(moment: NetworkMoment) -> int:
    return int(moment.at_s // STEP_S)
