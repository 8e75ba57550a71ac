"""Parts of the Decision page: presets, whether anything fits, the order of tries, and a decision to present from."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from core.app import App
from core.decisions.routing import Asked
from core.domain import units
from core.domain.feedback import By
from core.domain.untrusted_text import one_line
from core.relevance.scoring import limit_of, shipped_curve
from core.routers import ROUTERS
from core.routers.ehrr import EhrrParameters
from core.routers.presets import PRESETS, PresetFile
from dashboard.pages.route.charts import tool_breakdown, tool_scores
from dashboard.pages.route.drawing import HEADLINE, card_key, drawing
from dashboard.ui.chart import flow
from dashboard.ui.text import escaped
from tests.cases import each
from tests.dashboard.harness import app_with, checked, live_of, markdown_of, open_page, text_of, titles, words_of

CATALOG = {
    "servers": [{"name": "files", "description": "Files.", "tools": [{"name": "read", "description": "Reads a file."}]}]
}
HOSTILE = "<img src=x onerror=alert(1)>"
EVIL = {
    "servers": [
        {"name": HOSTILE, "description": "Reads files.", "ask_usd": 0.001, "tools": [{"name": "read", "description": "Reads a file."}]},
        {"name": "mail", "description": "Sends mail.", "ask_usd": 0.001, "tools": [{"name": "send", "description": HOSTILE}]},
    ]
}  # fmt: skip
TOOLS = [
    {"name": name, "description": f"Reads a file{more}.", "price_usd": 0.001, "latency_s": 0.1, "success": 0.9}
    for name, more in (("read", ""), ("peek", " a little"), ("<b>deep</b>", " deeply"))
]
TRIES = {"servers": [{"name": "files", "description": "Reads files.", "tools": TOOLS}]}
ALPHA, N = "ask.knob.ehrr.alpha_t", "ask.knob.ehrr.n"

app = app_with({"small": CATALOG, "asked": CATALOG, "anagram": CATALOG, "tries": TRIES, "evil": EVIL}, scope="module")
visit = partial(open_page, "route", q="read a file", catalog="small")


def preset(page: AppTest) -> Any:
    """The choice of a preset."""
    return next(box for box in page.selectbox if box.label == "Preset")


def test_a_preset_sets_the_knobs_and_leaves_the_number_of_candidates() -> None:
    page = visit(n="7")
    assert preset(page).value == "balanced"
    checked(preset(page).set_value("paper").run())
    assert (page.session_state[ALPHA], page.session_state[N]) == (0.25, 7)
    assert escaped(PRESETS["paper"].sentence)[:40] in markdown_of(page)
    assert page.query_params["alpha_t"] == "0.25"


def test_saved_presets_stand_beside_the_shipped_ones_in_every_window(app: App) -> None:
    for name in ("<b>mine</b>", "twin"):
        app.saved_presets.put("ehrr", PresetFile(name, "for *noon*", EhrrParameters(alpha_t=0.5, n=9)))
    page = visit(n="7")
    assert preset(page).options[-2:] == ["<b>mine</b>", "twin"]
    for choice in ("saved:twin", "balanced", "saved:<b>mine</b>"):
        checked(preset(page).set_value(choice).run())
        assert preset(page).value == choice
        assert (page.session_state[ALPHA], page.session_state[N]) == (0.02 if choice == "balanced" else 0.5, 7)
    assert escaped("for *noon*") in markdown_of(page)
    assert preset(visit(alpha_t="0.5")).value == "saved:<b>mine</b>"
    page.session_state[f"{ALPHA.removesuffix('.alpha_t')}:files"] = True  # as a click opens it
    page.run()
    next(field for field in page.text_area if field.label == "Note").set_value("for *night*")
    next(field for field in page.text_input if field.label == "Name").set_value("twin")  # sent together with the press
    checked(next(button for button in page.button if button.label == "Replace").click().run())
    assert app.saved_presets.of("ehrr")["twin"].note == "for *noon*"
    for name in ("<b>mine</b>", "twin"):
        app.saved_presets.delete("ehrr", name)
    assert preset(checked(page.run())).value == "own"


def test_the_knob_is_on_the_shipped_curve(app: App) -> None:
    page = visit(wrong_refusals="10.0")
    text = markdown_of(page)
    assert f"refused above **{limit_of(10.0):.2f}**" in text
    assert f"{100 * shipped_curve().at(10.0).refused:.0f} % of the impossible ones" in text
    assert ":gray-badge[shipped]" in text
    assert any("Refused sub-tasks, as shipped" in title for title in titles(page))
    assert "nothing is refused" in markdown_of(visit())


def test_nothing_fits_less_likely_where_a_request_is_like_the_question_word_by_word(app: App) -> None:
    chances: dict[str, str] = {}
    for name, request in (("asked", "jazz quiz"), ("anagram", "zzz jaqui")):  # the same letters have the same vector
        app.requests.add_by_hand(name, "files::read", [request], By())
        (chances[name],) = re.findall(
            r"P\(nothing fits\) \*\*([\d.]+)\*\*", markdown_of(visit(catalog=name, q="jazz quiz"))
        )
    assert float(chances["asked"]) < float(chances["anagram"]) - 0.05


def test_fit_and_that_nothing_fits_are_one_statement(app: App) -> None:
    decision = app.routing.route(
        "read a file", catalog="small", record=False, parameters=app.routing.parameters("ehrr")
    )
    assert decision.fit is not None
    texts = {}
    for nothing, word in ((0.88, "nothing"), (0.6, "unsure"), (0.2, "unsure")):
        fit = replace(decision.fit, tools=np.array([0.61]), nothing=nothing, confidence=word)
        doubted = replace(decision, fit=fit)
        html, axes = (
            drawing(doubted),
            [chart(doubted).layout.xaxis.title.text for chart in (tool_breakdown, tool_scores)],
        )
        texts[nothing] = words_of(html[HEADLINE]).replace("\n", ""), words_of(html[card_key(0)]), *axes
    assert "Probably nothing fits: 88 %. Nearest: files::read, which fits 61 % if anything does." in texts[0.88][0]
    assert "files::read fits 61 % if anything does; P(nothing fits) is 60 %." in texts[0.6][0]
    places = [["if anything does" in text for text in group] for group in texts.values()]
    assert places == [[True] * 4, [True] * 4, [False] * 4]


def test_the_tries_are_those_of_the_decision_and_so_are_the_sums(app: App) -> None:
    parameters = app.routing.parameters("expected_value", {"worth_usd": 5.0})
    plan = app.routing.route(
        "read a file", catalog="tries", router="expected_value", parameters=parameters, record=False
    ).tries
    assert plan is not None
    assert plan.tries
    page = visit(catalog="tries", router="expected_value", worth_usd="5.0")
    html = live_of(page)["route:tries"]
    text = one_line(words_of(html))
    assert f"Together {units.share(plan.success)} solved" in text
    assert f"V = {units.price(5.0)}" in text
    assert "<b>deep" not in html
    unpriced = app.routing.route(
        "read a file", catalog="small", router="expected_value", parameters=parameters, record=False
    )
    assert "solved, <b>unpriced</b> and" in drawing(unpriced)["route:tries"]


def test_where_no_try_is_worth_it_the_next_tool_and_its_worth_are_named() -> None:
    text = one_line(text_of(visit(catalog="tries", router="expected_value", worth_usd="0.0")))
    assert "Together 0 % solved" in text
    assert "is worth a try from V = " in text


@each("name", list(ROUTERS))
def test_the_flow_chart_counts_what_each_stage_of_a_router_lets_through(app: App, name: str) -> None:
    for catalog in ("tries", "evil"):
        question = Asked("read a file", app.routing.parameters(name), catalog, name)
        decision = app.routing.preview(question)
        html = flow(decision)
        matches = re.findall(
            r"<div><strong>([\d,]+)</strong> of ([\d,]+) ([a-z-]+)</div><small>(?:<b>(\d+) dropped</b> )?", html
        )
        counts = [(int(kept), int(of), what, int(dropped or 0)) for kept, of, what, dropped in matches]
        assert counts == [(stage.kept, stage.of, stage.what, stage.of - stage.kept) for stage in decision.stages]
        assert all(escape(one_line(stage.note, 240)) in html for stage in decision.stages)
        assert f"to {len(decision.candidates)} candidate" in html
        assert "<img" not in html
        ends = [float(end) for end in re.findall(r"--(?:came|goes-on): ([\d.]+)%", html)]
        assert all(0 <= goes_on <= came <= 100 for came, goes_on in zip(ends[::2], ends[1::2], strict=True))
