"""A what-if layer: supposed figures of tools over a catalog that stays as it is.

Supposed prices, latencies, success and fit of single tools replace the known ones. Asks of servers and all else stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Fit
from core.routers.context import Match, Matcher, RoutingContext
from core.routers.parameters import FIT as BY_FIT
from core.routers.parameters import MatchingParameters

PRICE, LATENCY, SUCCESS, FIT = FIGURES = ("price", "latency", "success", "fit")
COLUMNS = {PRICE: "price_usd", LATENCY: "latency_s", SUCCESS: "success"}


@dataclass(frozen=True, slots=True)
class Supposed:
    """One figure of one tool: USD, s, or a probability; `figure` is one of FIGURES."""

    tool: str
    figure: str
    value: float


def layered(context: RoutingContext, supposed: Sequence[Supposed]) -> RoutingContext:
    """The context with the supposed figures. Figures of tools that it does not have are ignored."""
    rows = {name: row for row, name in enumerate(context.tool_ids)} if supposed else {}
    known = [(rows[one.tool], one) for one in supposed if one.tool in rows]
    if not known:
        return context
    columns = {name: getattr(context.statistics.tools, name).copy() for name in COLUMNS.values()}
    fits = dict[int, float]()
    for row, one in known:
        if one.figure == FIT:
            fits[row] = one.value
        else:
            columns[COLUMNS[one.figure]][row] = one.value
    statistics = replace(context.statistics, tools=replace(context.statistics.tools, **columns))
    if not fits:
        return replace(context, statistics=statistics)
    matcher = cast(Matcher, LayeredMatcher(context.matcher, fits, context.tool_server))
    return replace(context, statistics=statistics, matcher=matcher)


def with_fit(match: Match, fits: dict[int, float], server_of: NDArray[np.int64], *, servers_follow: bool) -> Match:
    """Similarities with those of some tools replaced. If `servers_follow`, a server has the similarity of its best tool."""
    tools, servers = match.tools.copy(), match.servers.copy()
    for row, value in fits.items():
        tools[row] = value
    if servers_follow:
        for server in {int(server_of[row]) for row in fits}:
            servers[server] = tools[server_of == server].max()
    return Match(servers, tools, match.embed_ms)


@dataclass(frozen=True, slots=True)
class LayeredMatcher:
    """A matcher with the fit and similarity of some tools (rows) replaced. All else is as the inner matcher has it."""

    inner: Matcher
    fits: dict[int, float]
    server_of: NDArray[np.int64]

    def match(self, subtask: str, server_hint: str, parameters: MatchingParameters) -> Match:
        """Similarities, those of the tools replaced."""
        found = self.inner.match(subtask, server_hint, parameters)
        return with_fit(found, self.fits, self.server_of, servers_follow=parameters.similarity == BY_FIT)

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        """Probabilities of fit, those of the tools and their servers replaced."""
        found, embed_ms = self.inner.fit(text, hint)
        moved = with_fit(Match(found.servers, found.tools), self.fits, self.server_of, servers_follow=True)
        return replace(found, tools=moved.tools, servers=moved.servers), embed_ms

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
