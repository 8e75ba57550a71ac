"""The replay of a day: an agent asks and calls through the endpoint, and its operator turns a knob."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import anyio
import mcp_types
import pytest
from mcp import Client
from playwright.sync_api import expect

from tests.browser.access import RULES, faults, mute, offered
from tests.browser.conftest import Visitor
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram

pytestmark = pytest.mark.browser

DAY = {  # a program that runs: simulated calls may fail
    "convert 300 miles to kilometres": {"value": 300, "source": "mi", "target": "km"},
    "how many pounds are 70 kilograms": {"value": 70, "source": "kg", "target": "lb"},
    "convert 20 litres to gallons": {"value": 20, "source": "L", "target": "gal"},
}


async def _work(url: str, name: str) -> None:
    async with Client(url, client_info=mcp_types.Implementation(name=name, version="1")) as client:
        for task, arguments in DAY.items():
            found = (await client.call_tool("search_tools", {"task": task})).structured_content
            assert found is not None
            chosen = {"tool": "unit-exchange::convert_units", "route_id": found["route_id"]}
            assert not (await client.call_tool("execute_tool", {**chosen, "arguments": arguments})).is_error


def test_the_day_of_an_agent_is_replayed_while_a_knob_is_turned(console: ConsoleProgram, visitor: Visitor) -> None:
    with ThreadPoolExecutor(1) as thread:  # the browser has the loop of this one
        thread.submit(anyio.run, _work, f"{console.url}/mcp", "day-agent").result()
    visit = visitor(console)
    visit.open("activity", view="replay", text="day-agent")
    visit.see("The same money, 0 of 3 answers lost: 0 of 3 questions have another first candidate")
    expect(visit.select("Replay")).to_have_value(re.compile("^day-agent, "))
    visit.until_text("3, 3 succeeded", "unit-exchange::convert_units", *DAY)
    assert [*faults(visit, RULES), *mute(offered(visit)), *visit.too_wide()] == []
    limit = Route(visit).knob("B").locator("input.wayfare-typed")
    limit.fill("0")
    limit.press("Enter")
    visit.until_query(**{"with": "ehrr~budget_usd=0.0"})
    visit.see("No money to compare, 3 of 3 answers lost")
    visit.go("Decision")
    visit.until_query(budget_usd="0.0")
    visit.go("Activity")
    visit.see("No money to compare, 3 of 3 answers lost")
    visit.page.reload()
    visit.settled()
    visit.see("No money to compare, 3 of 3 answers lost")
