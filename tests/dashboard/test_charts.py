"""Every chart of a decision: valid for Plotly, finite, labelled with units, and free of strangers' markup."""

from __future__ import annotations

import inspect
import math
import re

import dashboard.pages.compare.charts
import dashboard.pages.route.charts
import dashboard.ui.charts.shared
from tests.cases import each
from tests.dashboard.chart_texts import texts
from tests.dashboard.decision_charts import CASES, CHARTS, chart, decision, marks, numbers

OUR_TAGS = re.compile(r'<br>|<b>-?\d+\.\d{3}</b>|<span style="color:#[0-9A-F]{6}">[◆a-z]+</span>')

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


@each(
    ("name", "title", "x", "y"),
    [
        ("server_ranking", "1 · Servers by utility", "U = Sim − αs·C", None),
        ("auction", "2 · Auction: ask ● ≤ posted |", "m$ per call", None),
        ("tool_breakdown", "3 · Tools: ◆ = similarity − time − money", "U = Sim − αt·(time + κ·price)", None),
        (
            "curve_chart posted", "Price posted to alpha", "expected time to success C (s)", "m$ per call",
        ),
        ("curve_chart alpha_t", "Utility against αt", "αt (1/s)", "U"),
        ("curve_chart kappa", "Utility against κ", "κ (s/$)", "U"),
    ],
)  # fmt: skip
def test_titles_say_what_is_drawn_and_axes_carry_units(name, title, x, y) -> None:
    layout = chart("typical", name).layout
    assert re.sub(r"<[^>]+>", "", layout.title.text) == title
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == (x, y)


@each("case", ["hostile names", "endless names"])
@each("name", CHARTS)
def test_strangers_names_are_text(case, name) -> None:
    drawn = chart(case, name).to_dict()
    for text in texts(drawn):
        assert "<" not in OUR_TAGS.sub("", text), text
        assert text.isprintable()
        assert len(text) < 400
    for trace in drawn["data"]:
        assert not {"hovertemplate", "texttemplate"} & set(trace)  # there %{…} would be read


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
