"""The Lab in a real browser: a search, a repeated run, a snapshot; and equal function sets judged with the keyboard."""

from __future__ import annotations

import pytest

from .conftest import Visitor
from .serving import ConsoleProgram

pytestmark = pytest.mark.browser


def test_search_repeat_and_snapshot(own_console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(own_console)
    visit.open("lab", catalog="search-15", router="rag_mcp")
    visit.press("Run")
    visit.see("Stored as")
    visit.press("Repeat")
    visit.see("The same to the last byte")

    visit.open("lab", catalog="search-15", view="Search", over="alpha_t,kappa", trials="12")
    visit.press("Search")
    visit.see("trials are on the front of success, money and time")
    visit.settled()
    assert visit.too_wide() == []

    visit.show("Snapshots")
    visit.fill("Name", "first")
    visit.press("Keep the current state")
    visit.see("Kept as first.")
    visit.show("Runs")
    visit.show("Snapshots")
    visit.press("Restore")
    visit.see("Everything is as in first again.")
    assert visit.too_wide() == []


def test_equal_tools_are_judged_with_the_keyboard(own_console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(own_console, width=800)
    visit.open("catalog", catalog="sample", view="equal")
    visit.see("0 of 28 proposed pairs judged")
    visit.page.keyboard.press("n")
    visit.see("1 of 28 proposed pairs judged")
    visit.page.keyboard.press("b")
    visit.see("0 of 28 proposed pairs judged")
    assert visit.too_wide() == []
