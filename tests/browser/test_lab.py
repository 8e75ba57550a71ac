"""The Lab in a real browser: sweep, apply the best point and take it back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .conftest import Visitor
from .serving import ConsoleProgram
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser


def test_the_best_point_is_applied_to_the_knobs_and_undone(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    visit.open("lab", catalog="attention-120", view="Sweep", alpha_t="1", axis1="alpha_t:0.01:0.2:3")
    visit.see("3 points over")
    visit.press("Sweep")
    visit.see("Point, the best first")
    visit.settled()
    values = visit.select("Point, the best first").input_value().split(" = ")[1]
    visit.press("Show the changes")
    visit.see("Changes:")
    asked = "delete a file"
    visit.go("Decision")  # a question is open there when the point is applied
    visit.fill("What is needed?", asked)
    visit.until_query(q=asked)
    visit.go("Lab")
    visit.press("Apply")
    visit.until_query(alpha_t=values)
    visit.see("The knobs are at this point.")
    visit.go("Decision")
    visit.until_query(q=asked, alpha_t=values)
    expect(visit.page.get_by_role("slider", name="αt")).to_have_value(values, timeout=LIMIT_MS)
    visit.go("Lab")
    visit.press("Undo: back to alpha_t = 1")
    visit.until_query(alpha_t="1.0")
    expect(visit.page.get_by_role("slider", name="αt")).to_have_value("1", timeout=LIMIT_MS)

    # tools that are judged equal, with the keyboard
    visit.page.set_viewport_size({"width": 800, "height": 900})
    visit.open("catalog", catalog="sample", view="equal")
    visit.see("0 of 51 proposed pairs judged")
    for key, judged in (("n", 1), ("b", 0)):
        visit.page.keyboard.press(key)
        visit.see(f"{judged} of 51 proposed pairs judged")
    assert visit.too_wide() == []
