"""The strips of EHRR, and those of the weights of views: they decide as the router does, miss no band, and invent no change."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from core.decisions.case import WEIGHTS, Case, Outcomes, decide
from core.decisions.curves import plane, utilities
from core.decisions.ehrr_strips import MOVES_SERVERS, SMOOTH, WHOLE, bracketed, grid, of_listed, strip, strips
from core.domain.catalog import Catalog, Server, Tool
from core.relevance.catalog_index import CatalogIndex
from core.relevance.encoder import CachedEncoder, EncoderSource, MemoryVectorStore
from core.relevance.fit_matcher import FitMatcher
from core.relevance.relevance_index import RelevanceIndex, RelevanceModel
from core.routers.context import IndexMatcher, RoutingContext
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.projection import StatisticsProjection
from tests.cases import each
from tests.decisions import instances
from tests.relevance.toy_encoders import Letters
from tests.routers import worlds

KNOBS = {knob.name: knob for knob in instances.EhrrParameters.knobs()}


@each("name", SMOOTH)
def test_each_segment_decides_as_the_values_in_it_and_otherwise_than_its_neighbours(name: str) -> None:
    """Six instances for each of nine parameters."""
    for seed in range(6):
        case = instances.case(np.random.default_rng([seed, len(name)]))
        knob_strip = strip(case, KNOBS[name])
        starts = np.array([segment.low for segment in knob_strip.segments])
        of_segments = decide(case, {name: (starts + np.append(starts[1:], knob_strip.high)) / 2}).signatures()
        values = grid(KNOBS[name])[::7]
        places = np.searchsorted(starts, values, side="right") - 1
        assert decide(case, {name: values}).signatures() == [of_segments[place] for place in places], (seed, name)
        assert all(left != right for left, right in pairwise(of_segments)), (seed, name)


@each("name", SMOOTH)
def test_every_band_wider_than_a_step_is_found(name: str) -> None:
    """Bands anywhere, each a little wider than a step of the slider, with narrower gaps between some of them."""
    knob = KNOBS[name]
    low, high, step = float(knob.low or 0), float(knob.high or 1), float(knob.step or 1)
    rng = np.random.default_rng(len(name))
    for _ in range(20):
        starts = np.sort(rng.uniform(low, high - 2 * step, 4))
        ends = np.minimum(starts + 1.01 * step, np.append(starts[1:], high))
        wide = ends - starts > step

        def decided(_: object, values: np.ndarray, starts: np.ndarray = starts, ends: np.ndarray = ends) -> list[int]:
            places = np.searchsorted(starts, values, side="right") - 1
            return np.where((places >= 0) & (values < ends[places]), places, -1).tolist()

        edges = bracketed({name: grid(knob)}, decided)[name]
        for edge in starts[wide]:
            assert np.abs(edges - edge).min() < 1e-9 * (high - low)


def test_the_decision_of_many_points_is_that_of_the_router() -> None:
    rng = np.random.default_rng(3)
    for _ in range(25):
        case = instances.case(rng)
        for name in (*SMOOTH, *WHOLE):
            knob = KNOBS[name]
            number = float(rng.uniform(knob.low, knob.high / 3))
            value = int(number) + 1 if name in WHOLE else number
            parameters = replace(case.parameters, **{name: value})
            decision = Ehrr().route("anything", case.context, parameters)
            outcomes = decide(case, {name: np.array([float(value)])})
            assert [int(row) for row in outcomes.candidates[0] if row >= 0] == list(decision.candidates)
            assert np.array_equal(outcomes.listed[0], decision.servers.shortlisted)
            assert np.array_equal(outcomes.accepted[0], decision.servers.accepted)


def test_the_utility_of_a_server_that_costs_no_time_is_drawn() -> None:
    server = Server(
        "s", ask_usd=0.0, conn_s=0.0, call_s=0.0, success=0.9, tools=(worlds.tool("t", price_usd=0.0, latency_s=0.0),)
    )
    context, parameters = (
        worlds.context(worlds.catalog(server), {"s": 0.5}, {"s::t": 0.5}),
        EhrrParameters(l_route_s=0.0),
    )
    case = Case(context, context.matcher.answer, parameters)
    curve = utilities(case, strip(case, KNOBS["alpha_s"]))
    assert curve.filled.endswith("0 s / 0.882 = 0.5")


def test_tables_one_and_two() -> None:
    """In the paper's example t13 would win if time mattered less: U is equal at alpha_t = (0.85 - 0.75) / (1.47 - 0.94) or so."""
    context = worlds.tables_context()
    parameters = worlds.table_v(worthwhile=False)
    case = instances.Case(context, context.matcher.answer, parameters)
    alpha_strip = strips(case)["alpha_t"]
    assert alpha_strip.at(parameters.alpha_t).winner == "s1::t12"
    first, current = alpha_strip.segments
    assert first.winner == "s1::t13"
    assert first.high == pytest.approx(0.1 / (1.1 / 0.76 + 0.020 - 0.8 / 0.855 - 0.002))
    assert first.stage == current.stage == "candidates"
    assert first.reason.endswith("loses to s1::t13")


