"""Charts on a page: what is sent to the browser, and what comes back from a click."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.cases import each
from tests.dashboard.harness import charts

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
    (sent,) = charts(page)
    assert sent["data"] == [{"type": "bar", "x": [1, 2], "customdata": ["files::read", "mail"]}]
    assert sent["layout"]["height"] == 200
    assert sent["layout"]["template"] == {}  # the page's colours and fonts are given to it in the browser
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
    found = [file.name for file in WIDGETS.rglob("*.py") if ".plotly_chart(" in file.read_text(encoding="utf-8")]
    assert found == []
