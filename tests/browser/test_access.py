"""One walk over every view with data: WCAG 2.2 AA, and a reason beside whatever cannot be pressed.

Both themes, and a press on everything, on every page: tests/benchmarks/pressing.py."""

from __future__ import annotations

import pytest

from .access import RULES, faults, in_the_dark, mute, offered
from .conftest import Visitor
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
)
KNOBS_AND_CHARTS = ".wayfare-knobs, .js-plotly-plot"  # as on the first page of the walk


def test_no_view_has_a_fault_or_a_silent_refusal(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console, height=2000)
    visit.open("", q="convert 300 miles to kilometres")
    found = [f"Decision: {one}" for one in (*faults(visit, RULES), *in_the_dark(visit), *mute(offered(visit)))]
    for name in VIEWS:
        visit.go(name)
        seen = faults(visit, RULES, KNOBS_AND_CHARTS) + mute(offered(visit))
        found += [f"{name}: {one}" for one in seen]
    assert found == []
