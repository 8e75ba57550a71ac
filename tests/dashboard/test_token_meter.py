"""The token meter on the Compare and the Route page: counted beside projected, settings in the URL, strangers' links."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.embedding.cached import CachedEncoder
from core.embedding.onnx import onnx_source
from core.lab.token_meter import Context, Counted, UtilisationLines, token_meter, utilisation_lines
from core.model_prices import model_price
from core.store import Store
from dashboard import session
from dashboard.charts.token_utilisation import token_utilisation
from dashboard.widgets.token_meter import Assumed

CATALOG = """{"servers": [
  {"name": "units", "description": "Converts units of measure.", "tools": [
    {"name": "convert_length", "description": "Converts a length."},
    {"name": "list_units", "description": "Lists every unit."}]},
  {"name": "mail", "description": "Sends letters.", "tools": [{"name": "send", "description": "Sends a letter."}]}]}"""
ASKED = {"q": "convert miles to kilometres", "catalog": "small"}


def compare_script() -> None:
    from dashboard.views.compare import page

    page()


def route_script() -> None:
    from dashboard.views.route import page

    page()


@pytest.fixture(autouse=True, scope="module")
def console() -> Iterator[Console]:
    store = Store(None)
    with (
        Console(store, CachedEncoder(onnx_source(), store.vectors)) as opened,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        opened.desk.import_text(CATALOG, "small")
        monkeypatch.setattr(session, "_console", opened)
        yield opened


def visit(script=compare_script, **query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=60)
    app.query_params.update({**ASKED, **query})
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].value
    return app


def meter(app: AppTest) -> list[list[object]]:
    """The rows of the meter's table."""
    frame = next(found.value for found in app.dataframe if found.value.columns.nlevels == 2)
    return frame.to_numpy().tolist()


def headings(app: AppTest) -> list[str]:
    frame = next(found.value for found in app.dataframe if found.value.columns.nlevels == 2)
    return [str(group) for group, _ in frame.columns]


def test_every_variant_has_a_row_and_all_definitions_stand_below(console: Console) -> None:
    app = visit(**{"with": "rag_mcp,full_catalog,tool_attention"})
    rows = meter(app)
    assert [row[0] for row in rows] == ["RAG-MCP", "Full catalog", "Tool Attention", "All definitions"]
    decision = console.route(ASKED["q"], catalog="small", router="tool_attention", record=False)
    expected = token_meter(Counted.of(decision), turns=30, price=model_price("gpt-4o"))
    assert rows[2][1:3] == [expected.counted.exposed, expected.counted.cached]
    assert rows[2][4:6] == [expected.projected.decision.tokens, expected.projected.decision.utilisation]
    assert rows[3][1] == decision.tokens["baseline"]


def test_counted_and_projected_figures_stand_under_headings_of_their_own() -> None:
    app = visit(**{"with": "rag_mcp"})
    assert headings(app) == ["", *["counted, one turn"] * 3, *["projected, 30 turns"] * 4]
    badges = " ".join(part.value for part in app.markdown)
    assert "counted" in badges
    assert "projected" in badges


def test_what_is_assumed_moves_only_what_is_projected() -> None:
    app = visit(**{"with": "rag_mcp"})
    before = meter(app)
    checked(app.number_input(key="compare.meter_turns").set_value(300).run())
    after = meter(app)
    assert [row[:4] for row in after] == [row[:4] for row in before]
    assert after[0][4] == 10 * before[0][4]
    assert after[0][5] < before[0][5]
    checked(app.number_input(key="compare.meter_task").set_value(1_000).run())
    assert meter(app)[0][4] == after[0][4]
    assert meter(app)[0][5] < after[0][5]


def test_a_models_price_counts_and_none_is_not_free() -> None:
    app = visit(**{"with": "rag_mcp"})
    cheap = meter(app)[1][7]
    checked(app.selectbox(key="compare.meter_model").set_value("gpt-4o-mini").run())
    assert meter(app)[1][7] != cheap
    checked(app.selectbox(key="compare.meter_model").set_value(None).run())
    assert [row[7] for row in meter(app)] == ["–", "–"]
    assert app.query_params["meter_model"] in ("none", ["none"])


