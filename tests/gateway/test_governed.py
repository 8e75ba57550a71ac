"""What comes through `/mcp` is governed: budgets, rates, cleaned results, and checks before a job, over real servers."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import CallToolResult

from core.app import App
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.domain.tools import count_tokens
from core.gateway.base import text_block
from core.governance.budgets import Budget
from core.governance.policy import ApprovalRules, Sanitise, Scope
from core.governance.refusals import ApprovalNeededError
from core.governance.status import budgets
from core.routers.ehrr import EhrrParameters
from tests.callers import RecordingCaller
from tests.gateway.conftest import ask, refused, served, status, talk, with_token
from tests.governance.conftest import policy, wanted
from tests.governance.conftest import refused as refusal
from tests.governance.test_sanitising import SECRETS
from tests.world import NOON


def test_budgets_are_settled_and_a_spent_one_says_when_it_goes_on(world: App, url: str) -> None:
    policy(world, budgets=(Budget(calls=2, tokens=5_000),))

    async def script(client: Client) -> None:
        await ask(client, "execute_tool", tool="raw::echo", arguments={"a": 1})
        await refused(client, "execute_tool", tool="mail::send")  # no connection: still a call
        denied = await refused(client, "execute_tool", tool="raw::echo")
        assert (denied["error"], "00:00 UTC" in denied["try"]) == ("budget_spent", True)

    talk(url, script, name="crab")
    calls, tokens = budgets(world.governance, world.settings.now)
    assert (calls.client, calls.used, calls.reserved, calls.left) == ("anonymous", 2, 0, 0)
    assert 0 < tokens.used < 30


def test_an_error_counts_as_far_as_the_client_gets_it(world: App, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = "problem " * 20_000

    class Failing(RecordingCaller):
        def answer(self, call: ToolCall, report: Any, cancel: Any) -> Outcome:
            result = CallToolResult(content=[text_block(problem)], is_error=True)
            return Outcome(call, OutcomeKind.TOOL_ERROR, NOON, 0.1, error=problem, original=result)

    async def script(client: Client) -> None:
        assert len((await refused(client, "execute_tool", tool="raw::echo"))["why"]) == 4_000

    monkeypatch.setattr(world.calls, "caller", Failing)
    policy(world, budgets=(Budget(tokens=50_000),))
    talk(url, script)
    (tokens,) = budgets(world.governance, world.settings.now)
    assert tokens.used == count_tokens(problem[:4_000])


def test_a_client_that_goes_away_gives_back_what_was_reserved(world: App, url: str) -> None:
    policy(world, budgets=(Budget(usd=1.0, tokens=50_000),))

    async def script(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "execute_tool", {"tool": "raw::stall"})
            while not any(budget.reserved for budget in budgets(world.governance, world.settings.now)):
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    talk(url, script, name="impatient")
    world.calls.wait(20)
    usd, tokens = budgets(world.governance, world.settings.now)
    assert (usd.reserved, usd.used, tokens.reserved, tokens.used) == (0, 0, 0, 0)


def test_a_budget_is_charged_by_the_operators_settlement_and_not_by_a_knob_of_the_address(world: App, url: str) -> None:
    world.agent_knobs.put("ehrr", EhrrParameters(settlement="ask"))
    policy(world, budgets=(Budget(usd=1.0),))

    async def script(client: Client) -> None:
        search = await ask(client, "search_tools", task="echo words")
        prices.append(next(tool["price_usd"] for tool in search["candidates"] if tool["tool"] == "raw::echo"))
        await ask(client, "execute_tool", tool="raw::echo", arguments={"a": 1}, route_id=search["route_id"])

    prices, used = list[float](), list[float]()
    for address in (url, f"{url}?set=k=5", f"{url}?set=settlement=ask"):
        talk(address, script)
        used.append(round(budgets(world.governance, world.settings.now)[0].used, 6))
    assert (prices, used) == ([0.001, 0.002, 0.002], [0.001, 0.003, 0.005])


def test_both_kinds_of_client_go_on_after_429(world: App, url: str) -> None:
    async def script(client: Client, token: str) -> None:
        await ask(client, "execute_tool", tool="raw::echo")
        denied = await refused(client, "execute_tool", tool="raw::echo")
        assert (denied["error"], "Go on in" in denied["try"]) == ("rate_limited", True)
        code, answered = 200, 0
        while code == 200:
            code, headers = status(url, Authorization=f"Bearer {token}")
            answered += 1
        assert (code, answered > 15) == (429, True)
        assert 0 < int(headers["Retry-After"]) <= 12
        with pytest.raises(MCPError, match="Too many requests of this client: go on in"):
            await client.call_tool("execute_tool", {"tool": "raw::echo"})
        policy(world, per_minute=0.0)
        await ask(client, "execute_tool", tool="raw::echo")

    for name, mode in (("ann", "auto"), ("bob", "legacy")):
        token = world.governance.clients.make(name, origin="test")
        policy(world, per_minute=1.0)
        talk(with_token(url, token), partial(script, token=token), mode=mode)
    world.store.events.flush()
    refusals = world.store.activity.refused()
    assert list(refusals["client"]) == ["bob", "bob", "ann", "ann"]
    assert ["HTTP requests a minute" in why for why in refusals["why"]] == [True, False] * 2


def test_without_a_token_nobody_is_told_429(world: App, url: str) -> None:
    policy(world, per_minute=1.0)
    assert {status(url)[0] for _ in range(35)} == {200}


SECRET = SECRETS["an API key"]


def test_an_agent_and_the_log_get_no_secret(world: App) -> None:
    policy(world, sanitise=(Sanitise(secrets="remove"),))

    async def script(client: Client) -> None:
        answer = await ask(client, "execute_tool", tool="raw::echo", arguments={"a": SECRET, "b": 1})
        assert "1 x an API key in part 1, removed" in answer["result"]
        assert (SECRET in str(answer), "[removed: an API key]" in str(answer)) == (False, True)

    talk(served(world), script)
    world.store.events.flush()
    (call,) = world.store.activity.calls().to_dict("records")
    assert (call["kind"], "1 x an API key in part 1, removed" in call["error"]) == ("ok", True)
    assert SECRET not in str(world.store.tables())


TOOLS = ["raw::echo", "raw::crash", "files::read", "mail::send", "raw::nope"]


def test_a_job_is_checked_for_its_client_as_a_whole(world: App) -> None:
    world.governance.clients.make("ann", Scope(servers=("raw", "files")), origin="test")
    policy(world, budgets=(Budget(client="ann", usd=0.003),))

    async def script(client: Client) -> list[dict[str, object]]:
        return (await ask(client, "describe_tool", tools=TOOLS, check=True))["tools"]

    echo, crash, read, send, nope = talk(served(world, client="ann"), script)
    assert echo == {"tool": "raw::echo", "ok": True, "price_usd": 0.002, "why": ""}
    assert (crash["ok"], "$0.001 of $0.003 are left" in crash["why"]) == (False, True)  # after the call of echo
    assert (read["ok"], "no command and no address" in read["why"]) == (False, True)
    assert (send["ok"], "outside its scope" in send["why"]) == (False, True)
    assert (nope["ok"], "no tool 'raw::nope'" in nope["why"]) == (False, True)
    assert world.store.activity.calls().empty


def test_a_dry_run_meets_what_the_call_would_and_calls_nothing(world: App) -> None:
    async def script(client: Client) -> None:
        dry = {"tool": "raw::echo", "arguments": {"a": 1}, "dry_run": True}
        free = await ask(client, "execute_tool", **dry)
        assert (free["ok"], free["outcome"], free["price_usd"]) == (True, "dry_run", 0.002)
        policy(world, approvals=ApprovalRules(writes=True))
        held = await ask(client, "execute_tool", **dry)
        assert (held["ok"], "A person has to approve it: it may write" in held["result"]) == (False, True)
        assert not world.governance.waiting()
        unknown = await refused(client, "execute_tool", tool="raw::nope", dry_run=True)
        assert unknown["error"] == "unknown_tool"

    talk(served(world, fallback=True), script)
    assert world.store.activity.calls().empty


def test_an_approved_call_is_free_to_go(world: App) -> None:
    policy(world, approvals=ApprovalRules(writes=True))
    call = wanted(world, client="tests", a=1)
    assert world.governance.outlook(call).reasons
    number = cast(ApprovalNeededError, refusal(world, call)).number
    world.governance.decide(number, approve=True, origin="test")
    assert world.governance.outlook(call).reasons == ()
    assert world.governance.outlook(wanted(world, client="tests", a=2)).reasons
