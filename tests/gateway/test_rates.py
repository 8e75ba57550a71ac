"""A client over its rate: an error that the agent reads, and beyond it status 429, after which the same session goes on."""

from __future__ import annotations

import pytest
from mcp import Client, MCPError

from core.app import App
from tests.gateway.conftest import ask, refused, status, talk, with_token
from tests.governance.conftest import policy


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_both_kinds_of_client_go_on_after_429(world: App, url: str, mode: str) -> None:
    token = world.governance.clients.make("ann", origin="test")
    policy(world, per_minute=1.0)

    async def script(client: Client) -> None:
        await ask(client, "execute_tool", tool="raw::echo")
        said = await refused(client, "execute_tool", tool="raw::echo")
        assert (said["error"], "Go on in" in said["try"]) == ("rate_limited", True)
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

    talk(with_token(url, token), script, mode=mode)
    world.store.events.flush()
    refusals = world.store.activity.refused()
    assert set(refusals["client"]) == {"ann"}
    assert ["HTTP requests a minute" in why for why in refusals["why"]] == [True, False]


def test_without_a_token_nobody_is_told_429(world: App, url: str) -> None:
    policy(world, per_minute=1.0)
    assert {status(url)[0] for _ in range(35)} == {200}
