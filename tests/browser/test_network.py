"""The network in a real browser: an outage is played, the charts move with it, and nothing is simulated twice."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Visitor
from .serving import ConsoleProgram
from .visit import LIMIT_MS, Visit

pytestmark = pytest.mark.browser

BEFORE, STEPS = 32, 60  # web-finder is down from step 13 to 35


def chart(visit: Visit, title: str) -> Locator:
    return visit.main.locator(".js-plotly-plot").filter(has_text=title)


def moment(visit: Visit, title: str) -> int:
    """The step at which a chart has its vertical line."""
    return chart(visit, title).evaluate("chart => chart.layout.shapes.find(shape => shape.x0 === shape.x1).x0")


def test_an_outage_ends_while_it_plays(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    visit.open("network", steps=STEPS, step=BEFORE)
    visit.see("simulated")
    slider = visit.page.get_by_role("slider", name="Step")
    expect(slider).to_have_value(str(BEFORE), timeout=LIMIT_MS)

    table = visit.main.get_by_test_id("stDataFrame").filter(has_text="event")
    expect(table.locator("table[role=grid]")).to_contain_text("goes down", timeout=LIMIT_MS)
    expect(table.locator("table[role=grid]")).not_to_contain_text("is up again")
    visit.press("Play")
    expect(table.locator("table[role=grid]")).to_contain_text("is up again, after 220 s", timeout=LIMIT_MS)
    visit.press("Pause")
    expect(visit.page.get_by_role("button", name="Play", exact=True)).to_be_visible(timeout=LIMIT_MS)
    visit.settled()

    step = int(slider.input_value())
    assert step >= 35
    visit.until_query(step=str(step))
    for title in ("Simulated latency", "Events"):
        expect(chart(visit, title)).to_be_visible(timeout=LIMIT_MS)
        assert moment(visit, title) == step
    visit.see(f"Step {step}")
    assert visit.too_wide() == []
