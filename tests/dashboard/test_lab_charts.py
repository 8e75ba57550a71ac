"""The charts of the Lab page: valid for Plotly, each point with what it is chosen by, nothing where a knob is off."""

from __future__ import annotations

import plotly.graph_objects as go

from dashboard.pages.lab.charts import importance_bars, intervals, sweep_lines, sweep_map


def valid(made: go.Figure) -> dict:
    """The chart as a document, which Plotly takes."""
    document = made.to_dict()
    go.Figure(**document)
    return document


def test_the_best_run_is_on_top_with_its_own_interval() -> None:
    made = valid(intervals(["<b>a</b>", "b"], [0.8, 0.5], [(0.6, 0.9), (0.4, 0.7)], measure="RR"))
    points, texts = made["data"]
    assert list(points["x"]) == [0.5, 0.8]
    assert [round(one, 9) for one in points["error_x"]["arrayminus"]] == [0.1, 0.2]
    assert list(texts["text"]) == ["b", "&lt;b&gt;a&lt;/b&gt;"]


def test_a_swept_knob_is_a_line_with_the_chosen_point_and_the_knob_now() -> None:
    made = valid(sweep_lines([0.0, 0.1, 0.2], [1.0, 3.0, 2.0], [0, 1, 2], axis="x", measure="RR", chosen=1, now=0.05))
    assert list(made["data"][0]["marker"]["symbol"]) == ["circle", "star", "circle"]
    assert made["layout"]["shapes"][0]["x0"] == 0.05
    off = valid(sweep_lines([0.0, 0.1], [1.0, 3.0], [0, 1], axis="x", measure="RR", chosen=1, now=None))
    assert not off["layout"].get("shapes")
    switch = valid(sweep_lines([False, True], [1.0, 3.0], [0, 1], axis="x", measure="RR", chosen=1, now=True))
    assert (switch["layout"]["xaxis"]["type"], switch["layout"]["shapes"][0]["x0"]) == ("category", "True")


def test_two_swept_knobs_are_a_map_that_is_dark_where_it_is_better() -> None:
    points = [{"a": one, "b": other} for one in (0.0, 0.5) for other in (1, 2, 3)]
    for less in (True, False):
        made = valid(
            sweep_map(points, [1, 2, 3, 4, 5, 6], list(range(6)), axes=("a", "b"), measure="USD", chosen=4, less_is_better=less)
        )  # fmt: skip
        squares, star = made["data"]
        assert [list(row) for row in squares["z"]] == [[1, 4], [2, 5], [3, 6]]
        assert squares["reversescale"] is less
        assert (star["x"], star["y"]) == (["0.5"], ["2"])


def test_the_parameter_that_matters_most_is_on_top_with_its_share_in_percent() -> None:
    bars, names, shares = valid(importance_bars({"<i>kappa</i>": 0.75, "n": 0.25}, objective="success"))["data"]
    assert (list(bars["x"]), list(bars["y"])) == ([25.0, 75.0], [0, 1])
    assert (list(names["text"]), list(shares["text"])) == (["n", "&lt;i&gt;kappa&lt;/i&gt;"], ["25 %", "75 %"])
