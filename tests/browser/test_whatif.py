"""The What if page in a real browser: the map's cross dragged, from a bar to its tasks."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Visitor
from .serving import ConsoleProgram
from .visit import LIMIT_MS, Visit

pytestmark = pytest.mark.browser

AIR = "where is the Super Bowl shown in Germany"
AT = """([chart, x, y]) => {
  const {xaxis, yaxis} = chart._fullLayout, box = chart.getBoundingClientRect();
  return [box.left + xaxis._offset + xaxis.l2p(x), box.top + yaxis._offset + yaxis.l2p(y)];
}"""
MARK = "chart => { const mark = chart.data.find(trace => trace.meta === 'dragged'); return [mark.x[0], mark.y[0]]; }"
BAR = """chart => {
  const trace = chart.data.find(one => one.type === 'bar' && one.customdata);
  const at = trace.x.findIndex(value => value !== 0);
  return [trace.customdata[at], Math.abs(trace.x[at])];
}"""


def chart(visit: Visit) -> Locator:
    """The one chart of the view, drawn."""
    plot = visit.main.locator(".js-plotly-plot")
    expect(plot.locator(".main-svg").first).to_be_attached(timeout=LIMIT_MS)
    visit.settled()
    return plot


def on_map(visit: Visit, x: float, y: float) -> tuple[float, float]:
    """The place of map values on the page."""
    left, top = visit.page.evaluate(AT, [chart(visit).element_handle(), x, y])
    return left, top


def take_mark(visit: Visit, x: float, y: float) -> None:
    """Press the mouse on the mark once the chart shows it under the mouse, as elements above may still move it."""
    area = chart(visit).locator(".nsewdrag")
    for _ in range(20):
        visit.page.mouse.move(*on_map(visit, x, y))
        if area.evaluate("area => area.style.cursor") == "grab":
            break
        visit.page.wait_for_timeout(100)
    expect(area).to_have_css("cursor", "grab", timeout=LIMIT_MS)
    visit.page.mouse.down()


def test_the_cross_of_the_map_is_dragged_and_a_bar_of_the_tornado_leads_to_its_tasks(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    visit.open("whatif", q=AIR, view="Two knobs")
    plot = chart(visit)
    x, y = plot.evaluate(MARK)
    take_mark(visit, x, y)
    hovers = set[str]()
    for step in range(1, 9):
        visit.page.mouse.move(*on_map(visit, x + step * 0.009, y + step * 45))
        label = plot.locator(".hoverlayer .hovertext").first
        expect(label).to_contain_text("wins", timeout=LIMIT_MS)
        hovers.add(label.text_content() or "")
    hover = plot.locator(".hoverlayer .hovertext").first
    expect(hover).to_contain_text(f"αt {x + 0.072:.2f}", timeout=LIMIT_MS)
    hover_text = hover.text_content() or ""
    assert len(hovers) > 1
    assert "alpha_t" not in visit.query  # not before it is let go
    visit.page.mouse.up()
    visit.page.wait_for_function("new URLSearchParams(location.search).has('alpha_t')")
    visit.settled()
    point = plot.evaluate(MARK)
    assert [float(visit.query[name]) for name in ("alpha_t", "kappa")] == pytest.approx(point)
    assert point == pytest.approx([x + 0.072, y + 360], rel=0.05)
    assert f"{point[0]:.3g}" in hover_text

    # from a bar to its tasks
    visit.open("whatif", q=AIR, view="Over tasks", tasks="EHRR's categories")
    plot = chart(visit)
    name, share = plot.evaluate(BAR)
    place = plot.evaluate("(chart, name) => [...chart.data[0].customdata].indexOf(name)", name)
    bar = plot.locator(".trace.bars").first.locator(".point path").nth(place)
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    assert box is not None
    visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(plot.locator(".hoverlayer .hovertext").first).to_be_visible(timeout=LIMIT_MS)
    visit.page.mouse.down()
    visit.page.mouse.up()
    visit.until(
        lambda: visit.query.get("bar", "").partition("|")[0] == name.partition("|")[0]
    )  # equal bars cover each other
    heading = visit.see(re.compile(r"^\d+ tasks? with another winner at"))
    assert int(heading.inner_text().split()[0]) > 0
    assert share > 0
    visit.main.get_by_text("Presets beside these knobs").click()
    visit.until_text("Thrifty")
