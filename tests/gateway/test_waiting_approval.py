"""A call that waits for a person: approved, denied or left alone while its request is open, and asked at the client itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client

from core.app import App
from core.domain.console import Owner, announced
from core.domain.errors import WayfareError
from core.domain.settings import Settings
from core.governance.approvals import Approval, Webhook
from core.governance.budgets import Budget
from core.governance.policy import ApprovalRules
from tests.gateway.conftest import ask, refused, served, stdio, talk
from tests.governance.conftest import policy

SECRET = "sk-abcdefghijklmnop"
ECHO = {"tool": "raw::echo", "arguments": {"note": SECRET}}


async def the_waiting(app: App) -> Approval:
    with anyio.fail_after(30):
        while not app.governance.waiting():
            await anyio.sleep(0.01)
    return app.governance.waiting()[0]


def test_a_decision_reaches_the_open_request(world: App, url: str) -> None:
    policy(world, approvals=ApprovalRules(writes=True, hold_s=60))

    async def script(client: Client) -> None:
        for approve in (True, False):
            log: list[str | None] = []

            async def progress(_: float, __: float | None, message: str | None, log: list[str | None] = log) -> None:
                log.append(message)

            async def decide(approve: bool = approve, log: list[str | None] = log) -> None:
                waiting = await the_waiting(world)
                with anyio.fail_after(30):
                    while not log:
                        await anyio.sleep(0.01)
                world.governance.decide(waiting.change.id, approve=approve, origin="test")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(decide)
                answer = await client.call_tool("execute_tool", ECHO, progress_callback=progress)
            result: Any = answer.structured_content
            assert answer.is_error is not approve
            assert result["ok"] is True if approve else result["error"] == "approval_denied"
            assert ("waits for a person" in str(log[0]), SECRET in str(log)) == (True, False)

    talk(url, script)


def test_when_the_time_is_over_the_agent_learns_what_to_do_and_a_retry_goes(
    world: App, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.gateway.execute.SHORT_HOLD_S", 0.3)  # for a client that hears no progress

    async def script(client: Client) -> None:
        for hold_s, words in ((0.2, "200 ms"), (300, "300 ms")):
            policy(world, approvals=ApprovalRules(writes=True, hold_s=hold_s))
            refusal = await refused(client, "execute_tool", **ECHO)
            waiting = await the_waiting(world)
            assert (refusal["error"], waiting.change.id in refusal["try"]) == ("approval_needed", True)
            assert refusal["try"].startswith(f"Nobody decided within {words}. Ask the operator")
            assert "call again with exactly the same arguments" in refusal["try"]
            world.governance.decide(waiting.change.id, approve=True, origin="test")
            assert SECRET in str(await ask(client, "execute_tool", **ECHO))  # the client gets what the tool gave
        policy(world, approvals=ApprovalRules(writes=True, wait_s=0.1))
        refusal = await refused(client, "execute_tool", **ECHO)  # the first number has expired
        assert refusal["try"].startswith("Nobody decided within 100 ms.")
        assert [*world.governance.approvals._last][-1] in refusal["try"]

    talk(url, script)


def test_a_waiting_call_of_a_client_that_is_revoked_is_not_made(world: App) -> None:
    policy(world, approvals=ApprovalRules(writes=True, hold_s=60))
    world.governance.clients.make("ann", origin="test")

    async def decide() -> None:
        waiting = await the_waiting(world)
        world.governance.clients.revoke("ann", origin="test")
        world.governance.decide(waiting.change.id, approve=True, origin="test")

    async def script(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(decide)
            refusal = await refused(client, "execute_tool", **ECHO)
        assert refusal["why"] == "The token of 'ann' was revoked or has expired."

    talk(served(world, client="ann"), script)


def test_a_client_that_leaves_makes_no_call_and_its_approval_stays(world: App, url: str) -> None:
    policy(world, approvals=ApprovalRules(writes=True, hold_s=60))

    async def request_is(held: bool) -> None:
        with anyio.fail_after(30):
            while bool(world.governance.approvals._watched) is not held:
                await anyio.sleep(0.01)

    async def script(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "execute_tool", ECHO)
            await request_is(held=True)
            waiting = await the_waiting(world)
            tasks.cancel_scope.cancel()
        await request_is(held=False)
        world.governance.decide(waiting.change.id, approve=True, origin="test")
        assert [approval.state for approval in world.governance.approvals.recent()] == ["approved"]
        await ask(client, "execute_tool", **ECHO)
        assert [approval.state for approval in world.governance.approvals.recent()] == ["used"]

    talk(url, script)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_person_at_the_client_decides_where_the_policy_lets_it(world: App, url: str, mode: str) -> None:
    messages: list[str] = []

    def talk_as(action: str, hold_s: float, **rules: Any) -> dict[str, Any]:
        async def elicited(_: Any, params: Any) -> mcp_types.ElicitResult:
            messages.append(params.message)
            return mcp_types.ElicitResult(action=action, content={} if action == "accept" else None)  # pyright: ignore[reportArgumentType]

        async def script(client: Client) -> Any:
            return (
                await client.call_tool("execute_tool", {"tool": "raw::echo", "arguments": {"n": action}})
            ).structured_content

        policy(world, approvals=ApprovalRules(writes=True, hold_s=hold_s, **rules))
        return talk(url, script, name="crab", mode=mode, elicitation_callback=elicited)

    assert talk_as("accept", 0.1)["error"] == "approval_needed"
    assert messages == []  # off by default
    assert talk_as("accept", 60, client_may_approve=True)["ok"] is True
    assert talk_as("decline", 60, client_may_approve=True)["error"] == "approval_denied"
    assert talk_as("cancel", 0.1, client_may_approve=True)["error"] == "approval_needed"
    assert ["raw::echo waits for a person" in message for message in messages] == [True] * 3
    at_once = talk_as("accept", 0, client_may_approve=True)  # an answer between two requests is there already
    assert "ok" in at_once if mode == "auto" else at_once["error"] == "approval_needed"
    messages.clear()
    policy(world, budgets=(Budget(calls=0, at_limit="ask"),))  # the limits of the operator are the operator's to lift
    assert talk_as("accept", 0.1, client_may_approve=True)["error"] == "approval_needed"
    assert messages == []
    deciders = {approval.decided for approval in world.governance.approvals.recent() if approval.decided}
    assert deciders == {"client:crab"}


def test_over_stdio_the_client_is_noted_at_its_list_and_its_person_is_asked(
    world: App, path: Path, url: str, encoder_cache: Path
) -> None:
    policy(world, approvals=ApprovalRules(writes=True, hold_s=60, client_may_approve=True))
    messages: list[str] = []

    async def elicited(_: Any, params: Any) -> mcp_types.ElicitResult:
        messages.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={})

    async def script(client: Client) -> None:
        await client.list_tools()
        with anyio.fail_after(30):
            while not world.governance.visits.all():
                await anyio.sleep(0.01)
        assert (await ask(client, "execute_tool", **ECHO))["ok"]

    with announced(path, Owner(url.removesuffix("/mcp"))):
        target = stdio(path, encoder_cache, "--catalog", "world")
        talk(target, script, name="crab", mode="legacy", elicitation_callback=elicited)
    assert [visit.name for visit in world.governance.visits.all()] == ["crab"]
    assert len(messages) == 1
    assert {approval.decided for approval in world.governance.approvals.recent()} == {"client:crab"}


@contextmanager
def listener(status: int = 200) -> Iterator[tuple[str, list[bytes]]]:
    """A receiver of webhooks: its address, and the bodies that arrived."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook/{SECRET}", bodies
        server.shutdown()


