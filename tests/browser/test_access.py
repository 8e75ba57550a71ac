"""One walk over every view with data: WCAG 2.2 AA, and a reason beside every disabled control."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .access import RULES, faults, in_the_dark, mute, offered
from .conftest import Visitor
from .pages import Route
from .serving import ConsoleProgram

pytestmark = pytest.mark.browser

VIEWS = (
    "What if",
    "Compare",
    "Map",
    "Call",
    "Agent",
    "Lab",
    "Papers",
    "Govern",
    "Activity",
    "Setup",
    "Catalog",
    "Network",
    "Replay",
)
LINKED: dict[str, tuple[str, dict[str, object]]] = {
    "Network": ("network", {"steps": 20}),
    "Replay": ("activity", {"view": "replay"}),
}
ASKING = ("What if", "Compare", "Map", "Call")
NEED = "search the web for news about volcanoes"
KNOBS_AND_CHARTS = ".wayfare-knobs, .js-plotly-plot"  # as on the first page of the walk


def test_no_view_has_a_fault_or_a_silent_refusal_and_the_question_goes_along(
    console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(console, height=2000)
    visit.open("", catalog="search-15", q=NEED, hint="news", alpha_t="0.1")  # a small catalog has the same views
    winner, _ = Route(visit).headline()
    problems = [f"Decision: {fault}" for fault in (*faults(visit, RULES), *in_the_dark(visit), *mute(offered(visit)))]
    for name in VIEWS:
        if name in LINKED:
            path, query = LINKED[name]
            visit.open(path, **query)
        else:
            visit.go(name)
        view_problems = faults(visit, RULES, KNOBS_AND_CHARTS) + mute(offered(visit))
        problems += [f"{name}: {fault}" for fault in view_problems]
        if name in ASKING:
            expect(visit.field("What is needed?")).to_have_value(NEED)
            visit.until_query(q=NEED, hint="news")
        if name == "What if":
            expect(Route(visit).slider("αt")).to_have_value("0.1")
        if name == "Compare":
            assert visit.query["with"].startswith("ehrr~alpha_t=0.1,ehrr,")
            visit.see("EHRR · alpha_t = 0.1")
        if name == "Call":
            expect(visit.select("Tool")).to_have_value(re.compile(rf"^★ 1 +{re.escape(winner)}"))
            assert visit.query["tool"] == winner
    assert problems == []
