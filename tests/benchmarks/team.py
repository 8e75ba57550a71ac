"""A month of a team in ten minutes: three people in browsers, four agents over HTTP, one gateway; a day lasts some seconds.

Ann (operator, by token) asks, labels and calls; Bea (approver, by token) decides the calls that wait; Cat (admin, by an OpenID Connect
provider) gives an agent more calls. Crab may use everything, Heron only reads, Mole has a daily limit of calls, and Wren writes.
The console is killed, stopped and once restored from a backup after its store was deleted; the team's supervisor starts it again.
Every sentence below is checked as it is printed. `python -m tests.benchmarks.team [--days 30] [--day-s 8]`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from urllib.parse import quote

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation
from oidc_provider_mock import User, run_server_in_thread
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.benchmarks.month import WAYFARE, Asked, Cast, Month, sample
from tests.browser.chromium import FLAGS, executable
from tests.browser.serving import free_port

POST = '''
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
server = MCPServer("post", description="Weigh and book parcels for the post.")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def weigh_parcel(grams: float) -> str:
    """Weigh a parcel for the post."""
    return f"{grams} g"

@server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True))
def book_parcel(to: str) -> str:
    """Book a parcel at the post and pay for it."""
    return f"booked to {to}"

server.run("stdio")
'''
READS = ("weigh a parcel of 500 grams for the post", "post::weigh_parcel", {"grams": 500})
WRITES = ("book a parcel to Lisbon at the post", "post::book_parcel", {"to": "Lisbon"})
FEW, MANY = 40, 400
POLICY = f"""
[approvals]
writes = true
hold_s = 40.0
[people.groups]
"wayfare-admins" = "admin"
[[budgets]]
client = "mole"
calls = {FEW}
"""
MOST_S = 60.0
"""The longest wait for the console or a page."""


class Team(Month):
    """The month of a team: `wayfare up --sign-in` on one port, tokens of people and agents, and each agent's calls."""

    def __init__(self, folder: Path, day_s: float, issuer: str) -> None:
        super().__init__(folder, Cast({}, (*sample().asked[:2], READS), "csv-tables"), day_s)
        self.port, self.console = free_port(), None
        self.url = f"http://127.0.0.1:{self.port}"
        oidc = {"ISSUER": issuer, "CLIENT_ID": "wayfare", "CLIENT_SECRET": "a-secret-of-the-provider"}
        self.environment |= {f"WAYFARE_OIDC_{name}": value for name, value in oidc.items()}
        self.tokens: dict[str, str] = {}
        self.refused: Counter[tuple[str, str]] = Counter()
        self.used: Counter[tuple[str, str]] = Counter()

    def prepare(self) -> None:
        """The catalog, the policy, the people and the agents."""
        self.program.write_text(POST)
        post = {"command": sys.executable, "args": [str(self.program)]}
        self.config.write_text(json.dumps({"mcpServers": {**sample().servers, "post": post}}))
        self.run("discover", str(self.config), "--name", "mine")
        (self.folder / "policy.toml").write_text(POLICY)
        self.run("policy", "import", str(self.folder / "policy.toml"))
        for name, *scope in (
            ("ann", "--role", "operator"),
            ("bea", "--role", "approver"),
            ("crab",),
            ("heron", "--read-only"),
            ("mole",),
            ("wren", "--server", "post"),
        ):
            self.tokens[name] = json.loads(self.run("clients", "add", name, *scope, "--json"))["token"]

    def start(self) -> None:
        """The supervisor starts the console."""
        with (self.folder / "console.log").open("ab") as log:
            self.console = subprocess.Popen(
                [*WAYFARE, "up", "--port", str(self.port), "--catalog", "mine", "--sign-in"],
                env=self.environment, stdout=log, stderr=log,
            )  # fmt: skip
        began = time.monotonic()
        while not self.answers():
            assert time.monotonic() - began < MOST_S, (self.folder / "console.log").read_text()
            time.sleep(0.2)

    def answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/healthz", timeout=1).status_code == 200
        except httpx2.HTTPError:
            return False

    def end(self, *, kill: bool) -> None:
        assert self.console
        (self.console.kill if kill else self.console.terminate)()
        self.console.wait(MOST_S)

    def agent(self, name: str) -> Client:
        """An agent over HTTP with its token."""
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.tokens[name]}"}, timeout=MOST_S)
        return Client(
            streamable_http_client(f"{self.url}/mcp", http_client=http),
            client_info=Implementation(name=name, version="1"),
        )


