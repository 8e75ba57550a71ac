"""The fast lane of the knobs: lost in mid-drag, and a step ahead of a key."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram
from tests.browser.turning import AIR, WATCH, stored, strip_loaded, x_of
from tests.browser.visit import LIMIT_MS

pytestmark = pytest.mark.browser

LANE = "**/turn"


def test_a_lane_that_is_lost_in_mid_drag_leaves_a_knob_that_acts_when_it_is_let_go(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    visit.may_lose_console = True  # the browser writes down the requests that are blocked
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    before, _ = route.headline()
    strip = strip_loaded(route)
    lost: list[str] = []
    visit.on("requestfailed", lambda request: lost.append(request.url))
    visit.page.mouse.move(*x_of(strip, 0.02))
    visit.page.mouse.down()
    visit.page.mouse.move(*x_of(strip, 0.04))
    visit.page.route(LANE, lambda route: route.abort())
    for step in range(1, 12):
        visit.page.mouse.move(*x_of(strip, 0.04 + step * 0.05))
        visit.page.wait_for_timeout(40)
    assert len(lost) == 1  # it does not ask again and again
    assert "alpha_t" not in visit.query
    assert visit.main.locator(".wayfare-ahead").count() == 0
    visit.page.mouse.up()
    visit.page.wait_for_function("Number(new URLSearchParams(location.search).get('alpha_t')) > 0.5", timeout=LIMIT_MS)
    visit.settled()
    expect(visit.main.locator(".wayfare-winner strong")).not_to_have_text(before, timeout=LIMIT_MS)

    # and when it can be had again, the next gesture has it
    visit.page.unroute(LANE)
    asked = len(stored(visit))
    route.slider("αt").press("Home")
    visit.until_query(alpha_t="0.0")
    assert len(stored(visit)) > asked
    route.until_winner(before)


def test_the_next_step_of_a_key_is_foreseen_and_forgotten_with_the_question(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    old, utility = route.headline()
    strip_loaded(route)
    slider, answered = route.slider("αt"), lambda: len(stored(visit)) >= asked + 2
    asked = len(stored(visit))
    slider.focus()
    visit.until(answered)  # both neighbours of its value
    visit.page.route(LANE, lambda route: route.abort())
    visit.may_lose_console = True
    slider.press("ArrowRight")
    visit.page.wait_for_function(  # drawn without asking, before it is stored
        "old => !location.search.includes('alpha_t') && !document.querySelector('.wayfare-winner').textContent.includes(old)",
        arg=utility,
    )
    visit.page.unroute(LANE)
    visit.until_query(alpha_t="0.03")
    route.ask("convert 300 miles to kilometres")
    new, _ = route.headline()
    assert new != old
    asked = len(stored(visit))
    slider.focus()
    visit.until(answered)
    visit.page.evaluate(WATCH)
    slider.press("ArrowLeft")
    visit.until_query(alpha_t=None)
    visit.settled()
    assert {frame["line"] for frame in visit.page.evaluate("frames")} == {new}


def test_the_knobs_of_another_router_ask_nothing_before_its_page_is_there(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    strip_loaded(route)
    asked: list[str] = []
    visit.on(
        "request", lambda request: asked.append(request.post_data or "") if request.url.endswith("/turn") else None
    )
    visit.choose("Router", "PA-RAG")  # its first decision takes a while
    visit.until(lambda: bool(asked))  # of the strips, later than half a second
    visit.until_query(router="pa_rag")
    visit.settled()
    expect(visit.main.locator(".wayfare-live[data-lane$=pa_rag]")).to_be_attached()
    assert all(".pa_rag" in body for body in asked)
