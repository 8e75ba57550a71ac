"""Without a mouse, and on a narrow screen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from .conftest import Visitor
from .pages import Route
from .serving import ConsoleProgram
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser

NEED = "convert 300 miles to kilometres"
TABS = 120


def test_from_the_question_to_the_call_without_a_mouse(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open()
    visit.see("Which tool should a sub-task go to?")
    expect(visit.field("What is needed?")).to_be_visible()
    visit.page.keyboard.press("Tab")
    expect(visit.page.get_by_role("link", name="Skip to the content")).to_be_focused()
    visit.page.keyboard.press("Enter")
    expect(visit.field("What is needed?")).to_be_focused()
    visit.page.keyboard.type(NEED)
    visit.page.keyboard.press("Enter")
    route.decided()
    until_focus(visit.page, "Call", role="button")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_url("**/call?*")
    visit.see("Result")
    until_focus(visit.page, "value")
    visit.page.keyboard.type("300")
    until_focus(visit.page, "source")
    visit.page.keyboard.type("mile")
    until_focus(visit.page, "target")
    visit.page.keyboard.type("km")
    until_focus(visit.page, "Call", role="button")
    visit.page.keyboard.press("Enter")
    expect(visit.main.locator(".stMarkdownBadge").filter(has_text="success")).to_be_visible(timeout=LIMIT_MS)


@pytest.mark.parametrize("width", [800, 390])
def test_nothing_is_wider_than_a_narrow_screen(console: ConsoleProgram, visitor: Visitor, width: int) -> None:
    visit = visitor(console, width=width, height=900)
    visit.open()
    visit.see("Which tool should a sub-task go to?")
    assert visit.too_wide() == []
    visit.open("", q="draw a bar chart of votes per party", hint="a long hint about charts of every kind", n="12")
    Route(visit).decided()
    assert visit.too_wide() == []
    winner = "Plotwright::bar_chart"
    Route(visit).until_winner(winner)
    charts = visit.main.locator(".js-plotly-plot")
    expect(charts).to_have_count(7)
    for number in range(6):
        box = charts.nth(number).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width + 1


def until_focus(page: Page, name: str, role: str = "input") -> None:
    """Press Tab until a field or button of this name has the focus."""
    wanted = re.compile(rf"^\W*{re.escape(name)}(\W|$)" if role == "input" else rf"(^|\n){re.escape(name)}$")
    for _ in range(TABS):
        page.keyboard.press("Tab")
        tag, label = page.evaluate(
            "[document.activeElement.tagName.toLowerCase(), document.activeElement.ariaLabel ?? document.activeElement.innerText]"
        )
        if tag == role and wanted.search(str(label).strip()):
            return
    raise AssertionError(f"{TABS} times Tab did not reach {name}")