async def heard(*_: object) -> None:
    """Progress of a call."""


async def work(team: Team, name: str, request: Asked) -> None:
    """An agent searches and calls the right tool. The answer or the reason of the refusal is counted."""
    question, tool, arguments = request
    async with team.agent(name) as client:
        answer = (await client.call_tool("search_tools", {"task": question})).structured_content or {}
        if tool not in [candidate["tool"] for candidate in answer["candidates"]]:
            team.refused[name, "not offered"] += 1
            return
        result = await client.call_tool(
            "execute_tool",
            {"tool": tool, "arguments": arguments, "route_id": answer["route_id"]},
            progress_callback=heard,  # a client that hears of progress waits for the decision of a person
        )
    if result.is_error:
        team.refused[name, str((result.structured_content or {}).get("error"))] += 1
    else:
        team.used[name, tool] += 1


class People:
    """Three people in browsers of their own."""

    def __init__(self, team: Team, browser: Browser) -> None:
        self.team, self.browser = team, browser
        self.pages: dict[str, Page] = {}

    async def sign_in(self) -> None:
        """Ann and Bea by their tokens, Cat at the provider."""
        for name in ("ann", "bea", "cat"):
            page = self.pages[name] = await (await self.browser.new_context()).new_page()
            page.set_default_timeout(MOST_S * 1000)
            await page.goto(self.team.url)
            if name == "cat":
                await page.get_by_role("link", name="localhost").click()
                await page.locator("input[name=sub]").fill("cat")
                await page.locator("button").first.click()
            else:
                await page.get_by_label("token").fill(self.team.tokens[name])
                await page.get_by_role("button", name="Sign in", exact=True).click()
            await expect(page.get_by_role("link", name="Decision")).to_be_visible(timeout=MOST_S * 1000)

    async def label(self, request: Asked) -> None:
        """Ann says that the tool was right for the question."""
        page = self.pages["ann"]
        await page.goto(f"{self.team.url}/?catalog=mine&q={quote(request[0])}")
        await page.get_by_role("button", name="right").first.click()
        await expect(page.get_by_text("Stored:")).to_be_visible(timeout=MOST_S * 1000)
        self.team.say("Ann labelled a tool")

    async def decide(self, *, approve: bool) -> None:
        """Bea decides the call that waits. Ann, who may not, has a disabled button."""
        await self.pages["ann"].goto(f"{self.team.url}/govern")
        await expect(self.pages["ann"].get_by_role("button", name="Approve").first).to_be_disabled(
            timeout=MOST_S * 1000
        )
        await self.pages["bea"].goto(f"{self.team.url}/govern")
        await self.pages["bea"].get_by_role("button", name="Approve" if approve else "Deny").first.click()
        self.team.say(f"Bea {'approved' if approve else 'denied'} Wren's call")


async def writes(team: Team, people: People, *, approve: bool) -> None:
    """Wren's call waits until Bea decides. If it waited longer than the request of an agent stays open, Wren calls again."""
    request = (*WRITES[:2], {"to": f"Lisbon, day {team.day}"})
    used_before = team.used["wren", request[1]]
    async with anyio.create_task_group() as group:
        group.start_soon(work, team, "wren", request)
        await people.decide(approve=approve)
    if approve and team.used["wren", request[1]] == used_before:
        await work(team, "wren", request)
    assert team.used["wren", request[1]] == used_before + approve


async def killed(team: Team, _: People) -> None:
    team.end(kill=True)
    await anyio.to_thread.run_sync(team.start)
    team.say("the console was killed and started again")


