"""Catalogs for the tests of routers: a matcher with fixed similarities, and a routing context around a catalog."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Fit
from core.routers.context import Match, RoutingContext
from core.routers.ehrr import EhrrParameters
from core.routers.presets import applied
from core.routers.projection import StatisticsProjection


def fixed_fit(match: Match) -> Fit:
    """Similarities that are used as probabilities of fit."""
    nothing = 1.0 - float(match.tools.max(initial=0.0))
    return Fit(match.tools, match.servers, nothing, match.tools, {"fixed": match.tools.astype(np.float32)})


class FixedMatcher:
    """Similarities written by hand, 0 if missing. Keeps its queries, and every text that it read."""

    def __init__(self, catalog: Catalog, servers: dict[str, float], tools: dict[str, float], embed_ms: float = 0.0):
        self.answer = Match(
            np.array([servers.get(s.name, 0.0) for s in catalog.servers], dtype=np.float64),
            np.array([tools.get(t.id, 0.0) for t in catalog.tools], dtype=np.float64),
            embed_ms,
        )
        self.asked: list[tuple[str, str]] = []
        self.read: list[str] = []

    def match(self, query, server_hint, parameters):
        self.asked.append((query, server_hint))
        self.read.append(query)
        return self.answer

    def fit(self, text, hint):
        self.asked.append((text, hint))
        self.read.append(text)
        return fixed_fit(self.answer), self.answer.embed_ms

    def likeness(self, rows):
        return np.eye(len(rows))

    def embed(self, text):
        self.read.append(text)
        return np.zeros(4, dtype=np.float32)

    def cosines(self, layer, view, vector):
        return self._of(layer)

    def cosines_of(self, texts, vector):
        return self._of("tools" if len(texts) == len(self.answer.tools) else "servers")

    def tokens(self, texts):
        return [np.zeros((0, 4), dtype=np.float32) for _ in texts]

    def bm25(self, layer, text):
        self.read.append(text)
        return 10 * self._of(layer)

    def _of(self, layer):
        return self.answer.tools if layer == "tools" else self.answer.servers


def table_v(**values) -> EhrrParameters:
    """EHRR's parameters as its Table V has them, with some values set."""
    return applied(EhrrParameters, "paper", values)


def catalog(*servers: Server, name: str = "hand-made") -> Catalog:
    """A catalog of servers; each tool gets its server's name."""
    return Catalog(name, tuple(replace(s, tools=tuple(replace(t, server=s.name) for t in s.tools)) for s in servers))


def tool(name: str, **figures) -> Tool:
    """A tool that does not know its server yet."""
    return Tool("", name, **figures)


def context(
    served: Catalog, servers: dict[str, float], tools: dict[str, float], *, overrides=(), tokens=None
) -> RoutingContext:
    """The routing context of a catalog with fixed similarities, declared statistics, and by default 10 tokens a tool."""
    counts = np.array([10] * len(served.tools) if tokens is None else tokens, dtype=np.int64)
    projection = StatisticsProjection(served, overrides=overrides)
    return RoutingContext.of(served, projection.snapshot(), FixedMatcher(served, servers, tools), counts)


def tables_context() -> RoutingContext:
    """Tables I and II of the paper as a catalog. r~ of s1 is made of r = 0.80 and a standard deviation of 0.091."""
    s1 = Server(
        "s1", "first", ask_usd=0.010, conn_s=0.3, call_s=0.9, success=0.80, success_variance=0.091**2,
        post_accept_failure=0.05,
        tools=(
            tool("t11", latency_s=1.0, success=0.70, price_usd=0.030),
            tool("t12", latency_s=0.5, success=0.90, price_usd=0.002),
            tool("t13", latency_s=0.8, success=0.80, price_usd=0.020),
        ),
    )  # fmt: skip
    s2 = Server(
        "s2", "second", ask_usd=0.050, conn_s=0.6, call_s=0.6, success=0.45, post_accept_failure=0.20,
        tools=(tool("t21", latency_s=0.1, success=1.0, price_usd=0.0),),
    )  # fmt: skip
    return context(
        catalog(s1, s2),
        {"s1": 0.75, "s2": 0.85},
        {"s1::t11": 0.90, "s1::t12": 0.75, "s1::t13": 0.85, "s2::t21": 0.99},
    )
