"""The network in a real browser: an outage is played, the charts move with it, and nothing is simulated twice."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Visitor
from .serving import ConsoleProgram
from .visit import LIMIT_MS, Visit

pytestmark = pytest.mark.browser

BEFORE, STEPS = 11, 180  # web-finder is down from step 13 to 35


def chart(visit: Visit, title: str) -> Locator:
    return visit.main.locator(".js-plotly-plot").filter(has_text=title)


def moment(visit: Visit, title: str) -> int:
    """The step at which a chart has its vertical line."""
    return chart(visit, title).evaluate("chart => chart.layout.shapes.find(shape => shape.x0 === shape.x1).x0")


def test_an_outage_comes_and_goes_while_it_plays(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    visit.open("network", steps=STEPS, step=BEFORE)
    visit.see("simulated")
    visit.see("No events yet")
    slider = visit.page.get_by_role("slider", name="Step")
    expect(slider).to_have_value(str(BEFORE), timeout=LIMIT_MS)

    visit.press("Play")
    table = visit.main.get_by_test_id("stDataFrame").filter(has_text="event")
    for happened in ("goes down", "is up again, after 220 s"):
        expect(table.locator("table[role=grid]")).to_contain_text(happened, timeout=LIMIT_MS)
    visit.press("Pause")
    expect(visit.page.get_by_role("button", name="Play", exact=True)).to_be_visible(timeout=LIMIT_MS)
    visit.settled()

    at = int(slider.input_value())
    assert at >= 35
    visit.until_query(step=str(at))
    for title in ("Simulated latency", "Events"):
        expect(chart(visit, title)).to_be_visible(timeout=LIMIT_MS)
        assert moment(visit, title) == at
    visit.see(f"Step {at}")
    assert visit.too_wide() == []

    # a link is the same page
    rows = visit.table("event")
    visit.page.goto(visit.page.url, wait_until="domcontentloaded")
    visit.settled()
    expect(slider).to_have_value(str(at), timeout=LIMIT_MS)
    expect(table).to_be_visible(timeout=LIMIT_MS)
    assert visit.table("event") == rows


def test_a_long_simulation_can_be_stopped_and_the_page_fits_a_narrow_window(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console, width=800)
    long = urlencode({"steps": 2000, "routers": "adaptive_rag,toolshed", "catalog": "attention-120", "seed": 5})
    visit.page.goto(f"{visit.url}/network?{long}", wait_until="domcontentloaded")  # it is stopped before it has settled
    visit.press("Stop")
    visit.see("The simulation was stopped.")
    visit.press("Run it again")
    visit.see("of 4,000 decisions")
    visit.press("Stop")
    visit.see("The simulation was stopped.")

    visit.open("network", steps=60, step=30)
    visit.see("The whole run, 60 steps")
    assert visit.too_wide() == []


def test_live_calls_are_made_on_request_and_said_to_be_injected(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    visit.open("network", mode="live", profile="ideal", routers="rag_bm25,sonar", calls=10)
    visit.press("Make the calls")
    visit.see("The whole run, 10 steps")
    visit.see("network injected: delayed by")
    measures = visit.table("utility", but_not="when")  # earlier runs have a table too, and theirs says when
    assert [row[0] for row in measures[1:]] == ["RAG (BM25)", "SONAR"]
    latency = next(place for place, name in enumerate(measures[0]) if "latency" in name or "AL" in name)
    for row in measures[1:]:
        assert 15 < float(row[latency].removesuffix(" ms")) < 1000  # the ideal network's 20 ms, and the machine's own
    visit.go("Activity")
    visit.show("Calls")
    assert any("delayed by" in cell for row in visit.table("network injected")[1:] for cell in row)


def test_a_live_run_is_found_again_after_a_reload_and_cannot_begin_twice(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit, other = visitor(console), visitor(console)
    link = {"mode": "live", "profile": "fluctuating", "routers": "rag_bm25,sonar", "calls": "300"}
    visit.open("network", **link)
    visit.press("Make the calls")
    visit.see(re.compile(r"Calling: [1-9]\d* of 600 calls"))
    visit.page.reload(wait_until="domcontentloaded")
    visit.see(re.compile(r"Calling: [1-9]\d* of 600 calls"))
    expect(visit.page.get_by_role("button", name="Make the calls")).to_have_count(0)

    other.open("network", mode="live", profile="ideal", routers="rag_bm25,sonar", calls="10", seed="9")
    other.see("A live run is under way")
    expect(other.page.get_by_role("button", name="Make the calls")).to_have_count(0)
    other.press("Show it")
    other.see(re.compile(r"Calling: [1-9]\d* of 600 calls"))
    other.until_query(**link)
    other.press("Stop")
    other.see("The run was stopped.")
    visit.see("The run was stopped.")
    visit.page.reload(wait_until="domcontentloaded")
    visit.see("The run was stopped.")
    expect(visit.page.get_by_role("button", name="Make the calls")).to_have_count(1, timeout=LIMIT_MS)


def test_a_network_is_edited_and_kept(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    visit.open("network", profile="ideal", steps=20)
    visit.press("Edit")
    dialog = visit.page.get_by_role("dialog")
    expect(dialog.locator(".js-plotly-plot")).to_contain_text("Beacon · Ideal", timeout=LIMIT_MS)
    cells = dialog.get_by_test_id("stDataFrame").first
    expect(cells).to_contain_text("Beacon", timeout=LIMIT_MS)
    visit.settled()  # an editor in a table closes where the page is drawn again
    cells.dblclick(position={"x": 200, "y": 48})  # what the first server has by hand
    expect(visit.page.locator("[id^=react-select]").last).to_be_visible(timeout=5000)
    visit.page.keyboard.type("Packet")
    visit.page.keyboard.press("Enter")
    cells.click(position={"x": 50, "y": 176})  # elsewhere
    expect(dialog.locator(".js-plotly-plot")).to_contain_text("Beacon · Packet loss", timeout=LIMIT_MS)
    visit.fill("Save as", "lossy")
    visit.press("Save")

    visit.until_query(profile="lossy")
    expect(dialog).to_have_count(0, timeout=LIMIT_MS)
    expect(visit.select("Network")).to_have_value("lossy", timeout=LIMIT_MS)
    visit.settled()
    visit.press("Edit")
    expect(cells.locator("table[role=grid]")).to_contain_text("BeaconPacket lossPacket lossby hand", timeout=LIMIT_MS)
    assert visit.too_wide() == []