@each("name", ["alpha_t", "kappa"])
def test_tools_that_are_equal_only_at_the_end_of_a_knob_are_not_equal_beside_it(name: str) -> None:
    """The first by name is dearer and slower. It wins at 0 alone."""
    servers = [
        Server(server, ask_usd=0.0, tools=(worlds.tool("t", price_usd=price, latency_s=latency),))
        for server, price, latency in (("a", 0.01, 3.0 if name == "alpha_t" else 1.0), ("b", 0.001, 1.0))
    ]
    context = worlds.context(worlds.catalog(*servers), {"a": 0.9, "b": 0.9}, {"a::t": 0.9, "b::t": 0.9})
    case = Case(context, context.matcher.answer, worlds.table_v(**{"alpha_t": 0.02, name: 0.0}))
    knob_strip = strip(case, KNOBS[name])
    for value in (0.0, 0.01, 0.05):
        decision = Ehrr().route("x", context, case.parameters.replaced({name: value}))
        assert knob_strip.at(value).winner == decision.winner.tool == ("b::t" if value else "a::t")


def test_a_refused_subtask_has_no_winner_anywhere() -> None:
    case = replace(instances.case(np.random.default_rng(1)), refused="Refused: nothing fits.")
    for knob_strip in strips(case).values():
        assert {segment.winner for segment in knob_strip.segments} == {None}


def test_servers_that_are_not_on_the_shortlist_change_nothing() -> None:
    """Compared are short-list, answers and candidates; many servers are equal in some of the instances."""
    for seed in range(4):
        case = instances.case(np.random.default_rng(seed), servers=60, tools=2)
        for name in (*SMOOTH, *WHOLE):
            low, high = float(KNOBS[name].low or 0), float(KNOBS[name].high or 1)
            values = np.geomspace(low + 1e-3, high, 20) if name in SMOOTH else np.arange(1.0, 31.0, 3)
            reduced = of_listed(case, [{name: values}])
            assert _names(reduced, decide(reduced, {name: values})) == _names(case, decide(case, {name: values})), (
                seed,
                name,
            )


@pytest.mark.parametrize("axes", list(combinations(MOVES_SERVERS[:3], 2)))
def test_a_plane_of_two_knobs_that_move_servers_looks_at_few_servers(axes: tuple[str, str]) -> None:
    case = instances.case(np.random.default_rng(3), servers=200, tools=2)
    x, y = (
        np.linspace(float(KNOBS[name].low or 0) + 1e-3, 0.5, count) for name, count in zip(axes, (5, 9), strict=True)
    )
    result = plane(case, *axes, x, y)
    assert len(result.tools) < len(case.context.tool_ids) / 2
    expected = decide(case, {axes[0]: np.tile(x, len(y)), axes[1]: np.repeat(y, len(x))})
    won = np.array([*case.context.tool_ids, "none"])[expected.winner]
    assert np.array([*result.tools, "none"])[result.winner.ravel()].tolist() == won.tolist()
    assert result.margin.ravel() == pytest.approx(expected.runners_up()[1])


