"""Two visitors at once, and a console that is killed while somebody looks at it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import Visitor
from .pages import Call, Route
from .serving import ConsoleProgram
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser

CHART, CONVERT = "draw a bar chart of votes per party", "convert 300 miles to kilometres"


def test_two_visitors_do_not_disturb_each_other(console: ConsoleProgram, visitor: Visitor) -> None:
    first, second = visitor(console), visitor(console)
    one, two = Route(first), Route(second)
    first.open("", q=CHART, alpha_t="0.05")
    second.open("", q=CONVERT, alpha_t="0.5", hint="units")
    one.until_winner("Plotwright::bar_chart")
    two.until_winner("unit-exchange::convert_units")
    there = two.headline()

    one.slider("αt").focus()
    first.page.keyboard.press("ArrowLeft")
    first.until_query(alpha_t="0.04")
    expect(one.slider("αt")).to_have_value("0.04", timeout=LIMIT_MS)
    one.decided()
    here = one.headline()
    two.slider("αs").focus()
    second.page.keyboard.press("ArrowRight")
    second.until_query(alpha_s=f"{two.default('αs') + 0.01:g}", alpha_t="0.5")
    two.decided()

    assert one.headline() == here
    assert two.headline() == there  # the short-list moved, not the utility of a tool
    expect(one.slider("αs")).to_have_value(f"{one.default('αs'):g}")
    expect(two.slider("αt")).to_have_value("0.5")
    assert "hint" not in first.query
    assert (first.query["q"], second.query["q"]) == (CHART, CONVERT)


def test_a_page_works_again_after_its_console_was_killed(own_console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(own_console)
    route, call = Route(visit), Call(visit)
    visit.open("", q=CONVERT, alpha_t="0.3")
    route.decided()
    route.call("convert_units")
    call.run("success", value="1", source="mile", target="km")

    visit.see(re.compile(r"1\.609"))
    call.learnt("tool: calls", "0", "1")  # all is drawn: nothing more is fetched

    visit.may_lose_console = True
    own_console.kill()
    own_console.start()
    visit.page.reload(wait_until="domcontentloaded")
    visit.settled()
    visit.see("no longer in memory")
    call.run("success", value="1", source="mile", target="km")
    call.learnt("tool: calls", "1", "2")  # the first call was committed before the kill

    visit.open("", q=CONVERT, alpha_t="0.3")
    route.decided()
    visit.open("activity")
    assert visit.metric("Calls") == "2"
