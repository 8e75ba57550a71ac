"""The URL is the page: a link opens a state, and so do Back and Forward; leaving a page loses nothing."""

from __future__ import annotations

from urllib.parse import urlsplit

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
    """Every widget stands as the link says, and bears its mark."""
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
    groups = visit.page.get_by_test_id("stSidebar")
    for title in ("Similarity1 ●", "Budget2 ●", "Advanced2 ●"):
        expect(groups).to_contain_text(title)
    visit.until_query(**LINK)


def test_a_link_opens_in_exactly_its_state(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", **LINK)
    as_linked(visit)
    linked = route.headline()
    assert len(route.names("2 · Auction")) == 3  # a short-list of k

    # another page and back: as it was left
    visit.go("Activity")
    visit.go("Route")
    as_linked(visit)
    assert route.headline() == linked

    # a reload is the link once more
    visit.page.reload(wait_until="domcontentloaded")
    as_linked(visit)
    assert route.headline() == linked

    # reset: every knob at its default, and nothing of them left in the URL; the question stays
    visit.press("Reset all knobs")
    visit.until_query(**{name: LINK[name] if name in {"q", "hint"} else None for name in LINK})
    for symbol in ("k", "αt", "κ"):
        expect(route.slider(symbol)).to_have_value(f"{route.default(symbol):g}", timeout=LIMIT_MS)
    expect(route.knob("B").get_by_role("spinbutton")).to_have_value("")
    assert route.marked() == 0
    route.decided()
    assert route.headline() != linked
    expect(visit.field("What is needed?")).to_have_value(NEED)


def test_back_and_forward_are_steps_between_states(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=NEED)
    route.decided()
    before, usual = route.headline(), route.default("αt")
    moved = f"{usual + 0.01:g}"
    route.slider("αt").focus()
    visit.page.keyboard.press("ArrowRight")
    visit.until_query(alpha_t=moved)
    expect(route.slider("αt")).to_have_value(moved)
    route.decided()
    visit.go("Catalog")
    visit.see("81 servers")

    step(visit, "back", "/", alpha_t=moved)
    expect(route.slider("αt")).to_have_value(moved, timeout=LIMIT_MS)
    route.decided()
    step(visit, "back", "/", alpha_t=None)
    expect(route.slider("αt")).to_have_value(f"{usual:g}", timeout=LIMIT_MS)
    route.decided()
    assert route.headline() == before
    step(visit, "forward", "/", alpha_t=moved)
    expect(route.slider("αt")).to_have_value(moved, timeout=LIMIT_MS)
    step(visit, "forward", "/catalog")
    visit.see("81 servers")


def test_a_link_that_makes_no_sense_says_so_and_works(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=NEED, alpha_t="a lot", k="-5", catalog="gone", router="gone", nonsense="<b>x</b>")
    route.decided()
    for symbol in ("αt", "k"):
        expect(route.slider(symbol)).to_have_value(f"{route.default(symbol):g}", timeout=LIMIT_MS)
    expect(visit.select("Catalog")).to_have_value("sample")


def step(visit: Visit, way: str, path: str, **query: str | None) -> None:
    """Back or Forward until a page is reached: one that was left may stand in the history twice."""
    for _ in range(3):
        visit.settled()
        visit.page.go_back() if way == "back" else visit.page.go_forward()
        if urlsplit(visit.page.url).path == "/catalog":
            visit.until_query(catalog="sample")  # it was drawn: the page has written its state
        visit.settled()
        if urlsplit(visit.page.url).path == path and all(visit.query.get(name) == text for name, text in query.items()):
            return
    raise AssertionError(f"{way} does not lead to {path} with {query}, but to {visit.page.url}")


def test_a_page_without_knobs_has_no_sidebar(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    visit.open("", q=NEED)
    Route(visit).decided()
    visit.main.get_by_role("button", name="Call", exact=True).first.click()
    visit.see("Not called yet")
    expect(visit.page.get_by_test_id("stSidebar")).to_be_hidden()
