"""One state of the console: what is turned on one view is what the others decide, measure and compare, here and in other windows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Visitor
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram
from tests.browser.turning import AIR, strip_loaded, x_of
from tests.browser.visit import LIMIT_MS, Visit

pytestmark = pytest.mark.browser


def bar_of(visit: Visit) -> Locator:
    """The bar, of one slim line."""
    bar = visit.page.locator(".wayfare-state")
    expect(bar.get_by_role("button", name="Compare with ▾")).to_be_visible(timeout=LIMIT_MS)
    box = bar.bounding_box()
    assert box is not None
    assert box["height"] <= 30
    return bar


def test_a_turned_knob_is_in_the_bar_at_once_and_on_every_view_and_goes_by_a_click_and_comes_by_undo(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console, width=1280, height=720)
    route, mouse = Route(visit), visit.page.mouse
    visit.open("", q=AIR)
    route.decided()
    chips, strip = bar_of(visit).locator(".wayfare-state-chips .wayfare-chip"), strip_loaded(route)
    strip.scroll_into_view_if_needed()
    expect(chips).to_have_count(0)
    mouse.move(*x_of(strip, 0.02))
    mouse.down()
    mouse.move(*x_of(strip, 0.3), steps=4)
    expect(chips).to_have_text([re.compile(r"αt 0\.\d+ 1/s")])
    assert "alpha_t" not in visit.query, "it is held, and nothing is stored"
    mouse.up()
    visit.until_query(alpha_t=route.slider("αt").input_value())
    chip_text = chips.inner_text()
    for view in ("What if", "Lab"):
        visit.go(view)
        bar_of(visit)
        expect(chips).to_have_text([chip_text], timeout=LIMIT_MS)

    # a Lab knob belongs to the question
    route.slider("αs").focus()
    visit.page.keyboard.press("ArrowRight")
    visit.until_query(alpha_s="0.02")
    visit.go("Decision")
    visit.until_query(q=AIR, alpha_s="0.02")
    expect(chips).to_have_text(["αs 0.02 1/s ×", chip_text])

    chips.first.focus()
    visit.page.keyboard.press("Enter")
    visit.until_query(alpha_s=None)
    expect(chips).to_have_text([chip_text])
    visit.page.get_by_role("button", name="Undo").click()
    visit.until_query(alpha_s="0.02")

    # it is compared with the defaults, measured beside them, and given to agents
    for where in ("Compare", "Lab"):
        bar_of(visit).get_by_role("button", name="Compare with ▾").click()
        visit.press(f"{where} with the defaults")
        visit.page.wait_for_url(f"**/{where.lower()}?*")
        tags = visit.main.get_by_test_id("stMultiSelect").first
        expect(tags).to_contain_text(
            "EHRR at the defaults" if where == "Lab" else "EHRR · alpha_s = 0.02", timeout=LIMIT_MS
        )
    visit.press("Give to agents")
    expect(bar_of(visit)).to_contain_text("Used here and by agents", timeout=LIMIT_MS)
    visit.press("Reset all knobs")
    visit.until_query(alpha_s=None, alpha_t=None)
    visit.press("Give to agents")
    expect(bar_of(visit)).to_contain_text("Used here and by agents", timeout=LIMIT_MS)


def test_another_window_is_told_of_a_newer_state_and_takes_it(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console, fresh=True)
    visit.open("", q=AIR)
    Route(visit).decided()
    page = visit.page.context.new_page()
    other = Visit(page, console.url, width=1280, height=720)
    other.open("compare", q="read a file", router="rag_mcp", k="7")
    note = bar_of(visit).locator(".wayfare-state-note")
    expect(note).to_contain_text("Another window has router RAG-MCP, k 7", timeout=LIMIT_MS)
    expect(bar_of(other).locator(".wayfare-state-note")).to_be_empty()
    visit.press("Take it")
    visit.until_query(q=AIR, router="rag_mcp", k="7")
    expect(note).to_be_empty()
    undo = visit.page.get_by_role("button", name="Undo: router EHRR → RAG-MCP")
    undo.click()
    visit.until_query(q=AIR, router=None, k=None)
    visit.press("Redo: router EHRR → RAG-MCP")
    visit.until_query(q=AIR, router="rag_mcp", k="7")
    expect(undo).to_be_enabled(timeout=LIMIT_MS)
    bar_of(other).get_by_role("button", name="router RAG-MCP").click()
    other.until_query(q="read a file", router=None)
    expect(note).to_contain_text("Another window has k 7", timeout=LIMIT_MS)
    page.evaluate("BroadcastChannel.prototype.postMessage = () => {}")  # a window that is killed says no farewell
    page.close()
    expect(note).to_be_empty()


AT_ONCE = """([button, question]) => {
  const field = document.querySelector("input[aria-label='What is needed?']");
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, question);
  field.dispatchEvent(new Event("input", {bubbles: true}));
  return new Promise(done => setTimeout(() => {
    field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
    done(document.querySelector(button).click());
  }, 50));
}"""


def test_a_question_and_a_press_that_reach_the_page_host_together_both_count(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    for button, question in (
        (".wayfare-state .wayfare-chip", "read a text file"),
        ("[aria-label='Reset all knobs']", AIR),
    ):
        visit.open("", q="weather in Oslo", alpha_t=0.3)
        route.decided()
        visit.page.evaluate(AT_ONCE, [button, question])
        visit.until_query(q=question, alpha_t=None)
