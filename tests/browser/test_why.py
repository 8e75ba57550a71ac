"""Why it did not win: from a click on its bar, or from the list."""

from __future__ import annotations

import re

import pytest

from .conftest import Visitor
from .pages import PAPER, Route
from .serving import ConsoleProgram

pytestmark = pytest.mark.browser

NUMBER = r"-?\d\.\d{3}"


def test_a_click_or_a_choice_explains_anyone(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = Route(visit)
    visit.open("", q="draw a bar chart of votes per party", **PAPER)
    route.decided()
    winner, utility = route.headline()
    assert winner in route.names("3 · Tools")
    route.until_why(winner, rf"Chosen: utility {re.escape(utility)} is the highest of \d+ affordable tools")

    # a server that was left off the short-list, by its bar
    off = route.names("1 · Servers")[0]
    route.click_bar("1 · Servers", off)
    route.until_why(off, rf"{off} ranks \w+ of 81 servers with utility {NUMBER}; the short-list takes 5")

    # a tool, by its bar
    tool = route.names("3 · Tools")[-2]
    route.click_bar("3 · Tools", tool)
    route.until_why(tool, rf"Candidate 2 of 3: utility {NUMBER}, {NUMBER} behind {winner}")
    assert re.search(
        rf"similarity {NUMBER} .* time cost .* utility U {NUMBER} .* would win at latency", route.numbers("rank 2")
    )

    # a loser from the list, found by a part of its name
    loser = "Plotwright::heat_map"
    visit.choose("Why this server or tool?", loser, typed="heat_m")
    route.until_why(loser, rf"Outranked: utility {NUMBER} puts {loser} \w+; the last of 3 candidates, .*, has {NUMBER}")
