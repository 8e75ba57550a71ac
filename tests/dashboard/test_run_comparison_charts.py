"""The charts that compare stored runs: valid for Plotly, told apart, and strangers' text as text."""

from __future__ import annotations

import re

import numpy as np
import plotly.graph_objects as go

from dashboard.pages.network.charts.runs import MOST_POINTS, failures_by_step, latency_against_success
from tests.cases import each
from tests.dashboard.chart_texts import HOSTILE, texts
from tests.store.test_scenario_runs import run as kept_run

OUR_TAGS = re.compile(r"<br>")


def compared(name: str, latencies_ms: list[float], shares: list[float]) -> list[go.Figure]:
    runs = [
        kept_run(str(place), al_ms=ms, ssr=share)
        for place, (ms, share) in enumerate(zip(latencies_ms, shares, strict=True))
    ]
    oks = [np.arange(3 + place) % 2 == 0 for place in range(len(runs))]
    return [latency_against_success(runs, [name] * len(runs)), failures_by_step(oks, [name] * len(runs))]


@each("name", ["alpha", HOSTILE, "x" * 300])
def test_stored_runs_are_drawn_for_plotly_with_names_as_text(name: str) -> None:
    for figure in compared(name, [20.0, 20.0, 0.0, 5000.0, 30.0, 31.0], [1.0, 1.0, 0.0, 0.5, 0.99, 0.98]):
        made = figure.to_dict()
        go.Figure(**made)
        for text in texts({"data": made["data"], "layout": made["layout"]}, skipped=()):
            assert "<" not in OUR_TAGS.sub("", text), text
            assert len(text) < 500
        assert [note.text for note in sorted(figure.layout.annotations, key=lambda note: note.text)] == list("123456")
        assert len({trace.get("marker", trace.get("line"))["color"] for trace in made["data"]}) == 6


def test_runs_at_one_point_have_marks_and_numbers_that_can_be_run_of_two_apart() -> None:
    figure = compared("a", [20.0] * 6, [0.5] * 6)[0]
    assert len({(trace.marker.symbol, trace.marker.size) for trace in figure.data}) == 6
    assert len({(round(note.ax, 3), round(note.ay, 3)) for note in figure.layout.annotations}) == 6
    assert {(trace.x[0], trace.y[0]) for trace in figure.data} == {(20.0, 50.0)}
    low, high = figure.layout.xaxis.range
    assert 10**low < 20 < 10**high


def test_failures_of_stored_runs_come_together_and_long_runs_are_thinned() -> None:
    ok = np.zeros(100_000, dtype=np.bool_)
    figure = failures_by_step([np.array([True, False, False]), ok, np.empty(0, dtype=np.bool_)], ["a", "b", "c"])
    short, long, none = figure.data
    assert (list(short.x), list(short.y)) == ([0, 1, 2], [0, 1, 2])
    assert len(long.x) == MOST_POINTS
    assert (long.x[-1], long.y[-1]) == (99_999, 100_000)
    assert len(none.x) == 0
    assert [note.text for note in figure.layout.annotations] == ["1", "2"]
