"""An agent gets cleaned results and a note; the log keeps what was cut, and never the secret."""

from __future__ import annotations

from mcp import Client

from core.app import App
from core.governance.policy import Sanitise
from tests.gateway.conftest import ask, served, talk
from tests.governance.conftest import policy
from tests.governance.test_sanitising import SECRETS

SECRET = SECRETS["an API key"]


def test_an_agent_and_the_log_get_no_secret(world: App) -> None:
    policy(world, sanitise=(Sanitise(secrets="remove"),))

    async def script(client: Client) -> None:
        made = await ask(client, "execute_tool", tool="raw::echo", arguments={"a": SECRET, "b": 1})
        assert "1 x an API key in part 1, removed" in made["result"]
        assert (SECRET in str(made), "[removed: an API key]" in str(made)) == (False, True)

    talk(served(world), script)
    world.store.events.flush()
    (call,) = world.store.activity.calls().to_dict("records")
    assert (call["kind"], "1 x an API key in part 1, removed" in call["error"]) == ("ok", True)
    assert SECRET not in str(world.store.tables())
