"""The What if page: its views, a click on a strip and on the map, the layer and its banner, and the equations with their numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest

from core.app import App
from core.decisions import curves
from core.decisions.counterfactuals import Change
from core.decisions.curves import utilities
from core.decisions.layer import Supposed
from core.decisions.routing import Asked
from dashboard.pages.whatif import winners
from dashboard.pages.whatif.charts import strips_chart
from dashboard.pages.whatif.winners import set_both
from dashboard.theme import MUTED, WinnerColours
from dashboard.ui.charts.shared import curve_chart
from dashboard.ui.question import LAYER, suppose
from tests.cases import each
from tests.dashboard.harness import app_with, checked, open_page, press, text_of, titles

CATALOG = {
    "servers": [
        {
            "name": "quick",
            "description": "Converts units of measure at once.",
            "ask_usd": 0.001, "conn_s": 0.1, "call_s": 0.2, "success": 0.95,
            "tools": [
                {"name": "convert_length", "description": "Converts a length.", "price_usd": 0.02, "latency_s": 0.2, "success": 0.95},
                {"name": "list_units", "description": "Lists every unit.", "price_usd": 0.001, "latency_s": 0.1},
            ],
        },
        {
            "name": "slow",
            "description": "Converts miles to kilometres.",
            "ask_usd": 0.001, "conn_s": 0.5, "call_s": 4.0, "success": 0.8,
            "tools": [{"name": "convert_miles", "description": "Converts miles to kilometres.", "price_usd": 0.001, "latency_s": 4.0}],
        },
    ]
}  # fmt: skip
ALONE = {"servers": [{"name": "one", "description": "Writes.", "tools": [{"name": "write", "description": "Writes."}]}]}
DEAR = {
    "servers": [
        {"name": name, "description": "Writes.", "ask_usd": 0.1, "call_s": 10.0, "tools": [{"name": "write", "description": "Writes.", "price_usd": usd, "latency_s": seconds}]}
        for name, usd, seconds in (("dear", 1.2, 0.5), ("cheap", 0.5, 3.0))
    ]
}  # fmt: skip
ASKED = {"q": "convert miles to kilometres", "catalog": "small"}

app = app_with({"small": CATALOG, "alone": ALONE, "dear": DEAR}, scope="module")
visit = partial(open_page, "whatif")


def asked(app: App, *supposed: Supposed, router: str = "ehrr", **values: object) -> Asked:
    return Asked(ASKED["q"], app.routing.parameters(router, values), "small", router, supposed=supposed)


@each("view", ["Winners", "Two knobs", "Cost curves", "Auction"])
def test_every_view_is_drawn_its_link_carries_the_question_and_nothing_is_recorded(app: App, view: str) -> None:
    page = visit(**ASKED, view=view, alpha_t="0.5")
    assert not page.error
    keys = {"q", "catalog", "alpha_t"} | ({"view"} if view != "Winners" else set())
    assert dict(page.query_params.items()).keys() >= keys
    app.store.events.flush()
    assert app.store.activity.decision_count() == 0


def test_another_router_is_told_what_it_can_see() -> None:
    assert "Choose one of them" in text_of(visit(**ASKED, router="rag_mcp"))
    assert "needs EHRR" in text_of(visit(**ASKED, router="expected_value", view="Auction"))
    assert "What would make another tool win?" in text_of(visit(**ASKED, router="expected_value"))
    assert "by 1 m$ or more" in text_of(visit(**ASKED, router="expected_value", view="Two knobs"))
    assert "Choose one of them" in text_of(visit(**ASKED, router="rag_mcp", view="Two knobs"))


def test_the_map_begins_with_knobs_that_change_the_winner_and_says_where_none_do(app: App) -> None:
    page = visit(**ASKED, view="Two knobs")
    axes = app.what_if.contested(asked(app), winners.AXES)
    assert axes is not None
    assert [page.selectbox(key=f"whatif.{name}").value for name in "xy"] == [axes.x, axes.y]
    assert page.toggle(key=winners.WHOLE).value is not axes.near
    assert "Nothing changes hands" not in text_of(page)

    page = visit(**ASKED, view="Two knobs", x="eps", y="l_route_s")  # a link keeps its knobs
    assert "Nothing changes hands here" in text_of(page)
    page = press(page, "whatif.contested")
    assert [page.selectbox(key=f"whatif.{name}").value for name in "xy"] == [axes.x, axes.y]

    assert "no two of these knobs change that" in text_of(visit(q="write", catalog="alone", view="Two knobs"))


def test_a_tried_change_of_a_knob_makes_the_tool_win(app: App) -> None:
    names = [f"{server['name']}::{tool['name']}" for server in CATALOG["servers"] for tool in server["tools"]]
    winner = app.what_if.decision(asked(app)).winner
    possible = [app.what_if.counterfactual(asked(app), name) for name in names if winner and name != winner.tool]
    tool, change = next((answer.tool, change) for answer in possible for change in answer.changes if change.of_knob)
    page = press(visit(**ASKED, tool=tool), f"whatif:try:{change.name}")
    assert f"**{tool}** wins" in text_of(page)


def test_a_supposed_figure_makes_the_tool_win_and_is_dropped_with_one_click(app: App) -> None:
    page = visit(**ASKED)
    tool = page.selectbox(key="whatif.tool").value
    decision = app.what_if.decision(asked(app))
    rows = [row for row in range(len(decision.tools.ids)) if decision.tools.ids[row] != decision.winner.tool]
    assert decision.fit is not None
    best = max(rows, key=lambda row: (decision.tools.similarity[row], decision.fit.relevance[row]))
    assert tool == decision.tools.ids[best], "of tools that fit equally little, the most relevant one"
    change = next(option for option in app.what_if.counterfactual(asked(app), tool).changes if not option.of_knob)
    page = press(page, f"whatif:try:{change.name}")
    assert f"**{tool}** wins" in text_of(page)
    assert page.session_state[LAYER]["small"] == (Supposed(tool, change.name, change.then),)
    assert app.what_if.decision(asked(app)).winner.tool != tool  # another visitor has no layer


@each("where", ["route", "compare"])
def test_route_and_compare_decide_with_the_layer_mark_it_and_record_nothing(app: App, where: str) -> None:
    names = [f"{server['name']}::{tool['name']}" for server in CATALOG["servers"] for tool in server["tools"]]
    winner = app.what_if.decision(asked(app)).winner
    assert winner is not None
    possible = [app.what_if.counterfactual(asked(app), name) for name in names if name != winner.tool]
    tool, change = next((answer.tool, change) for answer in possible for change in answer.changes if not change.of_knob)
    supposed = Supposed(tool, change.name, change.then)
    page = open_page(
        where, remembered={LAYER: {"small": (supposed,)}}, **ASKED, **({"with": "ehrr"} if where == "compare" else {})
    )
    text = " ".join(text_of(page).split())
    assert re.search(rf"★\]? {re.escape(tool)} (:violet-badge\[)?what if", text)
    assert text.count("what if") >= 2  # the decision, and the tool where it is a candidate
    app.store.events.flush()
    assert app.store.activity.decision_count() == 0


def test_a_change_too_small_to_be_read_is_said_in_words(app: App) -> None:
    words = partial(winners.words, asked=asked(app))
    assert words(Change("price", 0.02, 0.02 - 1e-9, 1e-7, of_knob=False)) == "its price hardly below 20 m\\$"
    assert words(Change("alpha_t", 0.02, 0.09, 0.1, of_knob=True)) == "αt at **0\\.09** 1\\/s instead of 0\\.02"
    assert words(Change("budget_usd", float("inf"), 0.5, 0.5, of_knob=True)).endswith("instead of off")


def _with_banner() -> None:
    from dashboard.ui.question import layer_banner

    layer_banner()


def test_the_banner_names_what_is_supposed_until_it_is_dropped() -> None:
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_function(_with_banner)
    assert not checked(page.run()).markdown
    page.session_state[LAYER] = {"small": (Supposed("a::b", "price", 0.0123),)}
    page = checked(page.run())
    assert "price 12.3 m" in text_of(page)
    assert "a::b" in text_of(page)
    assert not press(page, "layer:drop").markdown


def test_what_is_supposed_of_one_figure_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, object] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    suppose("small", Supposed("a::b", "price", 0.1))
    suppose("small", Supposed("a::b", "fit", 0.5))
    suppose("small", Supposed("a::b", "price", 0.2))
    assert state[LAYER] == {"small": (Supposed("a::b", "fit", 0.5), Supposed("a::b", "price", 0.2))}


def test_a_click_on_a_strip_turns_the_knob_into_that_segment(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, object] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    question = asked(app)
    strips = app.what_if.strips(question)
    knobs = {knob.name: knob for knob in question.parameters.knobs()}
    turn = partial(winners.turn, prefix="p", knobs=knobs, strips=strips, values=question.parameters.values())
    last = len(strips["alpha_t"].segments) - 1
    turn(f"alpha_t|{last}")
    assert strips["alpha_t"].at(state["p.alpha_t"]) == strips["alpha_t"].segments[last]
    for nonsense in ("alpha_t|99", "nothing|0", "alpha_t", "alpha_t|-1"):
        turn(nonsense)
    assert list(state) == ["p.alpha_t"]


def test_a_click_on_the_map_sets_both_knobs_within_their_ranges(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, object] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    knobs = {knob.name: knob for knob in asked(app).parameters.knobs()}
    set_both("0.5|7.0", prefix="p", x=knobs["alpha_t"], y=knobs["k"])
    assert state == {"p.alpha_t": 0.5, "p.k": 7}
    for nonsense in ("9e9|1e9", "x|y", "nan|inf", ""):
        set_both(nonsense, prefix="p", x=knobs["alpha_t"], y=knobs["k"])
    assert state == {"p.alpha_t": 0.5, "p.k": 7}


def test_a_strip_has_a_bar_for_each_segment_and_a_needle_at_the_current_value(app: App) -> None:
    question = asked(app)
    strip = app.what_if.strips(question)["alpha_t"]
    knobs = {knob.name: knob for knob in question.parameters.knobs()}
    colours = WinnerColours().of([strip.at(0.02).winner, *(segment.winner for segment in strip.segments)])
    track, needle, *_ = strips_chart([strip], knobs, question.parameters.values(), colours).data
    assert len(track.x) == len(strip.segments)
    assert sum(track.x) == pytest.approx(1.0)
    assert list(track.marker.color) == [colours[segment.winner] for segment in strip.segments]
    place = next(row for row, segment in enumerate(strip.segments) if segment == strip.at(0.02))
    assert track.base[place] <= needle.x[0] <= track.base[place] + track.x[place]


def test_a_tool_has_the_colour_of_its_strips_in_the_curves_and_stands_in_their_legend(app: App) -> None:
    question = asked(app)
    strip = app.what_if.strips(question)["alpha_t"]
    winner = strip.at(0.02).winner
    assert winner is not None
    colours = WinnerColours().of(["another::winner_before", winner])
    lines = curve_chart(utilities(app.what_if.case(question), strip), colours).data
    looks = {line.name: (line.line.color, line.showlegend) for line in lines}
    assert looks.pop(winner) == (colours[winner], True)
    assert set(looks.values()) == {(MUTED, False)}
    assert lines[-1].name == winner  # on top


def test_a_row_has_the_scale_of_its_knob(app: App) -> None:
    question = asked(app, alpha_t=0.25, wrong_refusals=25.0)
    strips, knobs = app.what_if.strips(question), {knob.name: knob for knob in question.parameters.knobs()}
    rows = [strips[name] for name in ("alpha_t", "wrong_refusals")]
    colours = WinnerColours().of(segment.winner for row in rows for segment in row.segments)
    _, needle, *_ = strips_chart(rows, knobs, question.parameters.values(), colours).data
    assert list(needle.x) == pytest.approx([0.5, 0.5])  # from below: 25 of 50, and the cube root of 0.25 of 2


def computed(filled: str) -> tuple[float, float]:
    """Both sides of an equation with numbers in it."""
    left, right = filled.split("; ", maxsplit=1)[0].replace("−", "-").rsplit(" = ", 1)
    text = re.sub(r"\b(s|s/\$|m\$)(?=[ )/*+-]|$)|\$(/s)?", "", left.replace("·", "*").replace("s/$", "").split(":")[-1])
    if "," in text and "max(" not in text:
        text = text.rsplit(",", 1)[1]
    names = {"ln": __import__("math").log, "max": max, "__builtins__": {}}
    return float(eval(text, names)), float(re.sub(r"[^0-9.e+-]", "", right.split(",")[0]))


def test_the_numbers_satisfy_the_equations_beside_the_curves(app: App) -> None:
    question = asked(app, budget_usd=0.05)
    case, strips = app.what_if.case(question), app.what_if.strips(question)
    assert case is not None
    all_curves = [utilities(case, strips[name]) for name in ("alpha_t", "kappa", "alpha_s")]
    all_curves += [
        *(
            curves.posted(replace(case, parameters=case.parameters.replaced({"budget_usd": cap})))
            for cap in (None, 0.001)
        ),
        curves.time_against_success(case),
        curves.conservatism(case),
        curves.value_against_worth(app.what_if.value_case(question)),
    ]
    all_curves += curves.money_against_cap(case, strips["budget_usd"], app.what_if.fit(question).tools)[1:]
    for curve in all_curves:
        left, right = computed(curve.filled)
        assert left == pytest.approx(right, rel=2e-3, abs=2e-4), curve.filled


def test_without_an_auction_no_posted_price_is_drawn() -> None:
    for page in (visit(**ASKED, view="Cost curves", auction="false"), open_page("route", **ASKED, auction="false")):
        assert any(title.startswith("Utility against αt") for title in titles(page))
        assert not any(title.startswith("Price posted") for title in titles(page))


def test_a_new_question_begins_with_its_own_other_tool() -> None:
    page = visit(q="list all units", catalog="small", tool="slow::convert_miles")
    assert page.selectbox(key="whatif.tool").value == "slow::convert_miles"
    page.session_state["ask.knob.ehrr.alpha_t"] = 0.3
    assert checked(page.run()).selectbox(key="whatif.tool").value == "slow::convert_miles"
    checked(page.text_input(key="ask.q").set_value("converts a length").run())
    assert page.selectbox(key="whatif.tool").value != "slow::convert_miles"


def test_a_link_to_an_unknown_tool_says_so_in_one_sentence() -> None:
    sentence = "Catalog small has no tool slow::gone; choose another."
    page = visit(**ASKED, tool="slow::gone")
    assert sentence in text_of(page)
    assert sentence not in text_of(checked(page.run()))


def test_the_winner_without_a_limit_is_on_its_strip_if_it_costs_more_than_the_highest_limit(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = app.routing.parameters("ehrr", {"p_bs": 1.0, "p_ofs": 0.2, "l0_s": 0.1, "kappa": 0.0})
    question = Asked("write", parameters, "dear", "ehrr")
    winner = app.what_if.decision(question).winner
    assert winner is not None
    assert winner.tool == "dear::write"
    strip = app.what_if.strips(question)["budget_usd"]
    assert [band.winner for band in strip.winners()][-2:] == ["cheap::write", "dear::write"]
    knobs = {knob.name: knob for knob in parameters.knobs()}
    colours = WinnerColours().of(band.winner for band in strip.winners())
    track, needle, *_ = strips_chart([strip], knobs, parameters.values(), colours).data
    assert (track.base[-1], needle.x[0]) == pytest.approx((1.0, 1.0), abs=1e-4)
    assert track.x[-1] > 0.005, "it is seen"
    assert track.hovertext[-1].startswith("B off<br>dear::write wins")
    state: dict[str, object] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    winners.turn(
        track.customdata[-1], prefix="p", knobs=knobs, strips={"budget_usd": strip}, values=parameters.values()
    )
    assert not state, "a press on it leaves it without a limit"
