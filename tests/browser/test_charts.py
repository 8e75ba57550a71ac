"""Charts keep their place: a knob moves them, a wider page widens them, and they have the page's colours."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Visitor
from .pages import Route
from .serving import ConsoleProgram
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser

QUESTION = "draw a bar chart of votes per party"
COLOUR = "chart => getComputedStyle(chart.querySelector('.gtitle')).fill"


def size(chart: Locator) -> list[float]:
    """Width and height of the drawing."""
    return chart.locator(".main-svg").first.evaluate(
        "svg => [svg.getBoundingClientRect().width, svg.getBoundingClientRect().height]"
    )


def test_charts_move_with_a_knob_fit_their_place_turn_dark_fill_the_screen_and_may_be_left(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=QUESTION)
    route.decided()
    tools = route.chart("3 · Tools")
    old_text = tools.inner_text()
    visit.main.evaluate(
        "main => main.querySelectorAll('.wayfare-chart, .wayfare-chart .main-svg').forEach(part => { part.stood = true })"
    )
    slider = visit.page.get_by_role("slider", name="αt")
    slider.focus()
    visit.page.keyboard.down("ArrowRight")  # while it is held, bars and texts move within their axes
    visit.until(lambda: tools.inner_text() != old_text)
    drawing = (
        "chart => [...chart.querySelectorAll('.point path, text')].map(one => one.getAttribute('d') ?? one.textContent)"
    )
    picture = tools.evaluate(drawing)
    visit.page.keyboard.up("ArrowRight")
    visit.until_query(alpha_t="0.03")
    visit.settled()
    assert tools.evaluate(drawing) == picture  # as the whole chart is drawn
    for _ in range(5):  # faster than the page draws: overtaken values are left out
        slider.press("ArrowRight")
    visit.until_query(alpha_t="0.08")
    visit.settled()
    assert tools.inner_text() != old_text
    assert (
        visit.main.evaluate("main => [...main.querySelectorAll('.wayfare-chart')].map(chart => chart.stood)")
        == [True] * 7
    )
    assert tools.locator(".main-svg").first.evaluate("svg => svg.stood")

    # a click on a bar explains a server that was left off the short-list
    off = route.names("1 · Servers")[0]
    route.click_bar("1 · Servers", off)
    route.until_why(off, rf"{off} ranks \w+ of 81 servers with utility −?-?\d\.\d{{3}}; the short-list takes 5")

    # as wide as its place
    chart = route.chart("Utility against κ")
    narrow = size(chart)[0]
    visit.page.set_viewport_size({"width": 1800, "height": 900})
    visit.page.wait_for_function(
        "([chart, narrow]) => chart.clientWidth > narrow", arg=[chart.element_handle(), narrow]
    )
    visit.settled()
    assert size(chart)[0] == chart.evaluate("chart => chart.clientWidth") > narrow

    # dark with the page
    light = chart.evaluate(COLOUR)
    visit.page.emulate_media(color_scheme="dark")
    expect(visit.page.get_by_test_id("stApp")).to_have_css("background-color", "rgb(18, 20, 28)", timeout=LIMIT_MS)
    visit.page.wait_for_function(
        f"([chart, light]) => ({COLOUR})(chart) !== light", arg=[chart.element_handle(), light]
    )
    assert chart.evaluate(COLOUR) == visit.page.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).color")

    # over the whole screen, and back
    old_size = size(chart)
    chart.hover()
    button = chart.locator("xpath=following-sibling::button")
    button.click()
    visit.page.wait_for_function("chart => document.fullscreenElement?.contains(chart)", arg=chart.element_handle())
    visit.settled()
    screen = visit.page.evaluate("[innerWidth, innerHeight]")
    expect(chart).to_have_js_property("clientWidth", screen[0], timeout=LIMIT_MS)
    visit.settled()
    assert size(chart) == screen
    button.click()
    visit.page.wait_for_function("!document.fullscreenElement")
    expect(chart).to_have_js_property("clientWidth", old_size[0], timeout=LIMIT_MS)
    visit.settled()
    assert size(chart) == old_size

    # left while they are drawn
    visit.page.evaluate(
        """() => {
          const react = Plotly.react;
          Plotly.react = async (box, ...figure) => {
            await new Promise(resolve => setTimeout(resolve, 1000));  // a slow machine
            if (!box.isConnected) { window.left = true; throw new Error("the chart is gone") }
            return react(box, ...figure);
          };
        }"""
    )
    visit.page.get_by_role("slider", name="αt").press("ArrowRight")
    visit.page.locator(".wayfare-chart[data-due]").first.wait_for(state="attached")
    visit.page.get_by_role("link", name="Operate").click()
    visit.page.wait_for_function("window.left")
    visit.page.get_by_role("link", name="Ask").click()
    expect(visit.main.locator(".wayfare-chart .gtitle")).to_have_count(6, timeout=LIMIT_MS)
    visit.settled()
    expect(visit.main.get_by_text("could not be drawn")).to_have_count(0)
    visit.check()  # nothing was reported as failed
