"""The main job from the question to what was learnt, on a real stdio server and over a restart, and the approval of an agent's call."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import mcp_types
import pytest
from mcp import Client
from playwright.sync_api import expect

from .conftest import Visitor
from .pages import Call, Route
from .serving import ConsoleProgram
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser

APT, QUICK = "Matinee::live.sport", "score-board::where_is_it_on"
AIR = "Where is the Super Bowl shown in Germany"
TOOL = "unit-exchange::convert_units"
NEED = "convert 300 miles to kilometres"
BADGE = """() => [...document.querySelectorAll('.st-key-navigation a')]
  .filter(link => getComputedStyle(link, '::after').content.startsWith('"1"')).map(link => link.textContent)"""
CALL = {"tool": "sandbox-files::write_text_file", "arguments": {"path": "notes.txt", "content": "<b>bought</b> milk"}}


def test_decide_turn_a_knob_call_learn_and_find_it_all_after_a_restart(
    own_console: ConsoleProgram, visitor: Visitor
) -> None:
    visit = visitor(own_console)
    route, call = Route(visit), Call(visit)
    visit.open()
    visit.see("Which tool should a sub-task go to?")

    # four steps, and a figure is the same number everywhere
    route.ask(AIR)
    winner, utility = route.headline()
    assert winner == APT
    assert set(route.names("1 · Servers")[-2:]) == {"score-board", "Matinee"}
    assert re.search(r"U −?-?\d\.\d{3}", visit.main.inner_text())
    text = route.chart("3 · Tools").inner_text()
    assert APT in text
    assert QUICK in text
    assert visit.main.get_by_text(utility, exact=True).count() >= 2  # at its bar and on its card

    # seconds made dearer: the quicker one of two equals wins, and the URL says why
    slider = route.slider("αt")
    usual = route.default("αt")
    assert slider.input_value() == f"{usual:g}"
    slider.focus()
    for _ in range(15):
        visit.page.keyboard.press("ArrowRight")
    route.until_winner(QUICK)
    dearer = f"{usual + 0.15:g}"
    visit.until_query(alpha_t=dearer, q=AIR)
    assert route.headline()[1] != utility
    visit.press(
        "Reset all knobs"
    )  # with a changed knob the page scores every task, which may take longer than a restart
    visit.until_query(alpha_t=None, q=AIR)

    # another question, its own tool, a real call
    route.ask(NEED)
    route.until_winner(TOOL)
    route.call("convert_units")
    decision = visit.query["decision"]
    visit.see("declared")
    call.run("success", value="300", source="mile", target="km")
    visit.see(re.compile(r"482\.8032"))
    learnt = call.learnt("tool: calls", "0", "1")
    assert learnt["server: success r"][0] == "99 %"
    assert learnt["server: success r"][2].startswith("▲")
    assert learnt["tool: call time"][0] == "180 ms"
    visit.see("after 1 call")
    visit.page.get_by_role("button", name="Call", exact=True).first.dblclick(delay=60)  # a double click is one press
    visit.see("after 2 calls")
    visit.see(re.compile(rf"For “{NEED}”: .*utility"))  # connecting took a while: it may have lost to another

    visit.go("Decision")
    route.decided()
    tools = route.chart("3 · Tools")
    previous = (route.headline(), route.figures(), tools.inner_text())

    # nothing is lost
    visit.may_lose_console = True
    assert own_console.stop() == 0
    expect(visit.page.locator(".wayfare-away")).to_contain_text("Wayfare does not answer", timeout=LIMIT_MS)
    expect(visit.page.get_by_test_id("stDialog")).not_to_be_visible()
    own_console.start()
    route.ask(AIR)  # in the open window
    visit.open("activity")
    visit.may_lose_console = False
    assert visit.metric("Calls") == "2"
    calls = visit.table("convert_units")
    assert [calls[1][calls[0].index(name)] for name in ("server", "tool", "outcome", "source")] == [
        "unit-exchange", "convert_units", "✓ ok", "real",
    ]  # fmt: skip
    visit.show("Decisions")
    decisions = visit.table(NEED)
    row = next(row for row in decisions[1:] if NEED in row)
    assert TOOL in " ".join(row)
    assert decision

    visit.open("", q=NEED)
    route.decided()
    assert (route.headline(), route.figures(), tools.inner_text()) == previous


def asked(url: str) -> Future[dict[str, Any]]:
    """The answer to an agent's call from another thread, because a browser's thread can run no event loop."""

    async def heard(*_: object) -> None: ...

    async def one() -> dict[str, Any]:
        async with Client(f"{url}/mcp", client_info=mcp_types.Implementation(name="robot", version="1")) as client:
            # a client that hears of progress is answered when the call is decided
            return (await client.call_tool("execute_tool", CALL, progress_callback=heard)).structured_content or {}

    return ThreadPoolExecutor(1).submit(lambda: asyncio.run(one()))


def test_a_person_approves_what_an_agent_wants_to_write(own_console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(own_console)
    visit.open("govern")
    visit.press("Let calls that may write wait")
    visit.see(re.compile("No call waits for a person"))

    visit.go("Catalog")
    future = asked(own_console.url)
    expect(visit.page).to_have_title(re.compile(r"^\(1\) "), timeout=LIMIT_MS)  # on every page
    visit.until(lambda: visit.page.evaluate(BADGE) == ["Operate", "shield_personGovern"])
    visit.go("Decision")
    visit.until(lambda: visit.page.evaluate(BADGE) == ["Operate"])
    visit.go("Govern")
    visit.see("sandbox-files::write_text_file")
    visit.see("Waits because it may write.")
    visit.see("<b>bought</b> milk")
    assert visit.metric("Calls waiting") == "1"
    visit.press("Approve")
    assert future.result(LIMIT_MS / 1000)["ok"]  # the same request
    visit.see("Recently decided or expired: 1")
