"""EHRR under many parameters: point by point as a decision is made, and all points at once as a sweep does it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.decisions.case import candidates_of
from core.domain.decision import Fit
from core.importers.shipped_catalogs import shipped
from core.routers.context import Match, RoutingContext
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.projection import StatisticsProjection
from tests.benchmarks.measuring import report

QUERIES, PLAIN = 200, 300


@dataclass
class Given:
    """A matcher that is told its similarities: only the decision is timed."""

    match_: Match

    def fit(self, _text: str, _hint: str) -> tuple[Fit, float]:
        """The similarities as probabilities."""
        m = self.match_
        return Fit(m.tools, m.servers, 0.0, m.tools, {}), 0.0


def batching() -> None:
    """The sample's servers and tools with random similarities; 101 values of alpha_t."""
    catalog = shipped("sample")
    servers, tools = len(catalog.servers), len(catalog.tools)
    rng = np.random.default_rng(1)
    matches = [Match(rng.random(servers) ** 4, rng.random(tools) ** 4) for _ in range(QUERIES)]
    given = Given(matches[0])
    context = RoutingContext.of(catalog, StatisticsProjection(catalog).snapshot(), given, np.full(tools, 100))
    points = [EhrrParameters(alpha_t=float(alpha)) for alpha in np.linspace(0.0, 1.0, 101)]
    router = Ehrr()

    def plain() -> int:
        for at in range(PLAIN):
            given.match_ = matches[at % QUERIES]
            router.route("anything", context, points[at % len(points)])
        return PLAIN

    def at_once() -> int:
        return candidates_of(context, matches, points)[..., 0].size

    rates = {"point by point": _rate(plain), "at once, one core": _rate(at_once)}
    report(f"EHRR among {servers} servers, {tools} tools, decisions", rates, "a second", "100,000 on two cores")


def _rate(work: Callable[[], int]) -> float:
    """The median of five runs."""
    found: list[float] = []
    for _ in range(5):
        started = time.perf_counter()
        count = work()
        found.append(count / (time.perf_counter() - started))
    return sorted(found)[2]