async def restored(team: Team, _: People) -> None:
    """A backup, a deleted store, and the store from the backup. Nothing is lost."""
    backup = team.folder / "wayfare.backup"
    await anyio.to_thread.run_sync(team.run, "backup", str(backup), "--force")
    team.end(kill=False)
    for file in team.folder.glob("wayfare.duckdb*"):
        file.unlink()
    await anyio.to_thread.run_sync(team.run, "restore", str(backup))
    await anyio.to_thread.run_sync(team.start)
    team.say("the store was deleted and restored from a backup")


async def more_calls(team: Team, people: People) -> None:
    """Cat gives Mole more calls on the page Govern."""
    page = people.pages["cat"]
    await page.goto(f"{team.url}/govern?view=Policy")
    await page.get_by_text("The whole policy as TOML").click()
    text = page.get_by_role("textbox", name="Policy")
    await expect(text).to_have_value(re.compile(f"calls = {FEW}"), timeout=MOST_S * 1000)
    await text.fill((await text.input_value()).replace(f"calls = {FEW}", f"calls = {MANY}"))
    await text.press("Control+Enter")
    await page.get_by_role("button", name="Apply").click()
    await expect(page.get_by_text("The policy is in force.")).to_be_visible(timeout=MOST_S * 1000)
    team.say("Cat gave Mole more calls")


Event = Callable[[Team, People], Awaitable[None]]
EVENTS: dict[int, Event] = {
    2: lambda team, people: people.label(team.cast.asked[0]),
    3: partial(writes, approve=True),
    6: killed,
    9: partial(writes, approve=False),
    15: more_calls,
    18: restored,
    21: partial(writes, approve=True),
    24: killed,
    27: lambda team, people: people.label(team.cast.asked[1]),
}


async def live(team: Team, days: int) -> None:
    """The month. The four agents work at the same time."""
    async with async_playwright() as playwright:
        people = People(
            team,
            await playwright.chromium.launch(
                executable_path=executable(os.environ, Path(playwright.chromium.executable_path)), args=FLAGS
            ),
        )
        await people.sign_in()
        for team.day in range(1, days + 1):
            began = time.monotonic()
            async with anyio.create_task_group() as group:
                for name in ("crab", "heron", "mole"):
                    for request in team.cast.asked:
                        group.start_soon(work, team, name, request)
                group.start_soon(work, team, "heron", WRITES)
            if event := EVENTS.get(team.day):
                await event(team, people)
            await anyio.sleep(max(0.0, team.day_s - (time.monotonic() - began)))


def main() -> None:
    """Lives through the month and checks the books at its end."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--days", type=int, default=30)
    words.add_argument("--day-s", type=float, default=8.0)
    arguments = words.parse_args()
    cat = User(sub="cat", claims={"email": "cat", "groups": ["wayfare-admins"]})
    with tempfile.TemporaryDirectory() as name, run_server_in_thread(user_claims=[cat]) as provider:
        team = Team(Path(name), arguments.day_s, f"http://localhost:{provider.server_port}")
        team.prepare()
        team.start()
        try:
            anyio.run(live, team, arguments.days)
        finally:
            print(f"calls {dict(team.used)}, refused {dict(team.refused)}; slowest command {team.slowest_s:.1f} s")
            team.end(kill=False)
        team.run("audit", "--export", str(team.folder / "log.jsonl"))
        records = [json.loads(line) for line in (team.folder / "log.jsonl").read_text().splitlines()]
        calls = Counter(
            (record["client"], f"{record['server']}::{record['tool']}")
            for kind, _, record in records
            if kind == "OutcomeEvent" and record["kind"] == "ok"
        )
        people = Counter((record["person"], record["action"]) for kind, _, record in records if kind == "PersonAction")
        print(f"people {dict(people)}; the log has the same calls: {calls == team.used}")
        assert calls == team.used, calls - team.used


if __name__ == "__main__":
    main()
