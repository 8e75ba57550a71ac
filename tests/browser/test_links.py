"""The URL is the page: a link opens a state, and so do Back and Forward; leaving a page loses nothing."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import Visitor
from .pages import Route
from .serving import ConsoleProgram
from .visit import LIMIT_MS, Visit

pytestmark = pytest.mark.browser

NEED = "convert 300 miles to kilometres"
LINK = {
    "q": NEED,
    "hint": "unit conversion",
    "k": "3",
    "alpha_t": "0.1",
    "kappa": "12.5",
    "budget_usd": "0.02",
    "billing": "per_attempt",
    "execution_signals": "False",
}


def as_linked(visit: Visit) -> None:
    """Every widget shows the link's value, and bears its mark."""
    route = Route(visit)
    route.decided()
    expect(visit.field("What is needed?")).to_have_value(NEED, timeout=LIMIT_MS)
    expect(visit.field("Server hint")).to_have_value("unit conversion")
    expect(visit.select("Catalog")).to_have_value("sample")
    for symbol, value in (("k", "3"), ("αt", "0.1"), ("κ", "12.5")):
        expect(route.slider(symbol)).to_have_value(value, timeout=LIMIT_MS)
    for symbol in ("αs", "n"):
        expect(route.slider(symbol)).to_have_value(f"{route.default(symbol):g}", timeout=LIMIT_MS)
    expect(route.knob("B").get_by_role("spinbutton")).to_have_value("0.020")
    route.open_advanced()
    expect(visit.select("What a retry costs")).to_have_value("per_attempt")
    for symbol in ("k", "αt", "κ", "B"):
        expect(route.knob(symbol).locator(".wayfare-dot")).to_be_visible()
    expect(route.knob("αs").locator(".wayfare-dot")).to_be_hidden()
    # B may stand with the knobs that change the winner: their order changes while no knob has the focus
    groups = visit.page.get_by_test_id("stSidebar")
    for title in ("Similarity1 ●", re.compile("Budget[12] ●"), "Advanced2 ●"):
        expect(groups).to_contain_text(title)
    visit.until_query(**LINK)


def test_a_link_opens_in_exactly_its_state_or_says_that_it_makes_no_sense(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", **LINK)
    as_linked(visit)
    linked = route.headline()
    assert len(route.names("2 · Auction")) == 3  # a short-list of k

    # another page and back: as it was left
    visit.go("Activity")
    expect(visit.page.get_by_test_id("stSidebar")).to_be_hidden()  # a page without knobs has none
    visit.go("Decision")
    as_linked(visit)
    assert route.headline() == linked

    # reset: every knob at its default, and none left in the URL; the question stays
    visit.press("Reset all knobs")
    visit.until_query(**{name: LINK[name] if name in {"q", "hint"} else None for name in LINK})
    for symbol in ("k", "αt", "κ"):
        expect(route.slider(symbol)).to_have_value(f"{route.default(symbol):g}", timeout=LIMIT_MS)
    expect(route.knob("B").get_by_role("spinbutton")).to_have_value("")
    assert route.marked() == 0
    route.decided()
    assert route.headline() != linked
    expect(visit.field("What is needed?")).to_have_value(NEED)

    # a link that makes no sense says so and works
    visit.open("", q=NEED, alpha_t="a lot", k="-5", catalog="gone", router="gone", nonsense="<b>x</b>")
    route.decided()
    for symbol in ("αt", "k"):
        expect(route.slider(symbol)).to_have_value(f"{route.default(symbol):g}", timeout=LIMIT_MS)
    expect(visit.select("Catalog")).to_have_value("sample")


def test_back_and_forward_are_steps_between_states(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console, fresh=True)  # the history of an old window may be full, at 50 addresses
    route = Route(visit)
    visit.open()
    route.ask(NEED)
    headline, usual = route.headline(), route.default("αt")
    value = f"{usual + 0.01:g}"
    route.slider("αt").focus()
    visit.page.keyboard.press("ArrowRight")
    visit.until_query(alpha_t=value)
    route.decided()
    visit.go("Call")
    visit.until_query(q=NEED)
    visit.go("Catalog")
    visit.until_query(catalog="sample")

    step(visit, "back", "/call", q=NEED)
    step(visit, "back", "/", q=NEED, alpha_t=value)
    expect(route.slider("αt")).to_have_value(value, timeout=LIMIT_MS)
    step(visit, "back", "/", q=NEED, alpha_t=None)
    expect(route.slider("αt")).to_have_value(f"{usual:g}", timeout=LIMIT_MS)
    route.decided()
    assert route.headline() == headline
    step(visit, "back", "/", q=None)
    visit.see("Which tool should a sub-task go to?")
    expect(visit.field("What is needed?")).to_have_value("")
    step(visit, "forward", "/", q=NEED)
    step(visit, "forward", "/", q=NEED, alpha_t=value)
    expect(route.slider("αt")).to_have_value(value, timeout=LIMIT_MS)
    step(visit, "forward", "/call", q=NEED)
    step(visit, "forward", "/catalog", catalog="sample")
    visit.see("81 servers")

    # an action is one step: on a busy machine the page host writes the query of the next view first, at the path of this one
    addresses = visit.page.evaluate("history.length")
    visit.page.keyboard.press("Shift")  # any action
    visit.page.evaluate(
        """() => {
          history.pushState({}, "", "/catalog?catalog=sample&view=Tools");
          history.pushState({}, "", "/setup?catalog=sample");
          history.pushState({}, "", "/setup?catalog=sample&view=Lint");
        }"""
    )
    assert visit.page.evaluate("history.length") == addresses + 1
    step(visit, "back", "/catalog", catalog="sample")


def step(visit: Visit, way: str, path: str, **query: str | None) -> None:
    """One press of Back or Forward, which leads to this page."""
    visit.settled()
    visit.page.go_back() if way == "back" else visit.page.go_forward()
    visit.page.wait_for_function("path => location.pathname === path", arg=path)
    visit.until_query(**query)
    visit.settled()


def test_a_link_that_is_pressed_out_of_a_typed_question_takes_it_along(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    visit.open("", q=NEED)
    Route(visit).decided()
    visit.field("What is needed?").fill("show the weather in Oslo")
    visit.page.get_by_role("link", name=re.compile("What if")).first.click()  # the field is left by this press alone
    visit.page.wait_for_url("**/whatif?q=show+the+weather+in+Oslo*")
    visit.settled()
    assert visit.field("What is needed?").input_value() == "show the weather in Oslo"
