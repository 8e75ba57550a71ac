"""Knobs in the hand: dragged, held and typed, what they change is drawn at once."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram
from tests.browser.turning import AIR, TIMES, WATCH, strip_loaded, x_of
from tests.browser.visit import LIMIT_MS, Visit

pytestmark = pytest.mark.browser


def test_dragged_over_a_breakpoint_the_winner_and_all_that_names_it_change_there_together(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    before, _ = route.headline()
    strip = strip_loaded(route)
    share = strip.locator(".wayfare-break").first.evaluate("tick => parseFloat(tick.style.left) / 100")
    at = TIMES.low + share**3 * (TIMES.high - TIMES.low)
    colours = "track => track.style.background.match(/rgb\\([^)]*\\)|#\\w+/g).slice(0, 2)"
    first_two = strip.evaluate(colours)
    visit.page.evaluate(WATCH)
    visit.page.mouse.move(*x_of(strip, 0.02))
    visit.page.mouse.down()
    for step in range(12):
        visit.page.mouse.move(*x_of(strip, 0.02 + step * 0.02))
        visit.page.wait_for_timeout(60)
    expect(visit.main.locator(".wayfare-winner strong")).not_to_have_text(before, timeout=LIMIT_MS)
    assert "alpha_t" not in visit.query  # nothing is stored while it is held
    why = visit.main.locator("[class*=st-key-route-why-panel]")
    expect(why).to_have_class(re.compile("wayfare-ahead"))  # it is about the stored decision
    visit.page.mouse.up()
    visit.until_query(alpha_t=re.sub("0$", "", f"{float(route.slider('αt').input_value()):.2f}"))
    visit.settled()
    expect(why).not_to_have_class(re.compile("wayfare-ahead"), timeout=LIMIT_MS)
    expect(visit.page.locator(".wayfare-knobs.wayfare-stale")).to_have_count(0, timeout=LIMIT_MS)
    assert strip_loaded(route).evaluate(colours) == first_two  # each tool keeps its own
    frames = visit.page.evaluate("frames")
    assert len(frames) > 3
    for frame in frames:
        assert frame["line"] == frame["sentence"] == frame["chart"]
        assert frame["line"].endswith(f"::{frame['card']}")
    # the frame shows the newest answer: it may be a step of the hand behind the needle, never on the other side for long
    (first_other,) = [frame["value"] for frame in frames if frame["line"] != before][:1]
    assert first_other >= at
    after = route.headline()
    alone = visitor(console)
    alone.open("", q=AIR, alpha_t=visit.query["alpha_t"])
    Route(alone).decided()
    assert Route(alone).headline() == after


def test_a_held_key_is_one_change_that_is_drawn_on_the_way(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    log = visitor(console)
    before = _decisions(log)
    slider = route.slider("αt")
    slider.focus()
    visit.page.evaluate(WATCH)
    for pressed in range(1, 150):  # held until it was drawn on the way: a slow machine draws fewer of the steps
        visit.page.keyboard.down("ArrowRight")
        visit.page.wait_for_timeout(40)
        if pressed >= 12 and visit.page.evaluate("frames.length > 4"):
            break
    assert "alpha_t" not in visit.query  # still held
    visit.page.keyboard.up("ArrowRight")
    held = slider.input_value()
    visit.until_query(alpha_t=held)
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", re.compile(rf"^{re.escape(held)} 1/s, .+::.+ wins$"))
    for key, stored in (("PageDown", f"{float(held) - 0.1:g}"), ("End", "2.0"), ("Home", "0.0")):
        _redrawn(visit)  # a run that the next gesture overtakes records no decision
        visit.page.keyboard.press(key)
        visit.until_query(alpha_t=stored)
    _redrawn(visit)
    assert before < _decisions(log) <= before + 4  # at most one a gesture: one that is overtaken records none


def _redrawn(visit: Visit) -> None:
    """Wait until what was turned is stored and drawn: the strips come last."""
    expect(visit.page.locator(".wayfare-knobs.wayfare-stale")).to_have_count(0)
    visit.settled()


def _decisions(log: Visit) -> int:
    log.open("activity")
    return int(log.metric("Decisions").replace(",", ""))


def test_a_typed_value_is_taken_and_a_wrong_one_is_said(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    winner, _ = route.headline()
    field = route.knob("αt").get_by_role("spinbutton")
    field.fill("3")
    expect(route.knob("αt").get_by_role("alert")).to_have_text("Give a number from 0 to 2.")
    assert route.headline()[0] == winner
    field.fill("0.5")
    expect(visit.main.locator(".wayfare-winner strong")).not_to_have_text(winner, timeout=LIMIT_MS)
    expect(route.knob("αt").get_by_role("alert")).to_have_text("")
    field.press("Enter")
    visit.until_query(alpha_t="0.5")
    expect(route.slider("αt")).to_have_value("0.5")
    cap = route.knob("B").get_by_role("spinbutton")
    cap.fill("0.001")
    cap.press("Enter")
    visit.until_query(alpha_t="0.5", budget_usd="0.001")
    cap.fill("")
    cap.press("Enter")
    visit.until_query(alpha_t="0.5", budget_usd=None)


def test_what_one_visitor_turns_another_does_not_see(console: ConsoleProgram, visitor: Visitor) -> None:
    first, second = visitor(console), visitor(console)
    one, two = Route(first), Route(second)
    first.open("", q=AIR)
    one.decided()
    second.open("", q="convert 300 miles to kilometres", hint="units")
    two.until_winner("unit-exchange::convert_units")
    here, there = one.headline(), two.headline()
    field = one.knob("αt").get_by_role("spinbutton")
    field.fill("0.5")  # turned, and not let go
    expect(first.main.locator(".wayfare-winner strong")).not_to_have_text(here[0], timeout=LIMIT_MS)
    two.slider("αs").press("ArrowRight")
    second.until_query(alpha_s="0.02", alpha_t=None)
    two.decided()
    assert two.headline() == there
    expect(two.slider("αt")).to_have_value("0.02")
    field.press("Enter")
    first.until_query(q=AIR, hint=None, alpha_t="0.5", alpha_s=None)
    assert one.headline()[0] not in {here[0], there[0]}


def test_on_a_phone_the_knob_in_use_stays_in_sight_with_its_chart(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console, width=390, height=800)
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    visit.page.get_by_test_id("stExpandSidebarButton").click()
    expect(visit.page.get_by_role("link", name="Operate")).to_be_visible(timeout=LIMIT_MS)
    slider = route.slider("αt")
    slider.focus()
    visit.page.keyboard.press("ArrowRight")
    visit.until_query(alpha_t="0.03")
    visit.settled()
    expect(slider).to_be_in_viewport(ratio=1)
    expect(route.chart("3 · Tools").locator(".gtitle")).to_be_in_viewport(ratio=1)
    top = visit.page.evaluate(
        "() => { const box = document.querySelector('[data-part=\"route:tools\"] .gtitle').getBoundingClientRect();"
        " return document.elementFromPoint(box.x + 5, box.y + box.height + 12)?.closest('[data-part]')?.dataset.part }"
    )
    assert top == "route:tools"  # nothing lies over it
    assert visit.too_wide() == []
