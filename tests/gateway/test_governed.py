"""What comes through `/mcp` is governed: budgets over real HTTP with a real server process."""

from __future__ import annotations

import anyio
from mcp import Client

from core.app import App
from core.governance.budgets import Budget
from core.governance.status import budgets
from core.routers.ehrr import EhrrParameters
from tests.gateway.conftest import ask, refused, talk
from tests.governance.conftest import policy


def test_budgets_are_settled_and_a_spent_one_says_when_it_goes_on(world: App, url: str) -> None:
    policy(world, budgets=(Budget(calls=2, tokens=5_000),))

    async def script(client: Client) -> None:
        await ask(client, "execute_tool", tool="raw::echo", arguments={"a": 1})
        await refused(client, "execute_tool", tool="mail::send")  # no connection: still a call
        said = await refused(client, "execute_tool", tool="raw::echo")
        assert (said["error"], "00:00 UTC" in said["try"]) == ("budget_spent", True)

    talk(url, script, name="crab")
    calls, tokens = budgets(world.governance, world.settings.now)
    assert (calls.client, calls.used, calls.reserved, calls.left) == ("anonymous", 2, 0, 0)
    assert 0 < tokens.used < 30


def test_a_client_that_goes_away_gives_back_what_was_reserved(world: App, url: str) -> None:
    policy(world, budgets=(Budget(usd=1.0, tokens=50_000),))

    async def script(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "execute_tool", {"tool": "raw::stall"})
            while not any(one.reserved for one in budgets(world.governance, world.settings.now)):
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
        found = await ask(client, "search_tools", task="echo words")
        prices.append(next(one["price_usd"] for one in found["candidates"] if one["tool"] == "raw::echo"))
        await ask(client, "execute_tool", tool="raw::echo", arguments={"a": 1}, route_id=found["route_id"])

    prices, used = list[float](), list[float]()
    for address in (url, f"{url}?set=k=5", f"{url}?set=settlement=ask"):
        talk(address, script)
        used.append(round(budgets(world.governance, world.settings.now)[0].used, 6))
    assert (prices, used) == ([0.001, 0.002, 0.002], [0.001, 0.003, 0.005])
