"""The token meter on the Compare and the Route page: counted beside projected, settings in the URL, strangers' links."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from core.app import App
from core.importers.token_meter import Context, Counted, UtilisationLines, model_price, token_meter, utilisation_lines
from dashboard.ui.charts.shared import token_utilisation
from dashboard.ui.token_meter import Assumed
from tests.cases import each
from tests.dashboard.harness import app_with, checked, open_page

CATALOG = {
    "servers": [
        {
            "name": "units",
            "description": "Converts units of measure.",
            "tools": [
                {"name": "convert_length", "description": "Converts a length."},
                {"name": "list_units", "description": "Lists every unit."},
            ],
        },
        {
            "name": "mail",
            "description": "Sends letters.",
            "tools": [{"name": "send", "description": "Sends a letter."}],
        },
    ]
}
ASKED = {"q": "convert miles to kilometres", "catalog": "small"}


app = app_with({"small": CATALOG}, scope="module")


def visit(name: str = "compare", /, **query: str) -> AppTest:
    return open_page(name, **{**ASKED, **query})


def meter(page: AppTest) -> list[list[object]]:
    """The rows of the meter's table."""
    frame = next(element.value for element in page.dataframe if element.value.columns.nlevels == 2)
    return frame.to_numpy().tolist()


def headings(page: AppTest) -> list[str]:
    frame = next(element.value for element in page.dataframe if element.value.columns.nlevels == 2)
    return [str(group) for group, _ in frame.columns]


def test_a_row_for_each_variant_with_counted_figures_apart_from_projected_ones(app: App) -> None:
    page = visit(**{"with": "rag_mcp,full_catalog,tool_attention"})
    rows = meter(page)
    assert [row[0] for row in rows] == ["RAG-MCP", "Full catalog", "Tool Attention", "All definitions"]
    decision = app.routing.route(ASKED["q"], catalog="small", router="tool_attention", record=False)
    expected = token_meter(Counted.of(decision), turns=30, price=model_price("gpt-4o"))
    assert rows[2][1:3] == [expected.counted.exposed, expected.counted.cached]
    assert rows[2][4:6] == [expected.projected.decision.tokens, expected.projected.decision.utilisation]
    assert rows[3][1] == decision.tokens["baseline"]
    assert headings(page) == ["", *["counted, one turn"] * 3, *["projected, 30 turns"] * 4]
    badges = " ".join(element.value for element in page.markdown)
    assert "counted" in badges
    assert "projected" in badges


def test_what_is_assumed_moves_only_what_is_projected_and_no_price_is_not_free() -> None:
    page = visit(**{"with": "rag_mcp"})
    assert "meter_turns" not in page.query_params
    old_rows = meter(page)
    checked(page.number_input(key="compare.meter_turns").set_value(300).run())
    rows = meter(page)
    assert [row[:4] for row in rows] == [row[:4] for row in old_rows]
    assert rows[0][4] == 10 * old_rows[0][4]
    assert rows[0][5] < old_rows[0][5]
    checked(page.number_input(key="compare.meter_task").set_value(1_000).run())
    assert meter(page)[0][4] == rows[0][4]
    assert meter(page)[0][5] < rows[0][5]
    cheap = meter(page)[1][7]
    checked(page.selectbox(key="compare.meter_model").set_value("gpt-4o-mini").run())
    assert meter(page)[1][7] != cheap
    checked(page.selectbox(key="compare.meter_model").set_value(None).run())
    assert [row[7] for row in meter(page)] == ["–", "–"]
    assert page.query_params["meter_model"] in ("none", ["none"])


def test_the_settings_are_in_the_url_and_come_back_from_it() -> None:
    link = {"with": "rag_mcp", "meter_turns": "7", "meter_task": "2000", "meter_model": "gpt-4o-mini"}
    page = visit(**link)
    assert headings(page)[-1] == "projected, 7 turns"
    assert page.number_input(key="compare.meter_task").value == 2_000
    assert page.selectbox(key="compare.meter_model").value == "gpt-4o-mini"
    assert {name: page.query_params[name] for name in link} in (link, {name: [text] for name, text in link.items()})
    assert not any(Assumed().texts().values())
    assert Assumed(model=None).texts()["meter_model"] == "none"


@each("turns, task", [("0", "-1"), ("1001", "²"), ("ten", "9" * 5_000)])
def test_a_link_that_does_not_fit_is_named_and_the_default_stands(turns: str, task: str) -> None:
    link = {"meter_turns": turns, "meter_task": task, "meter_model": "<b>nobody's</b>"}
    page = visit(**{"with": "rag_mcp"}, **link)
    assert len(page.warning) == 3
    for warning in page.warning:
        assert warning.value.startswith("A part of the link was not used")
        assert "<b>" not in warning.value
    assert headings(page)[-1] == "projected, 30 turns"


def test_on_the_route_page_it_is_folded_and_a_link_with_settings_opens_it_beside_its_knobs() -> None:
    folded = visit("route")
    assert any(expander.label.startswith("Token meter · ") for expander in folded.expander)
    assert all(element.value.columns.nlevels == 1 for element in folded.dataframe)
    page = visit("route", meter_turns="12", n="2")
    assert not page.warning
    assert [row[0] for row in meter(page)] == ["EHRR", "All definitions"]
    checked(page.number_input(key="route.meter_turns").set_value(13).run())
    assert headings(page)[-1] == "projected, 13 turns"
    assert (page.query_params["meter_turns"], page.query_params["n"]) in (("13", "2"), (["13"], ["2"]))


PAPER = Counted(tools=120, definitions=47_312, exposed=968, cached=1_400)
TURNS = (1, 10, 100)


def drawn(*counted: Counted, turns: int = 30):
    lines: list[UtilisationLines] = [utilisation_lines(counts, TURNS, Context()) for counts in counted]
    return token_utilisation([f"router {place}" for place in range(len(lines))], lines, turns=turns)


def test_the_chart_draws_the_lines_the_breaking_point_and_the_turns() -> None:
    chart = drawn(PAPER)
    line, all_tools = chart.data
    assert (line.name, all_tools.name) == ("router 0", "All definitions")
    assert tuple(line.y) == utilisation_lines(PAPER, TURNS).decision
    assert tuple(all_tools.y) == utilisation_lines(PAPER, TURNS).all_tools
    breaks, turns = chart.layout.shapes
    assert (breaks.y0, breaks.y1, turns.x0, turns.x1) == (0.3, 0.3, 30, 30)
    assert "projected" in chart.layout.title.text


def test_decisions_that_cost_the_same_are_one_line() -> None:
    other = Counted(tools=120, definitions=47_312, exposed=100, cached=0)
    assert [trace.name for trace in drawn(PAPER, other, PAPER).data] == [
        "router 0, router 2",
        "router 1",
        "All definitions",
    ]
