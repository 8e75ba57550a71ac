"""Knobs in the hand: dragged, pressed and typed, what they change is drawn at once, with the fast lane and without it."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram
from tests.browser.turning import AIR, FRAME, TIMES, WATCH, stored, strip_loaded, x_of
from tests.browser.visit import LIMIT_MS

pytestmark = pytest.mark.browser

LANE = "**/turn"

CALL_PLACE = """() => {  // found and measured at once: the page may draw the button anew at any moment
  const button = [...document.querySelectorAll("button")].find((button) => button.textContent.trim() === "Call");
  const { x, y, width, height } = button.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""
BUSY_AT_REDRAW = """() => {  // busy from the moment in which a redraw is asked for, so that a press comes before it is posted
  document.querySelector = (selector) => {
    if (selector === "[role=listbox]") {
      delete document.querySelector;
      window.due();
      setTimeout(() => { const end = performance.now() + 700; while (performance.now() < end); });
    }
    return Document.prototype.querySelector.call(document, selector);
  };
}"""


def test_dragged_over_a_breakpoint_the_winner_and_all_that_names_it_change_there_together(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    winner, _ = route.headline()
    strip = strip_loaded(route)
    nearest, focused = visit.page.locator(".wayfare-knobs > section .wayfare-knob"), visit.page.locator(":focus")
    visit.page.locator("summary").filter(has_text="Network").focus()
    visit.page.keyboard.press("Tab")
    expect(focused).to_have_attribute("aria-label", "Help on Time matters, αt")
    names = "rows => rows.map(row => row.dataset.knob)"
    order = nearest.evaluate_all(names)
    assert len(order) == 4
    # the headline may be drawn after the scoreboard, and asks for the score as well
    with visit.page.expect_request(lambda request: '"score"' in (request.post_data or "")):
        visit.page.evaluate("document.dispatchEvent(new CustomEvent('wayfare-shown', {detail: 'route:headline'}))")
    share = strip.locator(".wayfare-break").first.evaluate("tick => parseFloat(tick.style.left) / 100")
    threshold = TIMES.low + share**3 * (TIMES.high - TIMES.low)
    colours = "track => track.style.background.match(/rgb\\([^)]*\\)|#\\w+/g).slice(0, 2)"
    first_two = strip.evaluate(colours)
    visit.page.evaluate(WATCH)
    visit.page.mouse.move(*x_of(strip, 0.02))
    visit.page.mouse.down()
    for step in range(12):
        visit.page.mouse.move(*x_of(strip, 0.02 + step * 0.02))
        visit.page.evaluate(FRAME)
    expect(visit.main.locator(".wayfare-winner strong")).not_to_have_text(winner, timeout=LIMIT_MS)
    assert "alpha_t" not in visit.query  # nothing is stored while it is held
    expect(visit.main.locator("dl.wayfare-score")).to_contain_text("▼ from", timeout=LIMIT_MS)
    why = visit.main.locator("[class*=st-key-route-why-panel]")
    expect(why).to_have_class(re.compile("wayfare-ahead"))  # it is about the stored decision
    visit.page.mouse.up()
    visit.until_query(alpha_t=re.sub("0$", "", f"{float(route.slider('αt').input_value()):.2f}"))
    visit.settled()
    expect(why).not_to_have_class(re.compile("wayfare-ahead"), timeout=LIMIT_MS)
    expect(visit.page.locator(".wayfare-knobs.wayfare-stale")).to_have_count(0, timeout=LIMIT_MS)
    assert strip_loaded(route).evaluate(colours) == first_two  # each tool keeps its own
    assert nearest.evaluate_all(names) == order, "a turned knob stays where it is"
    frames = visit.page.evaluate("frames")
    assert len(frames) > 3
    visit.see(re.compile("questions get another first tool than at the defaults"))
    for frame in frames:
        assert frame["line"] == frame["sentence"] == frame["chart"]
        assert frame["line"].endswith(f"::{frame['card']}")
    # the frame shows the newest answer: it may be a step of the hand behind the needle, never on the other side for long
    (first_other,) = [frame["value"] for frame in frames if frame["line"] != winner][:1]
    assert first_other >= threshold
    headline = route.headline()
    visit.page.reload(wait_until="domcontentloaded")  # decided without the lane
    route.decided()
    assert route.headline() == headline

    # another question has its own knobs that change the winner
    route.ask("convert 300 miles to kilometres")
    visit.until(lambda: nearest.evaluate_all(names) != order)

    # the knobs of another router ask nothing before its page is there
    visit.page.reload(wait_until="domcontentloaded")  # no slider has been used: none foresees its next step
    route.decided()
    strip_loaded(route)
    bodies: list[str] = []
    visit.on(
        "request", lambda request: bodies.append(request.post_data or "") if request.url.endswith("/turn") else None
    )
    visit.choose("Router", "PA-RAG")  # its first decision takes a while
    visit.until(lambda: bool(bodies))  # of the strips, after half a second
    visit.until_query(router="pa_rag")
    visit.settled()
    expect(visit.main.locator(".wayfare-live[data-part='route:headline'][data-lane$=pa_rag]")).to_be_attached()
    # the previous router's score may still be on its way
    assert all(".pa_rag" in body for body in bodies if '"score"' not in body)


def test_the_next_step_of_a_key_is_foreseen_and_a_lost_lane_leaves_a_knob_that_acts_when_it_is_let_go(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    visit.may_lose_console = True  # the browser writes down the requests that are blocked
    route = Route(visit)
    visit.open("", q=AIR)
    route.decided()
    old, utility = route.headline()
    strip_loaded(route)
    slider, answered = route.slider("αt"), lambda: len(stored(visit)) >= count + 2
    count = len(stored(visit))
    slider.focus()
    visit.until(answered)  # both neighbours of its value
    visit.page.route(LANE, lambda route: route.abort())
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
    count = len(stored(visit))
    slider.focus()
    visit.until(answered)
    visit.page.evaluate(WATCH)
    slider.press("ArrowLeft")
    visit.until_query(alpha_t=None)
    visit.settled()
    assert {frame["line"] for frame in visit.page.evaluate("frames")} == {new}

    # the lane is lost in mid-drag
    route.ask(AIR)
    winner, _ = route.headline()
    strip = strip_loaded(route)
    lost: list[str] = []
    visit.on("requestfailed", lambda request: lost.append(request.url) if '"score"' not in request.post_data else None)
    visit.page.mouse.move(*x_of(strip, 0.02))
    visit.page.mouse.down()
    visit.page.mouse.move(*x_of(strip, 0.04))
    visit.page.route(LANE, lambda route: route.abort())
    for step in range(1, 12):
        visit.page.mouse.move(*x_of(strip, 0.04 + step * 0.05))
        visit.page.evaluate(FRAME)
    assert len(lost) == 1  # it does not ask again and again
    assert "alpha_t" not in visit.query
    assert visit.main.locator(".wayfare-ahead").count() == 0
    visit.page.mouse.up()
    visit.page.wait_for_function("Number(new URLSearchParams(location.search).get('alpha_t')) > 0.5", timeout=LIMIT_MS)
    visit.settled()
    expect(visit.main.locator(".wayfare-winner strong")).not_to_have_text(winner, timeout=LIMIT_MS)

    # the next gesture uses the lane again once it is back
    visit.page.unroute(LANE)
    count = len(stored(visit))
    route.slider("αt").press("Home")
    visit.until_query(alpha_t="0.0")
    assert len(stored(visit)) > count
    route.until_winner(winner)


def test_a_press_while_a_turned_knob_is_on_its_way_leads_where_it_should(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route, sent = Route(visit), list[tuple[bool, float]]()
    visit.on(
        "websocket",
        lambda socket: socket.on("framesent", lambda frame: sent.append((b'"turned"' in frame, time.monotonic()))),
    )
    visit.open("", q=AIR)
    route.decided()

    # values on the way go before the press
    route.slider("αt").focus()
    box = visit.page.get_by_role("link", name=re.compile("What if")).first.bounding_box()
    assert box is not None
    sent.clear()
    visit.page.keyboard.press("ArrowRight")
    visit.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visit.page.wait_for_url("**/whatif?*alpha_t=0.03*")
    visit.settled()
    assert sent[0][0]

    # a button that waits for them is pressed when they are stored, for the visible tool
    visit.open("", q=AIR)
    route.decided()
    winner, _ = route.headline()
    slider = route.slider("αt")
    slider.fill("0.16")
    slider.press("ArrowRight")
    expect(visit.main.locator(".wayfare-winner strong")).not_to_have_text(winner, timeout=LIMIT_MS)
    tool = str(visit.main.locator(".wayfare-winner strong").inner_text())
    visit.page.mouse.click(*visit.page.evaluate(CALL_PLACE))
    visit.page.wait_for_url("**/call?*alpha_t=*")
    assert visit.query["tool"] == tool

    # a first score that comes just after a press has nothing to say
    visit.page.route(LANE, lambda call: calls.append(call) if '"score"' in call.request.post_data else call.continue_())
    calls: list[Any] = []

    def scored() -> Any:
        """The answer to the question for a first score, which is held back."""
        visit.open("", q="convert 300 miles to kilometres")
        route.decided()
        visit.until(lambda: bool(calls))
        visit.page.locator("[data-part='route:score']").evaluate(
            "box => box.append(Object.assign(document.createElement('i'), {className: 'wayfare-faint'}))"
        )
        return calls[-1].fetch()

    answer = scored()
    sent.clear()
    pressed = time.monotonic()
    route.page.get_by_role("button", name="Call", exact=True).first.click(no_wait_after=True)
    calls.pop().fulfill(response=answer)
    visit.page.wait_for_url("**/call?*")
    visit.settled()
    assert not [at for turned, at in sent if turned and at < pressed + 1]

    # and a press that comes before the redraw for a first score is posted is not undone by it
    due = list[bool]()
    visit.page.expose_function("due", lambda: due.append(True))
    answer = scored()
    box = visit.page.get_by_role("link", name="Operate").bounding_box()
    assert box is not None
    visit.page.evaluate(BUSY_AT_REDRAW)
    calls.pop().fulfill(response=answer)
    visit.until(lambda: bool(due))
    visit.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visit.page.wait_for_url("**/catalog?*")
    visit.settled()
    assert "/catalog" in visit.page.url


def test_on_a_phone_nothing_is_too_wide_and_the_knob_in_use_stays_in_sight_with_its_chart(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    width = 390
    visit = visitor(console, width=width, height=800)
    route = Route(visit)
    visit.open()
    visit.see("Which tool should a sub-task go to?")
    assert visit.too_wide() == []
    visit.open("", q=AIR, hint="a long hint about sports of every kind", n="12")
    route.decided()
    charts = visit.main.locator(".js-plotly-plot")
    for number in range(charts.count()):
        box = charts.nth(number).bounding_box()
        assert box is None or (box["x"] >= 0 and box["x"] + box["width"] <= width + 1)
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


def test_a_network_plays_until_it_is_stopped_and_the_decision_follows_each_moment(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=AIR, network="fluctuating", at_s=900)
    route.decided()
    headline = visit.main.locator(".wayfare-winner")
    expect(headline).to_contain_text("network fluctuating at 900 s", timeout=LIMIT_MS)
    visit.page.get_by_role("button", name="Play Moment").click()
    moment = visit.page.get_by_role("slider", name="Moment")
    visit.until(lambda: float(moment.input_value()) >= 960)
    assert visit.query["at_s"] == "900"  # nothing is stored while it plays
    visit.page.get_by_role("button", name="Stop Moment").click()
    reached = f"{float(moment.input_value()):g}"
    visit.until_query(at_s=reached)
    expect(headline).to_contain_text(f"network fluctuating at {reached} s", timeout=LIMIT_MS)
    visit.page.get_by_role("button", name="Undo").click()
    visit.until_query(at_s="900")
