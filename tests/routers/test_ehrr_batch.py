"""Many points at once give the candidates of single routing, for all parameters and ties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.decisions.case import BROADCAST, candidates_of, family, payments_of
from core.domain.catalog import Catalog, Server, Tool
from core.routers.context import Match, RoutingContext
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.parameters import LearningParameters, MatchingParameters
from tests.routers import worlds

# parameters that change similarities or statistics, or refuse a sub-task before the ranking
ELSEWHERE = {knob.name for kind in (LearningParameters, MatchingParameters) for knob in kind.knobs()} | {
    "wrong_refusals"
}
SHARES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])  # few: equal similarities and figures make ties
FIGURES = st.sampled_from([None, 0.0, 0.1, 0.5, 2.0])
PRICES = st.sampled_from([None, 0.0, 0.001, 0.01, 0.1])


def values_of(knob) -> st.SearchStrategy:
    """Any value that a knob admits, its ends and its default among them."""
    if knob.kind is bool:
        return st.booleans()
    if knob.choices:
        return st.sampled_from(knob.choices)
    number = st.integers(int(knob.low), min(int(knob.high), 12)) if knob.kind is int else st.floats(knob.low, knob.high)
    return st.one_of(st.just(knob.default), st.sampled_from([knob.low, knob.high]), number)


KNOBS = {
    knob.name: values_of(knob) for knob in EhrrParameters.knobs() if knob.name not in ELSEWHERE - {"n", "similarity"}
}
WIDE = st.fixed_dictionaries(KNOBS)
NARROW = st.fixed_dictionaries({name: KNOBS[name] for name in BROADCAST})


@st.composite
def servers(draw) -> Catalog:
    """Up to six servers of up to five tools; some have none."""
    drawn = []
    for number in range(draw(st.integers(1, 6))):
        name = f"s{9 - number}"  # the order of names is not that of rows
        tools = tuple(
            Tool(
                name,
                f"t{9 - n}",
                price_usd=draw(PRICES),
                latency_s=draw(FIGURES),
                success=draw(st.one_of(st.none(), SHARES)),
            )
            for n in range(draw(st.integers(0, 5)))
        )
        drawn.append(
            Server(
                name,
                tools=tools,
                ask_usd=draw(PRICES),
                conn_s=draw(FIGURES),
                call_s=draw(FIGURES),
                success=draw(SHARES),
            )
        )
    return Catalog("drawn", tuple(drawn))


def asked(context: RoutingContext, match: Match, parameters: EhrrParameters) -> list[int]:
    """The candidates of the plain router for given similarities."""
    context.matcher.answer = match
    return list(Ehrr().route("anything", context, parameters).candidates)


@settings(derandomize=True, max_examples=40)
@given(st.data())
def test_the_same_candidates(data) -> None:
    catalog = data.draw(servers())
    context = worlds.context(catalog, {}, {})
    common = data.draw(WIDE)
    points = [EhrrParameters(**common)] + [
        EhrrParameters(**{**common, **data.draw(NARROW)}) for _ in range(data.draw(st.integers(0, 3)))
    ]
    layers = [(len(catalog.servers), len(catalog.tools)) for _ in range(3)]
    matches = [
        Match(*(np.array(data.draw(st.lists(SHARES, min_size=n, max_size=n))) for n in sizes)) for sizes in layers
    ]
    assert len({family(point) for point in points}) == 1
    candidates = candidates_of(context, matches, points)
    paid = payments_of(context, matches, points, candidates)
    for point, rows, usd in zip(points, candidates, paid, strict=True):
        for match, row, of_row in zip(matches, rows, usd, strict=True):
            assert [int(tool) for tool in row if tool >= 0] == asked(context, match, point)
            pays = Ehrr().route("anything", context, point).tools.payment_usd
            assert np.array_equal(of_row[row >= 0], pays[row[row >= 0]], equal_nan=True)


def test_a_large_catalog_in_several_parts() -> None:
    """More sub-tasks than one batch holds."""
    rng = np.random.default_rng(5)
    catalog = Catalog(
        "large",
        tuple(
            Server(f"s{i}", tools=tuple(Tool(f"s{i}", f"t{j}", price_usd=rng.random() * 0.02, latency_s=rng.random()) for j in range(12)))
            for i in range(80)
        ),
    )  # fmt: skip
    context = worlds.context(catalog, {}, {})
    matches = [Match(rng.random(80), rng.random(960)) for _ in range(120)]
    points = [EhrrParameters(alpha_t=alpha, kappa=kappa, n=10) for alpha in (0.0, 0.1, 1.0) for kappa in (0.0, 100.0)]
    points += [replace(points[0], p_bs=p) for p in (0.0, 0.01, 0.02)]
    candidates = candidates_of(context, matches, points)
    for task in range(0, 120, 7):
        for place, point in enumerate(points):
            assert [int(tool) for tool in candidates[place, task] if tool >= 0] == asked(context, matches[task], point)


def test_without_tools_there_are_no_candidates() -> None:
    context = worlds.context(worlds.catalog(Server("empty")), {}, {})
    candidates = candidates_of(context, [Match(np.ones(1), np.zeros(0))], [EhrrParameters(n=2)])
    assert candidates.tolist() == [[[-1, -1]]]