def _names(case: instances.Case, outcomes: Outcomes) -> list[tuple[list[str], list[str], list[str]]]:
    servers, tools = np.array(case.context.server_names), np.array(case.context.tool_ids)
    return [
        (sorted(servers[shortlist]), sorted(servers[accepted & shortlist]), list(tools[rows[rows >= 0]]))
        for shortlist, accepted, rows in zip(outcomes.listed, outcomes.accepted, outcomes.candidates, strict=True)
    ]


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

    catalog = Catalog(
        "texts",
        tuple(
            Server(f"{rng.choice(WORDS)}-{i}", text(6), tools=tuple(tool("", j) for j in range(rng.integers(1, 6)))) for i in range(10)
        ),
    )  # fmt: skip
    catalog = replace(
        catalog,
        servers=tuple(replace(s, tools=tuple(replace(t, server=s.name) for t in s.tools)) for s in catalog.servers),
    )
    encoder = CachedEncoder(EncoderSource.of(Letters()), MemoryVectorStore())
    fit = FitMatcher(RelevanceIndex.build(catalog, encoder), encoder, RelevanceModel.shipped())
    matcher = IndexMatcher(CatalogIndex(catalog, encoder), encoder, fit)
    tokens = np.full(len(catalog.tools), 10, dtype=np.int64)
    return RoutingContext.of(catalog, StatisticsProjection(catalog).snapshot(), matcher, tokens)


def test_the_router_decides_as_the_segment_of_a_weight_says() -> None:
    rng, changes = np.random.default_rng(4), 0
    for seed in range(5):
        context, hint = drawn(seed), HINT if seed % 2 else ""
        match = context.matcher.match(SUBTASK, hint, VIEWS)
        signals = context.matcher.index.signals(SUBTASK, hint, doubt_names=VIEWS.doubt_names)
        by_name = strips(Case(context, match, VIEWS, signals=signals))
        assert ("hint_weight" in by_name) is bool(hint)
        for name in WEIGHTS:
            if name not in by_name:
                continue
            strip = by_name[name]
            changes += len(strip.segments) - 1
            edges = np.array([strip.low, *strip.breakpoints(), strip.high])
            span = strip.high - strip.low
            for value in rng.uniform(strip.low, strip.high, 6):
                if np.abs(edges - value).min() < 1e-5 * span:
                    continue
                parameters = replace(VIEWS, **{name: float(value)})
                winner = Ehrr().route(SUBTASK, context, parameters, server_hint=hint).winner
                assert strip.at(value).winner == (winner.tool if winner else None), (seed, name, value)
    assert changes > 20


@each(
    "parameters",
    [
        replace(VIEWS, sim_midpoint=0.0),
        replace(VIEWS, w_server_profile=0.0, w_server_summary=0.0, w_server_best_tool=1.0, w_server_lexical=0.0),
    ],
)
def test_a_knob_that_moves_no_similarity_has_a_strip_of_one_segment(parameters: EhrrParameters) -> None:
    """Contrast without a middle of the scale, or a hint that counts for no server."""
    context = drawn(1)
    signals = context.matcher.index.signals(SUBTASK, HINT, doubt_names=parameters.doubt_names)
    case = Case(context, context.matcher.match(SUBTASK, HINT, parameters), parameters, signals=signals)
    still = "sim_steepness" if parameters.sim_midpoint == 0 else "hint_weight"
    assert len(strips(case)[still].segments) == 1


def test_a_weight_that_is_alone_in_its_layer_has_no_strip() -> None:
    context = drawn(1)
    parameters = replace(VIEWS, w_names=0.0, w_description=0.0, w_lexical=0.0)
    signals = context.matcher.index.signals(SUBTASK, doubt_names=parameters.doubt_names)
    by_name = strips(Case(context, context.matcher.match(SUBTASK, "", parameters), parameters, signals=signals))
    assert "w_full" not in by_name
    assert "w_names" in by_name
