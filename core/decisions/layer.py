"""Routing contexts with other figures: a visitor's suppositions about single tools, and the connections that open sessions save.

Supposed prices, latencies, success and fit replace the measured figures. Asks of servers and all other figures stay. A call over an open
session pays no connection: L_conn of its server is 0 in EHRR (2), until the session ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from weakref import ref

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.domain.catalog import Catalog, ConnectionState
from core.domain.decision import Fit
from core.domain.execution import WAYFARE
from core.domain.statistics import Source
from core.relevance.relevance_index import RelevanceModel
from core.relevance.scoring import confidence_of
from core.routers.context import IndexMatcher, Match, RoutingContext
from core.routers.parameters import FIT as BY_FIT
from core.routers.parameters import MatchingParameters

PRICE, LATENCY, SUCCESS, FIT = FIGURES = ("price", "latency", "success", "fit")
COLUMNS = {PRICE: "price_usd", LATENCY: "latency_s", SUCCESS: "success"}


@dataclass(frozen=True, slots=True)
class Supposed:
    """A figure of a tool in USD, s, or as a probability; `figure` is in FIGURES."""

    tool: str
    figure: str
    value: float


def layered(context: RoutingContext, supposed: Sequence[Supposed]) -> RoutingContext:
    """The context with the supposed figures. Ignores figures of unknown tools."""
    rows = {name: row for row, name in enumerate(context.tool_ids)} if supposed else {}
    entries = [(rows[entry.tool], entry) for entry in supposed if entry.tool in rows]
    if not entries:
        return context
    columns = {name: getattr(context.statistics.tools, name).copy() for name in COLUMNS.values()}
    fits = dict[int, float]()
    for row, entry in entries:
        if entry.figure == FIT:
            fits[row] = entry.value
        else:
            columns[COLUMNS[entry.figure]][row] = entry.value
    statistics = replace(context.statistics, tools=replace(context.statistics.tools, **columns))
    if not fits:
        return replace(context, statistics=statistics)
    matcher = cast(IndexMatcher, LayeredMatcher(context.matcher, fits, context.tool_server))
    return replace(context, statistics=statistics, matcher=matcher)


def with_fit(match: Match, fits: dict[int, float], server_of: NDArray[np.int64], *, servers_follow: bool) -> Match:
    """Replaces the similarities of some tools. If `servers_follow`, a server has the similarity of its best tool."""
    tools, servers = match.tools.copy(), match.servers.copy()
    for row, value in fits.items():
        tools[row] = value
    if servers_follow:
        for server in {int(server_of[row]) for row in fits}:
            servers[server] = tools[server_of == server].max()
    return Match(servers, tools, match.embed_ms)


@dataclass(frozen=True, slots=True)
class LayeredMatcher:
    """A matcher that replaces the fit and similarity of some tools (rows) of an inner matcher."""

    inner: IndexMatcher
    fits: dict[int, float]
    server_of: NDArray[np.int64]

    def match(self, query: str, server_hint: str, parameters: MatchingParameters) -> Match:
        match = self.inner.match(query, server_hint, parameters)
        return with_fit(match, self.fits, self.server_of, servers_follow=parameters.similarity == BY_FIT)

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        fit, embed_ms = self.inner.fit(text, hint)
        moved = with_fit(Match(fit.servers, fit.tools), self.fits, self.server_of, servers_follow=True)
        confidence, relevance = confidence_of(float(moved.tools.max()), fit.nothing), fit.relevance.copy()
        rows = list(self.fits)
        # the score of the supposed fit: behind the best tool, its log odds rise by `behind` with each unit of score
        relevance[rows] += (_log_odds(moved.tools[rows]) - _log_odds(fit.tools[rows])) / RelevanceModel.shipped().fit[
            "behind"
        ]
        return replace(
            fit, tools=moved.tools, servers=moved.servers, relevance=relevance, confidence=confidence
        ), embed_ms

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


KEPT = 16


@dataclass(eq=False)
class OpenSessions:
    """Thread-safe. Sessions of virtual servers change no decision."""

    states: Callable[[], Iterable[ConnectionState]] = tuple

    def __post_init__(self) -> None:
        self._contexts: LRUCache[object, tuple[ref[RoutingContext], RoutingContext]] = LRUCache(KEPT)
        self._lock = threading.Lock()

    def context(self, context: RoutingContext, owner: str) -> RoutingContext:
        """The context for the client with the key `owner` and its open sessions. Equal sessions return an identical object."""
        rows = {
            row
            for state in self.states()
            if state.state == "ready"
            and state.catalog == context.catalog.name
            and state.owner_key in {owner, WAYFARE.key}
            if (row := _row(context.catalog, state)) is not None
        }
        if not rows:
            return context
        key = id(context), frozenset(rows)
        with self._lock:
            stored = self._contexts.get(key)
            if stored is None or stored[0]() is not context:
                stored = self._contexts[key] = ref(context), connected(context, sorted(rows))
            return stored[1]


def _row(catalog: Catalog, state: ConnectionState) -> int | None:
    row = catalog.server_row.get(state.server)
    server = None if row is None else catalog.servers[row]
    return None if server is None or server.virtual or server.connection != state.connection else row


def connected(context: RoutingContext, rows: list[int]) -> RoutingContext:
    """The context with open sessions with the servers in these rows."""
    servers = context.statistics.servers
    conn_s, source = servers.conn_s.copy(), servers.conn_source.copy()
    conn_s[rows], source[rows] = 0.0, Source.MEASURED
    of_servers = replace(servers, conn_s=conn_s, conn_source=source)
    return replace(context, statistics=replace(context.statistics, servers=of_servers))


def _log_odds(chances: NDArray[np.float64]) -> NDArray[np.float64]:
    bounded = np.clip(chances, 1e-9, 1 - 1e-9)
    return np.log(bounded / (1 - bounded))