def test_a_webhook_gets_one_notice_without_arguments(world: App, url: str, caplog: pytest.LogCaptureFixture) -> None:
    policy(world, approvals=ApprovalRules(writes=True, hold_s=0))

    async def script(client: Client) -> None:
        for _ in range(2):  # the second finds the first still waiting
            call = {"tool": "raw::echo", "arguments": {"note": SECRET, "status": status}}
            assert (await refused(client, "execute_tool", **call))["error"] == "approval_needed"
        with anyio.fail_after(30):
            while not bodies or (status == 500 and not caplog.records):
                await anyio.sleep(0.01)

    for status in (200, 500):
        with listener(status) as (hook, bodies):
            world.governance.approvals.announce = Webhook(hook, "http://127.0.0.1:8501/govern")
            talk(url, script, name="crab")
        (notice,) = map(json.loads, bodies)
        number, page = world.governance.waiting()[-1].change.id, "http://127.0.0.1:8501/govern"
        assert {**notice, "text": ""} == {
            "text": "", "client": "crab", "tool": "raw::echo", "number": number, "address": page,
        }  # fmt: skip
        assert SECRET not in str(bodies) + caplog.text


def test_a_webhook_has_to_be_an_address_of_the_web() -> None:
    with pytest.raises(WayfareError, match="begins with http"):
        Settings.from_environment({"WAYFARE_NOTIFY_URL": f"file:///{SECRET}"})
    assert SECRET not in repr(Settings.from_environment({"WAYFARE_NOTIFY_URL": f"https://x.org/{SECRET}"}))
