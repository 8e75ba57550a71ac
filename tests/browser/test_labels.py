"""A label from the click to the next decision, named as what moved it, listed with the catalog, and taken back."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import Visitor
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram

pytestmark = pytest.mark.browser

TASK = "find me a room in Lisbon for two nights"
OTHER = "Innkeeper::room_availability"


def test_a_label_changes_the_next_decision_and_taking_it_back_restores_it(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q=TASK)
    route.decided()
    (winner, _), fits = route.headline(), route.metric("Fits")

    visit.press("wrong")  # the first card is the winner's
    visit.see(f"Stored: {winner} is wrong")
    visit.see(re.compile("The same click takes it back"))
    route.decided()
    (second, _) = route.headline()
    assert second != winner
    assert visit.select("Why this server or tool?").input_value() == winner
    visit.see(re.compile(rf"-\d\.\d\d wrong for “{TASK}”, similarity 1\.00, console"))

    visit.go("Catalog")
    visit.show("Calibration")
    assert visit.metric("Labels") == "1"
    visit.see("A fit needs 20 more labelled sub-tasks")
    assert visit.table("sub-task")[1][:3] == ["✗ wrong", winner, TASK]

    visit.go("Decision")
    route.decided()
    assert route.headline()[0] == second
    visit.choose("Why this server or tool?", winner)
    visit.main.get_by_role("button", name="wrong", exact=True).last.click()  # the one under Why
    visit.see(f"Taken back: {winner}")
    route.decided()
    assert (route.headline()[0], route.metric("Fits")) == (winner, fits)

    # what it should have been is chosen by name, and taken back whole
    visit.press("should be…")
    box = visit.select("It should have been")
    box.fill("room_av")
    visit.page.get_by_role("option", name=OTHER, exact=True).click()
    visit.see(f"Stored: {OTHER} is right, {winner} is wrong")
    route.decided()
    assert route.headline()[0] != winner
    visit.press("Take back")
    visit.see("Taken back: the labels of")
    route.decided()
    assert route.headline()[0] == winner
