"""Simulated networks for decisions and calls outside a scenario."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from weakref import ref

from cachetools import LRUCache

from core.domain.catalog import Catalog
from core.domain.network_moment import LAST_S, STEP_S, NetworkMoment
from core.network.profiles import NetworkProfiles
from core.network.traces import Injection, Traces, TraceView
from core.routers.context import RoutingContext, Same
from core.routers.simulated_network import under_network

TRACES_KEPT, CONTEXTS_KEPT = 4, 32


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
        if not moment.simulated:
            return context
        traces = self._traces_of(context.catalog, moment.network)
        key = id(context), id(traces), moment
        with self._lock:
            known = self._contexts.get(key)
            if known is None or known[0]() is not context:
                known = ref(context), under_network(context, TraceView(traces, _step(moment)))
                self._contexts[key] = known
            return known[1]

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
