"""Charts: what is sent to the browser and comes back from a click; valid for Plotly, finite, and free of strangers' markup."""

from __future__ import annotations

import inspect
import math
from pathlib import Path

import plotly.graph_objects as go
from streamlit.testing.v1 import AppTest

import dashboard.pages.compare.charts
import dashboard.pages.route.charts
import dashboard.ui.charts.shared
from dashboard.pages.lab.charts import importance_bars, intervals, sweep_lines, sweep_map
from tests.cases import each
from tests.dashboard.chart_texts import plain
from tests.dashboard.decision_charts import CASES, CHARTS, chart, decision, marks, numbers
from tests.dashboard.harness import charts

OUR_TAGS = r'<br>|<b>-?\d+\.\d{3}</b>|<span style="color:#[0-9A-F]{6}">[◆a-z]+</span>'

DECISION_CHARTS = (dashboard.ui.charts.shared, dashboard.pages.route.charts, dashboard.pages.compare.charts)
OF_MANY_TASKS = {"refusal_curve", "frontier"}  # not of a decision


def test_every_chart_of_a_decision_is_in_the_table() -> None:
    drawing = {
        name
        for module in DECISION_CHARTS
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_")
        and function.__module__ == module.__name__
        and function.__annotations__.get("return") == "go.Figure"
    }
    assert drawing - OF_MANY_TASKS == {name.split()[0] for name in CHARTS}


def test_the_table_of_decisions_holds_what_its_names_say() -> None:
    assert decision("typical").winner
    for case in ("nothing accepted", "nothing affordable", "empty catalog"):
        assert decision(case).winner is None
    assert not decision("nothing accepted").servers.accepted.any()
    assert decision("nothing affordable").servers.accepted.all()
    assert max(decision("capped").servers.posted_price_usd) == 0.005
    assert max(decision("negative utilities").tools.utility) < 0
    assert max(decision("negative utilities").servers.utility) < 0
    assert sum(decision("50 servers, k = 50").servers.shortlisted) == 50
    assert sum(decision("no hierarchy").servers.shortlisted) == 7


@CASES
@each("name", CHARTS)
def test_plotly_takes_the_chart_and_every_number_is_finite_and_every_column_as_long_as_its_rows(case, name) -> None:
    for trace in chart(case, name).data:
        assert all(map(math.isfinite, numbers([*trace.x, *trace.y])))
        columns = (trace.x, trace.y, trace.customdata, trace.hovertext, trace.text)
        lengths = {len(column) for column in columns if column is not None}
        assert len(lengths) == 1


@each("case", ["hostile names", "endless names"])
@each("name", CHARTS)
def test_strangers_names_are_text(case, name) -> None:
    plain(chart(case, name), tags=OUR_TAGS, longest=400, skipped=("customdata",))


def test_servers_that_are_not_on_the_short_list_are_faded() -> None:
    _, listed, others = chart("50 servers, k = 50", "server_ranking").data
    assert (len(listed.text), len(others.text)) == (9, 0)
    _, listed, others = chart("typical", "server_ranking").data
    assert all(text.startswith(("★", "✓", "✗")) for text in listed.text)
    assert all(text.startswith("·") for text in others.text)


def test_long_catalogs_are_cut_to_what_fits() -> None:
    rows = {
        name: len(marks("50 servers, k = 50", name)[-1].y) for name in ("server_ranking", "auction", "tool_breakdown")
    }
    assert rows == {"server_ranking": 9, "auction": 9, "tool_breakdown": 8}
    assert len(chart("50 servers, k = 50", "curve_chart kappa").data) == 8
    assert len(chart("50 servers, k = 50", "curve_chart posted").data) == 2 + 2 * 50


WIDGETS = Path(__file__).parent.parent.parent / "dashboard"


def drawing() -> None:
    import streamlit as st

    from dashboard.ui.chart import chart, point_chosen
    from dashboard.ui.charts.base import figure

    if "chosen" in st.session_state:
        st.session_state["sent"] = {"chosen": st.session_state["chosen"]}
        point_chosen("sent", lambda name: st.session_state.update(target=name))
    bars = {"type": "bar", "x": [1, 2], "customdata": ["files::read", "mail"]}
    chart(figure([bars], title="<b>Two</b> &amp; one", height=200), key="bars", choose=print)


