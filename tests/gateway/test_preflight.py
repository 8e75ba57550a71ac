"""Agents ask before a job whether its tools can be called, and before a call what it would meet. Nothing is called."""

from __future__ import annotations

from typing import cast

from mcp import Client

from core.app import App
from core.governance.budgets import Budget
from core.governance.policy import ApprovalRules, Scope
from core.governance.refusals import ApprovalNeededError
from tests.gateway.conftest import ask, refused, served, talk
from tests.governance.conftest import policy, wanted
from tests.governance.conftest import refused as refusal

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
