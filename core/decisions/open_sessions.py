"""A call over an open session pays no connection: L_conn of its server is 0 in EHRR (2), until the session ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from weakref import ref

from cachetools import LRUCache

from core.domain.catalog import Catalog, ConnectionState
from core.domain.execution import WAYFARE
from core.domain.statistics import Source
from core.routers.context import RoutingContext

KEPT = 16


@dataclass(eq=False)
class OpenSessions:
    """Thread-safe. Sessions of virtual servers change no decision."""

    states: Callable[[], Iterable[ConnectionState]] = tuple

    def __post_init__(self) -> None:
        self._contexts: LRUCache[object, tuple[ref[RoutingContext], RoutingContext]] = LRUCache(KEPT)
        self._lock = threading.Lock()

    def context(self, context: RoutingContext, owner: str) -> RoutingContext:
        """The context for the client with the key `owner` and its open sessions, the same object for the same ones."""
        rows = {
            row
            for one in self.states()
            if one.state == "ready" and one.catalog == context.catalog.name and one.owner_key in {owner, WAYFARE.key}
            if (row := _row(context.catalog, one)) is not None
        }
        if not rows:
            return context
        key = id(context), frozenset(rows)
        with self._lock:
            known = self._contexts.get(key)
            if known is None or known[0]() is not context:
                known = self._contexts[key] = ref(context), _connected(context, sorted(rows))
            return known[1]


def _row(catalog: Catalog, state: ConnectionState) -> int | None:
    row = catalog.server_row.get(state.server)
    server = None if row is None else catalog.servers[row]
    return None if server is None or server.virtual or server.connection != state.connection else row


def _connected(context: RoutingContext, rows: list[int]) -> RoutingContext:
    servers = context.statistics.servers
    conn_s, source = servers.conn_s.copy(), servers.conn_source.copy()
    conn_s[rows], source[rows] = 0.0, Source.MEASURED
    of_servers = replace(servers, conn_s=conn_s, conn_source=source)
    return replace(context, statistics=replace(context.statistics, servers=of_servers))
