"""A client over its rate: an error that the agent reads, and beyond it status 429, after which the same session goes on."""

from __future__ import annotations

from functools import partial

import pytest
from mcp import Client, MCPError

from core.app import App
from tests.gateway.conftest import ask, refused, status, talk, with_token
from tests.governance.conftest import policy


def test_both_kinds_of_client_go_on_after_429(world: App, url: str) -> None:
    async def script(client: Client, token: str) -> None:
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
