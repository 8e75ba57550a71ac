"""The map in a real browser: a click shows neighbours without a new map. Strangers' names on it: test_hostile.py."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Visitor
from .pages import Map
from .serving import ConsoleProgram
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser

CATALOG, QUESTION = "attention-120", "read a file"


def test_a_click_shows_the_tool_and_its_neighbours_and_keeps_the_map_in_its_place(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    tool_map = Map(visit)
    visit.open("map", catalog=CATALOG, q=QUESTION)
    tool_map.drawn()
    for word in ("sub-task", "candidate", "unpriced"):
        visit.see(word, within=tool_map.chart.locator(".legend"))
    nearest = visit.table("cosine")
    assert nearest[1][0] == "★ 1"
    assert visit.too_wide() == []

    tool = tool_map.topmost()
    server, name = tool.split("::", 1)
    tool_map.chart.evaluate("chart => { chart.sameAsBefore = true }")
    tool_map.click(tool)
    visit.until_query(tool=tool, q=QUESTION)
    expect(visit.main.get_by_role("heading", name=name)).to_be_visible(timeout=LIMIT_MS)
    visit.see("Nearest tools")
    visit.settled()
    neighbours = visit.table("cosine")[1:]
    cosines = [float(row[2]) for row in neighbours]
    assert len(neighbours) == 10
    assert cosines == sorted(cosines, reverse=True)
    assert [name, server] not in [row[:2] for row in neighbours]
    assert tool_map.chart.evaluate("chart => chart.sameAsBefore")  # it was not drawn again: zoom and place stay

    visit.page.get_by_role("button").filter(has_text="close").first.click()
    visit.until_query(tool=None, q=QUESTION)
    visit.settled()

    # it keeps its place if a tool is chosen and put away, and leads to the catalog
    tool_map.point_at(tool)
    whole = tool_map.chart.evaluate("chart => chart._fullLayout.xaxis.range.map(Number)")
    # a click hits the point under the mouse; a map redrawn after zooming forgets that point
    tool_map.chart.evaluate("chart => chart.once('plotly_relayout', () => (chart.dataset.zoomed = ''))")
    visit.page.mouse.wheel(0, -300)
    expect(tool_map.chart).to_have_attribute("data-zoomed", "", timeout=LIMIT_MS)
    visit.settled()
    tool_map.click(tool)
    visit.until_query(tool=tool, q=QUESTION)
    visit.settled()
    near = tool_map.chart.evaluate("chart => chart._fullLayout.xaxis.range.map(Number)")
    assert near[1] - near[0] < whole[1] - whole[0]
    selected = "chart => chart._fullData.flatMap(trace => trace.selectedpoints ? [...trace.selectedpoints] : [])"
    assert len(tool_map.chart.evaluate(selected)) == 1

    visit.page.get_by_role("button").filter(has_text="close").first.click()  # the page draws the map again
    visit.until_query(tool=None, q=QUESTION)
    visit.page.wait_for_function(f"chart => ({selected})(chart).length === 0", arg=tool_map.chart.element_handle())
    visit.settled()
    assert tool_map.chart.evaluate("chart => chart._fullLayout.xaxis.range.map(Number)") == near
    tool_map.click(tool)
    visit.until_query(tool=tool, q=QUESTION)
    visit.press("Open in catalog")
    visit.page.wait_for_url("**/catalog?*")
    visit.see("Call this tool")
