"""An agent's call that may write waits, a person sees it come and approves it, and the agent makes it once."""

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
from .serving import ConsoleProgram
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser

BADGE = """() => [...document.querySelectorAll('.st-key-navigation a')]
  .filter(link => getComputedStyle(link, '::after').content.startsWith('"1"')).map(link => link.textContent)"""
CALL = {"tool": "sandbox-files::write_text_file", "arguments": {"path": "notes.txt", "content": "<b>bought</b> milk"}}


def asked(url: str) -> Future[dict[str, Any]]:
    """The answer to the call, made by an agent in a thread: beside a browser there can be no event loop in this one."""

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
    done = asked(own_console.url)
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
    assert done.result(LIMIT_MS / 1000)["ok"]  # the same request
    visit.see("Recently decided or expired: 1")

    done = asked(own_console.url)  # approved once: it came by itself
    expect(visit.main.get_by_role("button", name="Approve")).to_be_visible(timeout=LIMIT_MS)
    visit.press("Deny")
    assert done.result(LIMIT_MS / 1000)["error"] == "approval_denied"
    visit.see("Recently decided or expired: 2").click()
    rows = visit.table("decided by")
    assert [row[3] for row in rows[1:]] == ["✗ denied", "✓ approved and called"]
    visit.go("Activity")
    visit.page.get_by_role("radio", name=re.compile("^Refused")).click()
    visit.until_text("waits for a person")
