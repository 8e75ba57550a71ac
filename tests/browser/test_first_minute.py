"""The first minute: a knob moves by itself once and the winner changes hands; any key ends that; nothing of it is stored."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.importers.shipped_catalogs import played
from tests.browser.conftest import Visitor
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram
from tests.browser.turning import WATCH
from tests.browser.visit import LIMIT_MS, Visit

pytestmark = pytest.mark.browser

FIRST, SECOND = played()["winners"]
INVITES = "Move the knob yourself"


def moved(visit: Visit) -> list[str]:
    """The winners named by the page since watching began, in order."""
    lines = [frame["line"] for frame in visit.page.evaluate("frames") if frame.get("line")]
    return [line for place, line in enumerate(lines) if place == 0 or line != lines[place - 1]]


def test_the_winner_changes_hands_once_by_itself_and_then_by_the_visitors_hand(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    visit.open()
    expect(visit.page.locator("[data-knob=alpha_t] input[type=range]")).to_be_attached(timeout=LIMIT_MS)
    visit.page.evaluate(WATCH)
    visit.see(INVITES)
    visit.settled()
    expect(visit.main.locator(".wayfare-winner strong")).to_have_text(FIRST, timeout=LIMIT_MS)
    assert moved(visit) == [FIRST, SECOND, FIRST]
    assert "alpha_t" not in visit.query

    knob = visit.page.locator("#wayfare-story-knob")
    knob.press("End")
    visit.page.wait_for_function("new URLSearchParams(location.search).has('alpha_t')")
    expect(visit.main.locator(".wayfare-winner strong")).to_have_text(SECOND, timeout=LIMIT_MS)
    expect(Route(visit).slider("αt")).to_have_value(visit.query["alpha_t"])

    # less motion never begins it, and a key ends it
    visit.page.evaluate("sessionStorage.clear()")
    visit.page.emulate_media(reduced_motion="reduce")
    visit.open()
    visit.see(INVITES)  # at once, where it would say what is about to move
    assert visit.page.evaluate("sessionStorage.getItem('wayfare-story-seen')") is None
    visit.page.emulate_media(reduced_motion="null")
    visit.open()
    visit.page.wait_for_function("document.querySelector('#wayfare-story-knob')?.value > 0.02")
    visit.page.keyboard.press("Shift")
    visit.see(INVITES)
    expect(visit.page.locator("#wayfare-story-knob")).to_have_value("0.02")
    expect(visit.main.locator(".wayfare-winner strong")).to_have_text(re.compile(re.escape(FIRST)))
    assert "alpha_t" not in visit.query


def test_the_guide_goes_on_with_what_is_done_and_a_decision_is_presented_with_keys(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console, width=800)
    route, question = Route(visit), played()["question"]
    visit.open()
    guide = visit.main.locator(".wayfare-guide")
    step = guide.locator("[aria-current=step]")
    expect(step).to_contain_text("1 Ask")
    route.ask(question)
    expect(step).to_contain_text("2 Turn")
    route.slider("αt").press("ArrowRight")
    expect(step).to_contain_text("3 Call")
    visit.until_query(alpha_t="0.03", q=question)
    visit.page.emulate_media(media="print")
    expect(guide).to_be_hidden()
    visit.page.emulate_media(media="screen")
    visit.press("Do not show the first minute again")
    visit.open("", q=question)
    visit.press("Present")
    bar, winner = (
        visit.page.get_by_role("toolbar", name="The decision, step by step"),
        visit.main.locator(".wayfare-winner strong"),
    )
    for title in ("1 of 16", "The servers", "The auction", "The tools"):
        expect(bar).to_contain_text(title)
        visit.page.keyboard.press("ArrowRight")
    expect(bar).to_contain_text("The candidates")
    opacity = "name => getComputedStyle(document.querySelector(name)).opacity"
    assert [
        visit.page.evaluate(opacity, name) for name in ("[data-part='route:tools']", ".st-key-route-candidates")
    ] == ["0.15", "1"]
    expect(winner).to_have_text(FIRST)
    route.slider("αt").fill("0.3")  # the page is live
    expect(winner).to_have_text(SECOND)
    visit.page.keyboard.press("Escape")
    expect(bar).to_have_count(0)
    assert visit.page.evaluate("document.activeElement.textContent") == "Present"
    visit.settled()  # the charts below were drawn meanwhile
    expect(guide).to_be_hidden()


def test_a_demonstration_needs_no_mouse(console: ConsoleProgram, visitor: Visitor) -> None:
    """A knob changes the winner, a call fails, the next candidate is offered, what was learnt is shown, and network time plays."""
    visit = visitor(console, width=1280, height=720)
    visit.open("", q=played()["question"])
    keys, step = visit.page.keyboard, visit.page.get_by_role("toolbar", name="The decision, step by step").locator("b")
    winner, focused = visit.main.locator(".wayfare-winner strong"), visit.page.locator(":focus")
    calls = visit.main.get_by_role("button", name="Call", exact=True)
    expect(calls).to_have_count(3)
    expect(visit.main.get_by_role("note", name="The first minute")).to_be_visible()
    expect(calls.last).to_be_in_viewport(ratio=1)
    visit.page.get_by_role("button", name="Present").press("Enter")
    for _ in range(9):
        keys.press("PageDown")
    expect(focused).to_have_attribute("aria-label", "Time matters, αt")
    for way, tool in (("ArrowRight", SECOND), ("ArrowLeft", FIRST)):
        for _ in range(10):
            keys.press(way)
        expect(winner).to_have_text(tool)
    keys.press("PageDown")
    expect(focused).to_have_attribute("aria-label", "Timeout (s)", timeout=LIMIT_MS)
    keys.press("ControlOrMeta+a")
    keys.type("0.1")
    keys.press("Enter")
    visit.settled()
    keys.press("PageDown")
    expect(focused).to_contain_text(f"Go on to the next candidate, {SECOND}", timeout=LIMIT_MS)
    for title in ("What the call taught", "The next decision"):
        keys.press("PageDown")
        expect(step).to_contain_text(title)
    expect(visit.main.locator(".st-key-call-learned")).to_contain_text("y = 0, fail = 1")
    keys.press("PageDown")
    expect(focused).to_have_attribute("id", "wayfare-knob-ask-network-of-network", timeout=LIMIT_MS)
    keys.press("f")
    expect(focused).to_have_class("wayfare-play", timeout=LIMIT_MS)
    keys.press("Enter")
    expect(visit.main.locator(".wayfare-winner")).to_contain_text(
        re.compile(r"network fluctuating at [1-9]\d+ s"), timeout=LIMIT_MS
    )
    keys.press("Escape")
    expect(step).to_have_count(0)
