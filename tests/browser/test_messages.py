"""A knob that is let go changes the elements that say something else, and no other: all others are sent byte by byte the same."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visitor
from tests.browser.messages import Messages
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser

AIR = "where is the Super Bowl shown in Germany"
EACH_TIME = {"wayfare.history", "wayfare.knobs"}  # the steps of the visit; what was heard
BY_TIME = {
    "route:headline", "route:tools", "route:card:0", "route:card:1", "alert", "markdown", "route:alpha_t", "route:kappa", "wayfare.present",
}  # fmt: skip


def let_go(visit: Visit, key: str, alpha_t: str) -> None:
    """One press on αt, until the page host is done with it."""
    Route(visit).slider("αt").press(key)
    visit.until_query(alpha_t=alpha_t)
    visit.settled()


def test_a_knob_changes_the_messages_of_what_it_changes_alone(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    messages = Messages(visit)
    visit.open("", q=AIR, alpha_t="0.06")
    Route(visit).decided()
    let_go(visit, "ArrowRight", "0.07")
    let_go(visit, "ArrowLeft", "0.06")
    before, _ = messages.bodies(), messages.sent.clear()
    let_go(visit, "ArrowRight", "0.07")
    after, sent = messages.bodies(), set(messages.sent)
    changed = {place for place in sent if before.get(place) != after[place]}
    assert len(sent) > 60
    assert {messages.name(place) for place in changed} == EACH_TIME | BY_TIME
    assert len(changed) <= len(EACH_TIME | BY_TIME) + 1  # two texts
    let_go(visit, "ArrowLeft", "0.06")
    again = messages.bodies()
    assert {messages.name(place) for place in again if again[place] != before.get(place)} == EACH_TIME
