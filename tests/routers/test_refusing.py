"""Refusal: routers with the knob give no candidate if nothing seems to fit, and say so."""

from __future__ import annotations

import pytest

from core.domain.catalog import Server
from core.domain.trace import DROPS, Drop
from core.relevance.scoring import limit_of
from core.routers import ROUTERS
from core.routers.base import RefusingParameters
from tests.cases import each
from tests.routers import worlds

REFUSING = [router for router in ROUTERS.values() if issubclass(router.parameters, RefusingParameters)]
TOOLS = (worlds.tool("x", price_usd=0.0001, latency_s=0.1), worlds.tool("y", price_usd=0.0001, latency_s=0.1))
CATALOG = worlds.catalog(Server("a", "A", tools=TOOLS))


def decided(router, fit: float, percent: float):
    """A decision in which the best tool fits with this chance, and otherwise nothing fits."""
    context = worlds.context(CATALOG, {"a": fit}, {"a::x": fit, "a::y": fit / 2})
    return router().route("do it", context, router.parameters().replaced({"wrong_refusals": percent}))


@each("router", REFUSING)
def test_what_nothing_fits_is_refused_from_the_limit_on(router) -> None:
    above, below = 1 - limit_of(20.0) - 0.01, 1 - limit_of(20.0) + 0.01
    refused, answered = decided(router, above, 20.0), decided(router, below, 20.0)
    assert (refused.candidates, refused.winner) == ((), None)
    assert answered.candidates
    assert refused.reason.startswith("Refused: nothing seems to fit.")
    assert f"{refused.fit.nothing:.2f}" in refused.reason
    assert refused.stages[-1].kept == 0
    assert refused.tools.dropped[0] == DROPS.index(Drop.REFUSED)
    document = refused.to_json()
    assert (document["candidates"], document["tools"][0]["dropped_by"]) == ([], "refused")
    assert document["p_nothing_fits"] == pytest.approx(1 - above)
    assert document.get("order", []) == []


@each("router", REFUSING)
def test_nothing_is_refused_by_default(router) -> None:
    assert decided(router, 0.05, router.parameters().wrong_refusals).reason.count("Refused") == 0
