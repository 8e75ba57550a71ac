"""The charts of the Network page: valid for Plotly, events at their steps, and strangers' text as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from core.lab.scenarios.measures import Change, Curve, RankingHistory, ScenarioRun
from dashboard.pages.network.charts.latency import (
    FAINT,
    ROUTER_LOOKS,
    RunTimeline,
    latency_curves,
    latency_preview,
    server_look,
)
from dashboard.pages.network.charts.runs import (
    MOST_POINTS,
    NOWHERE,
    TOTALS,
    event_strip,
    failures_by_step,
    latency_against_success,
    server_history,
    totals_so_far,
)
from dashboard.pages.network.tables import measures_frame
from dashboard.theme import LOOKED_AT, MUTED
from tests.cases import each
from tests.dashboard.chart_texts import HOSTILE, plain
from tests.store.test_scenario_runs import run as kept_run

LEAD_IN, STEPS, STEP_S = 2, 6, 10.0


def run(router: str, servers: list[int], network_s: list[float], ok: list[bool], price_usd: float = 0.5) -> ScenarioRun:
    rows = np.array(servers)
    prices = np.where(rows >= 0, price_usd, 0.0)
    return ScenarioRun(
        router, "s3t6", {}, 0.5, 0.25, 100.0, 1.0, 0.1, float(prices.sum()), None,
        at=np.arange(STEPS) + LEAD_IN, task=np.array([0, 1, 0, 1, 0, 1]), server=rows, tool=rows,
        network_s=np.array(network_s), price_usd=prices, ok=np.array(ok),
    )  # fmt: skip


def timeline(name: str = "alpha") -> RunTimeline:
    """Six steps: alpha is down at steps 1 to 3; the first router stays with it, the other leaves; bravo is not drawn."""
    time_s = np.arange(LEAD_IN + STEPS) * STEP_S
    down = np.array([0.02, 0.02, 0.02, 1.0, 1.0, 1.0, 0.02, 0.02])
    return RunTimeline(
        titles=(name, f"other {name}"),
        runs=(
            run("a", [0] * 6, [0.02, 1.0, 1.0, 1.0, 0.02, 0.02], [True, False, False, False, True, True]),
            run("b", [0, 1, 1, 1, -1, 0], [0.02, 0.3, 0.3, 0.3, np.nan, 0.02], [True, True, True, True, False, True]),
        ),
        rankings=(
            RankingHistory(
                np.array([[0, 1, -1]] * STEPS), np.array([[0.5, 0.25, np.nan]] * STEPS), "utility", "chance",
                np.linspace(1.0, 0.0, STEPS * 2, dtype=np.float32).reshape(STEPS, 2),
            ),
            RankingHistory(np.full((STEPS, 3), -1), np.full((STEPS, 3), np.nan), "BM25 score", "", None),
        ),
        changes=((), (Change("b", 2, 40.0, 0, name, "bravo", f"{name} is down."),)),
        curves=(Curve(name, ("x",), time_s, down, ((30.0, 60.0),)),),
        subtasks=("one", "two"),
        experts=(frozenset({0}), frozenset({0})),
        servers=(name, "bravo"),
        tools=("run", "go"),
        steps=STEPS,
        lead_in=LEAD_IN,
        step_s=STEP_S,
    )  # fmt: skip


def test_calls_without_a_price_are_unpriced_and_not_free() -> None:
    first, other = timeline().runs
    mixed = replace(other, price_usd=np.array([0.5, np.nan, 0.5, 0.0, 0.0, np.nan]), cost_usd=1.0)
    of_two = replace(timeline(), runs=(replace(first, price_usd=np.full(STEPS, np.nan), cost_usd=0.0), mixed))
    assert list(measures_frame(of_two)["cost"]) == ["unpriced", "$1.00 + 2 unpriced"]
    assert totals_so_far(of_two, "cost", STEPS - 1).data[-1].y.tolist() == [0.5, 0.5, 1.0, 1.0, 1.0, 1.0]


def drawn(name: str = "alpha", step: int = 2) -> list[go.Figure]:
    run_of_two = timeline(name)
    return [
        latency_curves(run_of_two, step),
        latency_curves(run_of_two, step, logarithmic=False),
        event_strip(run_of_two, step),
        server_history(run_of_two, 0, step),
        *(totals_so_far(run_of_two, total, step) for total in TOTALS),
    ]


@each(("name", "at"), [("alpha", 0), (HOSTILE, 4), ("x" * 300, STEPS - 1)])
def test_plotly_takes_them_names_are_text_and_the_step_is_marked(name: str, at: int) -> None:
    for figure in drawn(name, at):
        assert "imulated" in plain(figure)["layout"]["title"]["text"]
        (line,) = [shape for shape in figure.layout.shapes if shape.line.color == LOOKED_AT]
        assert (line.x0, line.x1) == (at, at)


def test_a_curve_is_in_ms_and_its_first_query_at_step_0() -> None:
    curve = next(trace for trace in latency_curves(timeline(), 2).data if trace.name == "alpha")
    assert list(curve.x) == [-2, -1, 0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(curve.y, [20, 20, 20, 1000, 1000, 1000, 20, 20])


def test_the_marks_are_where_the_routers_call_and_nowhere_where_they_do_not() -> None:
    def marks(step: int) -> dict[str, tuple[float, float]]:
        return {
            t.marker.color: (t.x[0], round(t.y[0], 6))
            for t in latency_curves(timeline(), step).data
            if t.mode == "markers"
        }

    first, other = (look[0] for look in ROUTER_LOOKS)
    assert marks(1) == {first: (1, 1000.0), other: (1, 300.0)}
    assert set(marks(4)) == {first}


def test_totals_are_faint_after_the_step_on_axes_of_the_whole_run() -> None:
    coming, failures, coming_of_other, other = totals_so_far(timeline(), "failures", 3).data
    assert list(failures.y) == [0, 1, 2, 3]
    assert list(other.y) == [0, 0, 0, 0]
    assert (list(coming.x), list(coming.y)) == ([3, 4, 5], [3, 3, 3])
    assert list(coming_of_other.y) == [0, 1, 1]
    assert [trace.opacity for trace in (coming, failures)] == [FAINT, 1.0]
    assert list(totals_so_far(timeline(), "failures", 5).data[3].y) == [0, 0, 0, 0, 1, 1]
    latency = totals_so_far(timeline(), "latency", 4).data[3]
    np.testing.assert_allclose(latency.y, [20, 160, 620 / 3, 230, 230], rtol=1e-6)
    cost = totals_so_far(timeline(), "cost", 1)
    assert cost.layout.title.text == "Cost of the calls ($), simulated"
    assert list(cost.data[1].y) == [0.5, 1.0]
    ranges = [totals_so_far(timeline(), name, step).layout.yaxis.range for name in TOTALS for step in (0, 5)]
    assert ranges[0::2] == ranges[1::2]


def test_a_call_has_its_servers_colour_and_a_cross_where_it_had_no_success() -> None:
    first, _, _, _, other, coming = event_strip(timeline(), 3).data[:6]
    colour = server_look(0)["color"]
    assert list(first.marker.color) == [colour] * 4
    assert [symbol.startswith("x") for symbol in first.marker.symbol] == [False, True, True, True]
    assert list(other.marker.color) == [colour, MUTED, MUTED, MUTED]
    assert coming.hovertext[0] == f"step 4: {NOWHERE}, no success"
    assert coming.marker.opacity == FAINT


@each(("name", "count"), [("alpha", 0), ("x" * 300, 1), (HOSTILE, 6)])
def test_a_preview_has_a_panel_a_server_on_axes_that_all_share(name: str, count: int) -> None:
    figure = latency_preview([replace(timeline(name).curves[0], states=(name,))] * count, STEP_S)
    document = plain(figure)
    assert "imulated" in document["layout"]["title"]["text"]
    lines = [trace for trace in figure.data if trace.fill is None]
    assert len({(line.xaxis, line.yaxis) for line in lines}) == len(lines) == count
    axes = [document["layout"][f"yaxis{'' if n == 1 else n}"] for n in range(1, count + 1)]
    assert len({tuple(axis["range"]) for axis in axes}) <= 1
    assert all(0 <= low < high <= 1 for low, high in (axis["domain"] for axis in axes))


def test_a_preview_is_in_ms_by_step_and_shaded_where_a_server_is_down() -> None:
    shade, line = latency_preview(timeline().curves, STEP_S).data
    assert list(line.x) == list(range(LEAD_IN + STEPS))
    np.testing.assert_allclose(line.y, [20, 20, 20, 1000, 1000, 1000, 20, 20])
    assert [x for x in shade.x if x is not None] == [3, 6, 6, 3]


def compared(name: str, latencies_ms: list[float], shares: list[float]) -> list[go.Figure]:
    runs = [
        kept_run(str(place), al_ms=ms, ssr=share)
        for place, (ms, share) in enumerate(zip(latencies_ms, shares, strict=True))
    ]
    oks = [np.arange(3 + place) % 2 == 0 for place in range(len(runs))]
    return [latency_against_success(runs, [name] * len(runs)), failures_by_step(oks, [name] * len(runs))]


@each("name", [HOSTILE, "x" * 300])
def test_stored_runs_are_drawn_for_plotly_with_names_as_text(name: str) -> None:
    for figure in compared(name, [20.0, 20.0, 0.0, 5000.0, 30.0, 31.0], [1.0, 1.0, 0.0, 0.5, 0.99, 0.98]):
        document = plain(figure)
        assert [note.text for note in sorted(figure.layout.annotations, key=lambda note: note.text)] == list("123456")
        assert len({trace.get("marker", trace.get("line"))["color"] for trace in document["data"]}) == 6


def test_failures_of_stored_runs_come_together_and_long_runs_are_thinned() -> None:
    ok = np.zeros(100_000, dtype=np.bool_)
    figure = failures_by_step([np.array([True, False, False]), ok, np.empty(0, dtype=np.bool_)], ["a", "b", "c"])
    short, long, none = figure.data
    assert (list(short.x), list(short.y)) == ([0, 1, 2], [0, 1, 2])
    assert len(long.x) == MOST_POINTS
    assert (long.x[-1], long.y[-1]) == (99_999, 100_000)
    assert len(none.x) == 0
    assert [note.text for note in figure.layout.annotations] == ["1", "2"]
