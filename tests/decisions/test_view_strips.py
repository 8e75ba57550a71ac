"""The strips of the weights of views: at any value the router itself decides as the segment says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.decisions.case import WEIGHTS, Case, ViewSignals
from core.decisions.ehrr_strips import strips
from core.domain.catalog import Catalog, Server, Tool
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.fit_matcher import FitMatcher
from core.relevance.relevance_index import RelevanceIndex, RelevanceModel
from core.routers.context import IndexMatcher, RoutingContext
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.projection import StatisticsProjection
from tests.relevance.toy_encoders import Letters

WORDS = ("table", "price", "month", "chart", "convert", "file", "note", "city", "letter", "weather")
SUBTASK, HINT = "convert the price table of a month", "city weather files"
VIEWS = EhrrParameters(
    similarity="views", k=3, alpha_t=0.05, p_bs=0.03, worthwhile=False, w_description=0.2, w_server_lexical=0.3
)


def drawn(seed: int) -> RoutingContext:
    """Ten servers of up to five tools, with texts of few words."""
    rng = np.random.default_rng(seed)

    def text(count: int) -> str:
        return " ".join(rng.choice(WORDS, count))

    def tool(server: str, number: int) -> Tool:
        return Tool(
            server,
            f"{rng.choice(WORDS)}_{number}",
            text(5),
            price_usd=float(rng.random() * 0.03),
            latency_s=float(rng.random()),
        )

    made = Catalog(
        "texts",
        tuple(
            Server(f"{rng.choice(WORDS)}-{i}", text(6), tools=tuple(tool("", j) for j in range(rng.integers(1, 6)))) for i in range(10)
        ),
    )  # fmt: skip
    made = replace(
        made, servers=tuple(replace(s, tools=tuple(replace(t, server=s.name) for t in s.tools)) for s in made.servers)
    )
    encoder = CachedEncoder(EncoderSource.of(Letters()), MemoryVectorStore())
    fit = FitMatcher(RelevanceIndex.build(made, encoder), encoder, RelevanceModel.shipped())
    matcher = IndexMatcher(CatalogIndex(made, encoder), encoder, fit)
    tokens = np.full(len(made.tools), 10, dtype=np.int64)
    return RoutingContext.of(made, StatisticsProjection(made).snapshot(), matcher, tokens)


def test_the_router_decides_as_the_segment_of_a_weight_says() -> None:
    rng, changes = np.random.default_rng(4), 0
    for seed in range(5):
        context, hint = drawn(seed), HINT if seed % 2 else ""
        match = context.matcher.match(SUBTASK, hint, VIEWS)
        signals = ViewSignals.of(context.matcher, SUBTASK, hint, VIEWS)
        assert signals is not None
        found = strips(Case(context, match, VIEWS, signals=signals))
        assert ("hint_weight" in found) is bool(hint)
        for name in WEIGHTS:
            if name not in found:
                continue
            strip = found[name]
            changes += len(strip.segments) - 1
            at = np.array([strip.low, *strip.breakpoints(), strip.high])
            span = strip.high - strip.low
            for value in rng.uniform(strip.low, strip.high, 6):
                if np.abs(at - value).min() < 1e-5 * span:
                    continue
                parameters = replace(VIEWS, **{name: float(value)})
                winner = Ehrr().route(SUBTASK, context, parameters, server_hint=hint).winner
                assert strip.at(value).winner == (winner.tool if winner else None), (seed, name, value)
    assert changes > 20


def test_a_weight_that_is_alone_in_its_layer_has_no_strip() -> None:
    context = drawn(1)
    alone = replace(VIEWS, w_names=0.0, w_description=0.0, w_lexical=0.0)
    signals = ViewSignals.of(context.matcher, SUBTASK, "", alone)
    found = strips(Case(context, context.matcher.match(SUBTASK, "", alone), alone, signals=signals))
    assert "w_full" not in found
    assert "w_names" in found
