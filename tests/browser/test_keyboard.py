"""Without a mouse."""

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


def test_from_the_question_to_the_call_and_judging_without_a_mouse(console: ConsoleProgram, visitor: Visitor) -> None:
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

    visit.open("catalog", catalog="sample", view="equal")
    visit.see("0 of 51 proposed pairs judged")
    for key, judged in (("n", 1), ("b", 0)):
        visit.settled()
        visit.page.keyboard.press(key)
        visit.see(f"{judged} of 51 proposed pairs judged")


def until_focus(page: Page, name: str, role: str = "input") -> None:
    """Press Tab until a field or button of this name has the focus."""
    pattern = re.compile(rf"^\W*{re.escape(name)}(\W|$)" if role == "input" else rf"(^|\n){re.escape(name)}$")
    for _ in range(TABS):
        page.keyboard.press("Tab")
        tag, label = page.evaluate(
            "[document.activeElement.tagName.toLowerCase(), document.activeElement.ariaLabel ?? document.activeElement.innerText]"
        )
        if tag == role and pattern.search(str(label).strip()):
            return
    raise AssertionError(f"{TABS} times Tab did not reach {name}")
