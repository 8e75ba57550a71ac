"""A console that is killed while somebody looks at it."""

from __future__ import annotations

import re

import pytest

from .conftest import Visitor
from .pages import Call, Route
from .serving import ConsoleProgram

pytestmark = pytest.mark.browser

CONVERT = "convert 300 miles to kilometres"


def test_a_page_works_again_after_its_console_was_killed(own_console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(own_console)
    route, call = Route(visit), Call(visit)
    visit.open("", q=CONVERT, alpha_t="0.3")
    route.decided()
    route.call("convert_units")
    call.run("success", value="1", source="mile", target="km")

    visit.see(re.compile(r"1\.609"))
    call.learnt("tool: calls", "0", "1")  # all is drawn: nothing more is fetched

    visit.may_lose_console = True
    own_console.kill()
    own_console.start()
    visit.page.reload(wait_until="domcontentloaded")
    visit.settled()
    visit.see("no longer in memory")
    call.run("success", value="1", source="mile", target="km")
    call.learnt("tool: calls", "1", "2")  # the first call was committed before the kill

    visit.open("", q=CONVERT, alpha_t="0.3")
    route.decided()
    visit.open("activity")
    assert visit.metric("Calls") == "2"