def test_the_settings_are_in_the_url_and_come_back_from_it() -> None:
    link = {"with": "rag_mcp", "meter_turns": "7", "meter_task": "2000", "meter_model": "gpt-4o-mini"}
    app = visit(**link)
    assert headings(app)[-1] == "projected, 7 turns"
    assert app.number_input(key="compare.meter_task").value == 2_000
    assert app.selectbox(key="compare.meter_model").value == "gpt-4o-mini"
    assert {name: app.query_params[name] for name in link} in (link, {name: [text] for name, text in link.items()})


def test_defaults_say_nothing_in_the_url() -> None:
    assert not any(Assumed().texts().values())
    assert Assumed(model=None).texts()["meter_model"] == "none"
    assert "meter_turns" not in visit(**{"with": "rag_mcp"}).query_params


@pytest.mark.parametrize(
    "wrong",
    [{"meter_turns": "0"}, {"meter_turns": "1001"}, {"meter_turns": "ten"}, {"meter_task": "-1"}, {"meter_task": "²"},
     {"meter_task": "9" * 5_000}, {"meter_model": "<b>nobody's</b>"}],
)  # fmt: skip
def test_a_link_that_does_not_fit_is_named_and_the_default_stands(wrong: dict[str, str]) -> None:
    app = visit(**{"with": "rag_mcp"}, **wrong)
    assert len(app.warning) == 1
    assert app.warning[0].value.startswith("The link was not taken whole")
    assert "<b>" not in app.warning[0].value
    assert headings(app)[-1] == "projected, 30 turns"


def test_on_the_route_page_it_is_folded_and_a_link_with_settings_opens_it() -> None:
    folded = visit(route_script)
    assert any(part.label.startswith("Token meter · ") for part in folded.expander)
    assert all(found.value.columns.nlevels == 1 for found in folded.dataframe)
    opened = visit(route_script, meter_turns="12")
    assert [row[0] for row in meter(opened)] == ["EHRR", "All definitions"]
    assert opened.query_params["meter_turns"] in ("12", ["12"])
    checked(opened.number_input(key="route.meter_turns").set_value(13).run())
    assert headings(opened)[-1] == "projected, 13 turns"
    assert opened.query_params["meter_turns"] in ("13", ["13"])


def test_a_knob_and_the_meter_share_the_url() -> None:
    app = visit(route_script, meter_turns="12", n="2")
    assert (app.query_params["meter_turns"], app.query_params["n"]) in (("12", "2"), (["12"], ["2"]))
    assert not app.warning


PAPER = Counted(tools=120, definitions=47_312, exposed=968, cached=1_400)
TURNS = (1, 10, 100)


def drawn(*counted: Counted, turns: int = 30):
    lines: list[UtilisationLines] = [utilisation_lines(one, TURNS, Context()) for one in counted]
    return token_utilisation([f"router {place}" for place in range(len(lines))], lines, turns=turns)


def test_the_chart_draws_the_lines_the_breaking_point_and_the_turns() -> None:
    chart = drawn(PAPER)
    one, all_tools = chart.data
    assert (one.name, all_tools.name) == ("router 0", "All definitions")
    assert tuple(one.y) == utilisation_lines(PAPER, TURNS).decision
    assert tuple(all_tools.y) == utilisation_lines(PAPER, TURNS).all_tools
    breaks, at = chart.layout.shapes
    assert (breaks.y0, breaks.y1, at.x0, at.x1) == (0.3, 0.3, 30, 30)
    assert "projected" in chart.layout.title.text


def test_decisions_that_cost_the_same_are_one_line() -> None:
    other = Counted(tools=120, definitions=47_312, exposed=100, cached=0)
    assert [trace.name for trace in drawn(PAPER, other, PAPER).data] == [
        "router 0, router 2",
        "router 1",
        "All definitions",
    ]
