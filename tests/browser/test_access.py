"""WCAG 2.2 AA, as far as axe can tell, on every page with data, in both themes."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from .conftest import Visitor
from .serving import ConsoleProgram
from .visit import Visit

pytestmark = pytest.mark.browser

ASKED = {"q": "convert 300 miles to kilometres"}
PAGES: tuple[str | tuple[str, dict[str, str]], ...] = (
    ("", {}), ("", ASKED), "What if", "Compare", "Map", "Call", "Agent", "Lab", "Papers", "Govern", "Activity", "Setup",
    ("catalog", {"tool": "unit-exchange::convert_units"}), ("catalog", {"view": "lint"}), ("network", {"steps": "20"}),
)  # fmt: skip
"""Addresses, and the names of the views that are gone to from there with the question: that takes a third of opening them."""
RULES = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
}
KNOBS, NOTHING = ".wayfare-knobs", ".none"
INACTIVE = "[disabled], [aria-disabled=true], [data-disabled]"  # exempt (1.4.3)
HAS_INACTIVE = f"([...target]) => !!document.querySelector(target.join(' '))?.closest('[data-testid=stElementContainer]')?.querySelector('{INACTIVE}')"

AT_REST = "document.getAnimations().every(one => one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"


def faults(visit: Visit, axe: Axe, options: dict[str, Any], without: str) -> list[str]:
    """What axe finds on the page as it stands, except in elements with this selector."""
    found: list[str] = []
    for fault in axe.run(visit.page, {"exclude": [[without]]}, options).response["violations"]:
        nodes = [node for node in fault["nodes"] if not visit.page.evaluate(HAS_INACTIVE, node["target"])]
        found += [f"{fault['id']}: {node['html'][:160]}" for node in nodes]
    return found


def test_axe_finds_no_fault_on_any_page(console: ConsoleProgram, visitor: Visitor) -> None:
    visit, axe = visitor(console, height=3000), Axe()  # all charts are in sight
    found: list[str] = []
    for place in PAGES:
        if isinstance(place, str):
            visit.go(place)
        else:
            visit.open(place[0], **place[1])
        for json in visit.main.get_by_test_id("stJson").all():
            expect(json.locator(".string-value").first).to_be_attached()  # its library comes late
        visit.page.wait_for_function(AT_REST)
        without = KNOBS if isinstance(place, str) else NOTHING  # the same knobs as at the question before
        seen = faults(visit, axe, RULES, without)
        visit.page.emulate_media(color_scheme="dark")
        visit.page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
        visit.settled()  # the page host may run the page again for another theme, and fades what it draws anew
        visit.page.wait_for_function(AT_REST)
        seen += faults(visit, axe, {**RULES, "runOnly": ["color-contrast"]}, without)  # a theme is colours alone
        visit.page.emulate_media(color_scheme="light")
        found += [f"{place}: {one}" for one in seen]
    assert found == []