def test_a_figure_is_sent_whole_and_without_a_look_of_its_own() -> None:
    page = AppTest.from_function(drawing).run()
    assert not page.exception
    (figure,) = charts(page)
    assert figure["data"] == [{"type": "bar", "x": [1, 2], "customdata": ["files::read", "mail"]}]
    assert figure["layout"]["height"] == 200
    assert figure["layout"]["template"] == {}  # the page's colours and fonts are given to it in the browser
    assert '"about": "Two & one"' in page.get("bidi_component")[0].proto.json


@each(
    ("chosen", "target"),
    [
        ({"count": 4, "name": "files::read"}, "files::read"),
        ({"count": 4, "name": ""}, ""),
        ({"count": 3, "name": "told again"}, "before"),
        ({"count": "4", "name": "mail"}, "before"),
        ({"count": 4, "name": ["mail"]}, "before"),
        ("mail", "before"),
        (None, "before"),
    ],
)
def test_a_click_chooses_the_points_name_and_nothing_else_is_believed(chosen: object, target: str) -> None:
    page = AppTest.from_function(drawing)
    page.session_state["chosen"], page.session_state["target"] = chosen, "before"
    page.session_state["sent.clicks"] = 3
    assert not page.run().exception
    assert page.session_state["target"] == target


def test_there_is_one_way_to_draw_a_chart() -> None:
    files = [file.name for file in WIDGETS.rglob("*.py") if ".plotly_chart(" in file.read_text(encoding="utf-8")]
    assert files == []


def valid(figure: go.Figure) -> dict:
    """The chart as a document, which Plotly takes."""
    document = figure.to_dict()
    go.Figure(**document)
    return document


def test_the_best_run_is_on_top_with_its_own_interval() -> None:
    figure = valid(intervals(["<b>a</b>", "b"], [0.8, 0.5], [(0.6, 0.9), (0.4, 0.7)], measure="RR"))
    points, texts = figure["data"]
    assert list(points["x"]) == [0.5, 0.8]
    assert [round(value, 9) for value in points["error_x"]["arrayminus"]] == [0.1, 0.2]
    assert list(texts["text"]) == ["b", "&lt;b&gt;a&lt;/b&gt;"]


def test_a_swept_knob_is_a_line_with_the_chosen_point_and_the_knob_now() -> None:
    figure = valid(sweep_lines([0.0, 0.1, 0.2], [1.0, 3.0, 2.0], [0, 1, 2], knob="x", measure="RR", chosen=1, now=0.05))
    assert list(figure["data"][0]["marker"]["symbol"]) == ["circle", "star", "circle"]
    assert figure["layout"]["shapes"][0]["x0"] == 0.05
    off = valid(sweep_lines([0.0, 0.1], [1.0, 3.0], [0, 1], knob="x", measure="RR", chosen=1, now=None))
    assert not off["layout"].get("shapes")
    switch = valid(sweep_lines([False, True], [1.0, 3.0], [0, 1], knob="x", measure="RR", chosen=1, now=True))
    assert (switch["layout"]["xaxis"]["type"], switch["layout"]["shapes"][0]["x0"]) == ("category", "True")


def test_two_swept_knobs_are_a_map_that_is_dark_where_it_is_better() -> None:
    points = [{"a": a, "b": b} for a in (0.0, 0.5) for b in (1, 2, 3)]
    for less in (True, False):
        figure = valid(
            sweep_map(points, [1, 2, 3, 4, 5, 6], list(range(6)), axes=("a", "b"), measure="USD", chosen=4, less_is_better=less)
        )  # fmt: skip
        squares, star = figure["data"]
        assert [list(row) for row in squares["z"]] == [[1, 4], [2, 5], [3, 6]]
        assert squares["reversescale"] is less
        assert (star["x"], star["y"]) == (["0.5"], ["2"])


def test_the_parameter_that_matters_most_is_on_top_with_its_share_in_percent() -> None:
    bars, names, shares = valid(importance_bars({"<i>kappa</i>": 0.75, "n": 0.25}, objective="success"))["data"]
    assert (list(bars["x"]), list(bars["y"])) == ([25.0, 75.0], [0, 1])
    assert (list(names["text"]), list(shares["text"])) == (["n", "&lt;i&gt;kappa&lt;/i&gt;"], ["25 %", "75 %"])
