"""The map in a real browser: a click shows neighbours without a new map, and strangers' names stay text."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from core.app import Settings, open_app

from .conftest import Visitor
from .pages import Route
from .serving import ConsoleProgram
from .test_hostile import EVERYTHING, NEED, TEXTS, hostile_catalog, is_text
from .visit import LIMIT_MS, Visit, plain

pytestmark = pytest.mark.browser

QUESTION = "convert 300 miles to kilometres"
PLACE = """([chart, tool]) => {
  const drawn = chart._fullData.find(trace => trace.customdata);
  const at = [...drawn.customdata].indexOf(tool);
  const {xaxis, yaxis} = chart._fullLayout, box = chart.getBoundingClientRect();
  return [box.left + xaxis._offset + xaxis.d2p(drawn.x[at]), box.top + yaxis._offset + yaxis.d2p(drawn.y[at])];
}"""


class Map:
    """The Map page."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.page = visit.page

    @property
    def chart(self) -> Locator:
        """The map itself."""
        return self.visit.main.locator(".js-plotly-plot")

    def drawn(self) -> None:
        """Wait until the map is there."""
        expect(self.chart.locator(".scatterlayer .point").first).to_be_visible(timeout=LIMIT_MS)
        self.visit.settled()

    def tools(self) -> list[str]:
        """What the points stand for."""
        return self.chart.evaluate("chart => [...chart.data.find(trace => trace.customdata).customdata]")

    def point_at(self, tool: str) -> None:
        """Move the mouse to a tool, and read there that it is the one."""
        x, y = self.page.evaluate(PLACE, [self.chart.element_handle(), tool])
        self.page.mouse.move(x - 2, y)
        self.page.mouse.move(x, y)
        name = plain(tool.split("::", 1)[1])[:12]
        expect(self.chart.locator(".hoverlayer .hovertext")).to_contain_text(name, timeout=LIMIT_MS)

    def click(self, tool: str) -> None:
        """Choose a tool."""
        self.point_at(tool)
        self.page.mouse.down()
        self.page.mouse.up()

    def topmost(self) -> str:
        """A tool with room around it: nothing else is hit there."""
        return self.chart.evaluate(
            """chart => {
              const {x, y, customdata} = chart.data.find(trace => trace.customdata);
              const [xs, ys] = [chart._fullData[0].x, chart._fullData[0].y];
              const room = at => Math.min(...[...xs.keys()].filter(other => other !== at)
                .map(other => Math.hypot(xs[at] - xs[other], ys[at] - ys[other])));
              return customdata[[...xs.keys()].sort((a, b) => room(b) - room(a))[0]];
            }"""
        )


def test_a_click_shows_the_tool_and_its_neighbours_and_keeps_the_map(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    shown = Map(visit)
    visit.open("map", q=QUESTION)
    shown.drawn()
    nearest = visit.table("cosine")
    assert nearest[1][0] == "★ 1"
    assert visit.too_wide() == []

    tool = shown.topmost()
    server, name = tool.split("::", 1)
    shown.chart.evaluate("chart => { chart.sameAsBefore = true }")
    shown.click(tool)
    visit.until_query(tool=tool, q=QUESTION)
    expect(visit.main.get_by_role("heading", name=name)).to_be_visible(timeout=LIMIT_MS)
    visit.see("Nearest tools")
    visit.settled()
    neighbours = visit.table("cosine")[1:]
    cosines = [float(row[2]) for row in neighbours]
    assert len(neighbours) == 10
    assert cosines == sorted(cosines, reverse=True)
    assert [name, server] not in [row[:2] for row in neighbours]
    assert shown.chart.evaluate("chart => chart.sameAsBefore")  # it was not drawn again: zoom and place stay

    # a link is the same page
    link = visit.page.url
    visit.page.goto(link, wait_until="domcontentloaded")
    shown.drawn()
    visit.see("Nearest tools")
    assert visit.table("cosine")[1:] == neighbours
    visit.press("Open in catalog")
    visit.page.wait_for_url("**/catalog?*")
    visit.see("Call this tool")


def test_from_a_decision_to_its_map(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=QUESTION, alpha_t="0.1")
    route.decided()
    winner = route.headline()[0]
    visit.page.get_by_role("button").filter(has_text="scatter_plot").first.click()
    visit.page.wait_for_url("**/map?*")
    shown = Map(visit)
    shown.drawn()
    visit.until_query(q=QUESTION, alpha_t="0.1")
    first = visit.table("cosine")[1]
    assert f"{first[2]}::{first[1]}" == winner
    expect(shown.chart.locator(".annotation-text").filter(has_text="1").first).to_be_visible(timeout=LIMIT_MS)
    for word in ("sub-task", "candidate", "unpriced"):
        visit.see(word, within=shown.chart.locator(".legend"))


def test_hostile_names_are_text_on_the_map(console: ConsoleProgram, visitor: Visitor) -> None:
    console.stop()
    with open_app(Settings.from_environment(db=console.db)) as opened:
        opened.catalog_editor.import_text(hostile_catalog(), "hostile", source=TEXTS[0])
    console.start()
    visit = visitor(console)
    shown = Map(visit)
    visit.open("map", catalog="hostile", q=NEED, by="server")
    shown.drawn()
    tool = shown.topmost()
    shown.point_at(tool)
    visit.see("similarity 0", within=shown.chart.locator(".hoverlayer"))
    is_text(visit)
    shown.click(tool)
    visit.see("Nearest tools")
    is_text(visit, EVERYTHING)
    visit.open("map", catalog="hostile", show=f"server: {TEXTS[0]}", tool=f"{TEXTS[6]}::{TEXTS[7]}", q=TEXTS[5])
    shown.drawn()
    visit.see("1 of 11 tools are highlighted")
    is_text(visit, TEXTS[7], TEXTS[6])


def test_the_map_keeps_its_place_when_a_tool_is_chosen_and_put_away(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    shown = Map(visit)
    visit.open("map", q=QUESTION)
    shown.drawn()
    tool = shown.topmost()
    shown.point_at(tool)
    whole = shown.chart.evaluate("chart => chart._fullLayout.xaxis.range.map(Number)")
    # a click is on what was pointed at, and the map that is drawn anew after zooming forgets what that was
    shown.chart.evaluate("chart => chart.once('plotly_relayout', () => (chart.dataset.zoomed = ''))")
    visit.page.mouse.wheel(0, -300)
    expect(shown.chart).to_have_attribute("data-zoomed", "", timeout=LIMIT_MS)
    visit.settled()
    shown.click(tool)
    visit.until_query(tool=tool, q=QUESTION)
    visit.settled()
    near = shown.chart.evaluate("chart => chart._fullLayout.xaxis.range.map(Number)")
    assert near[1] - near[0] < whole[1] - whole[0]
    selected = "chart => chart._fullData.flatMap(trace => trace.selectedpoints ? [...trace.selectedpoints] : [])"
    assert len(shown.chart.evaluate(selected)) == 1

    visit.page.get_by_role("button").filter(has_text="close").first.click()  # the page draws the map again
    visit.until_query(tool=None, q=QUESTION)
    visit.page.wait_for_function(f"chart => ({selected})(chart).length === 0", arg=shown.chart.element_handle())
    visit.settled()
    assert shown.chart.evaluate("chart => chart._fullLayout.xaxis.range.map(Number)") == near
