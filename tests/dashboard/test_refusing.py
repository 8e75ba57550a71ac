"""Refusing, under Why on the Route page: the chance that nothing fits, the limit, and where on the curve the knob is."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np

from core.app import App
from core.domain.feedback import By
from core.relevance.refusal import limit_of, measured_curve, shipped_curve
from dashboard.pages.route.charts import refusal_curve, tool_breakdown, tool_scores
from dashboard.pages.route.drawing import HEADLINE, card_key, drawing
from tests.cases import each
from tests.dashboard.harness import app_with, markdown_of, open_page, titles, words_of

CATALOG = {
    "servers": [{"name": "files", "description": "Files.", "tools": [{"name": "read", "description": "Reads a file."}]}]
}

app = app_with({"small": CATALOG, "asked": CATALOG, "anagram": CATALOG}, scope="module")
visit = partial(open_page, "route", q="read a file", catalog="small")


def test_the_knob_is_on_the_shipped_curve(app: App) -> None:
    page = visit(wrong_refusals="10.0")
    said = markdown_of(page)
    assert f"refused above **{limit_of(10.0):.2f}**" in said
    assert f"{100 * shipped_curve().at(10.0).refused:.0f} % of the impossible ones" in said
    assert ":gray-badge[shipped]" in said
    assert any("Refused sub-tasks, as shipped" in title for title in titles(page))
    assert "nothing is refused" in markdown_of(visit())


def test_nothing_fits_less_likely_where_a_request_is_like_the_question_word_by_word(app: App) -> None:
    said: dict[str, str] = {}
    for name, request in (("asked", "jazz quiz"), ("anagram", "zzz jaqui")):  # the same letters have the same vector
        app.requests.add_by_hand(name, "files::read", [request], By())
        (said[name],) = re.findall(
            r"P\(nothing fits\) \*\*([\d.]+)\*\*", markdown_of(visit(catalog=name, q="jazz quiz"))
        )
    assert float(said["asked"]) < float(said["anagram"]) - 0.05


def test_fit_and_that_nothing_fits_are_one_statement(app: App) -> None:
    decided = app.routing.route("read a file", catalog="small", record=False, parameters=app.routing.parameters("ehrr"))
    assert decided.fit is not None
    said = {}
    for nothing, word in ((0.88, "nothing"), (0.6, "unsure"), (0.2, "unsure")):
        fit = replace(decided.fit, tools=np.array([0.61]), nothing=nothing, confidence=word)
        doubted = replace(decided, fit=fit)
        html, axes = (
            drawing(doubted),
            [chart(doubted).layout.xaxis.title.text for chart in (tool_breakdown, tool_scores)],
        )
        said[nothing] = words_of(html[HEADLINE]).replace("\n", ""), words_of(html[card_key(0)]), *axes
    assert "Probably nothing fits: 88 %. Nearest: files::read, which fits 61 % if anything does." in said[0.88][0]
    assert "files::read fits 61 % if anything does; P(nothing fits) is 60 %." in said[0.6][0]
    places = [["if anything does" in text for text in of] for of in said.values()]
    assert places == [[True] * 4, [True] * 4, [False] * 4]


@each("percent", [0.0, 5.0, 50.0])
def test_the_chart_marks_the_setting_on_the_line(percent: float) -> None:
    curve = measured_curve([0.1, 0.5, 0.8], [0.4, 0.9])
    line, knob = refusal_curve(curve, percent).to_dict()["data"]
    place = [point.percent for point in curve.points].index(percent)
    assert (knob["x"], knob["y"]) == ([line["x"][place]], [line["y"][place]])
