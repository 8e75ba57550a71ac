"""What servers send a mirror's client while it waits: log messages and questions, between both revisions of the protocol."""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types
import pytest
from mcp import Client

from core.app import App
from core.governance.policy import ApprovalRules
from tests.gateway.conftest import ROOT, served, talk
from tests.gateway.test_mirrored_parts import STDIO, world_of
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import spending

ASKING = {"type": "stdio", "command": "${python}", "args": ["-m", "tests.gateway.asking_server"], "cwd": str(ROOT)}


async def elicited(_: Any, params: Any) -> mcp_types.ElicitResult:
    return mcp_types.ElicitResult(action="accept", content={"name": "Ann", "to": params.message})


async def sampled(_: Any, __: Any) -> mcp_types.CreateMessageResult:
    content = mcp_types.TextContent(type="text", text="Paris")
    return mcp_types.CreateMessageResult(role="assistant", content=content, model="tests")


async def rooted(_: Any) -> mcp_types.ListRootsResult:
    return mcp_types.ListRootsResult(roots=[mcp_types.Root.model_validate({"uri": "file:///root"})])


ANSWERING = {"elicitation_callback": elicited, "sampling_callback": sampled, "list_roots_callback": rooted}


def asking(app: App) -> App:
    """A catalog with the server that is written by hand."""
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("who", "late")]
    servers = [{"name": "asking", "tools": tools, "connection": ASKING}]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")
    return app


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_questions_of_a_server_are_answered_by_the_client_that_called(app: App, mode: str) -> None:
    async def script(client: Any) -> list[str]:
        names = ("multiple_inputs", "multi_round", "request_state", "capabilities")
        results = [await client.call_tool(f"test_input_required_result_{name}", {}) for name in names]
        prompt = await client.get_prompt("test_input_required_result_prompt")
        assert prompt.messages
        return [result.content[0].text for result in results]

    target = served(world_of(app, one=STDIO), mirror=("one",))
    policy(app, approvals=ApprovalRules(writes=True, hold_s=60, client_may_approve=True))
    texts = talk(target, script, mode=mode, **ANSWERING)
    app.calls.wait(10)
    app.store.events.flush()
    spent = [row for row in spending(app.store) if not row.tool.startswith("prompts/")]
    assert [outcome.kind for outcome in app.store.events.outcomes("world")] == ["ok"] * 4  # however often it was asked
    assert [approval.state for approval in app.governance.approvals.recent()] == ["used"] * 4
    assert sum(row.usd for row in spent) == pytest.approx(0.004)
    assert sum(row.calls for row in spent) == (4 if mode == "legacy" else 9)  # a round of questions counts, too
    assert all(text.startswith("state-ok") for text in texts)
    assert "Paris" in texts[0]
    assert "file:///root" in texts[0]

    async def unanswered(client: Client) -> None:
        result = await client.call_tool("test_elicitation", {})
        assert result.is_error

    if mode == "legacy":
        talk(target, unanswered, mode=mode)


def test_a_server_that_asks_in_the_midst_of_a_call_is_answered_one_call_at_a_time(app: App) -> None:
    async def script(client: Any) -> list[Any]:
        answers: list[Any] = []

        async def one() -> None:
            answers.append(json.loads((await client.call_tool("who", {})).content[0].text))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(one)
        return answers

    target = served(asking(app), mirror=("asking",))
    expected = {"action": "accept", "content": {"name": "Ann", "to": "Who is it?"}}
    assert (
        talk(target, script, mode="legacy", elicitation_callback=elicited)
        == [{"able": ["elicitation"], "said": expected}] * 3
    )
    assert [answer["able"] for answer in talk(target, script, mode="legacy")] == [[]] * 3
    assert "error" in talk(target, script, elicitation_callback=elicited)[0]["said"]


def test_log_messages_reach_the_client_that_called_at_the_level_it_set(app: App) -> None:
    world = asking(app)
    for mode in ("legacy", "auto"):
        heard: list[Any] = []

        async def logged(params: mcp_types.LoggingMessageNotificationParams, heard: list[Any] = heard) -> None:
            heard.append(params.data)

        async def script(client: Client, mode: str = mode, heard: list[Any] = heard) -> None:
            if mode == "legacy":
                level = mcp_types.SetLevelRequest(params=mcp_types.SetLevelRequestParams(level="warning"))
                await client.session.send_request(level, mcp_types.EmptyResult)
            async with anyio.create_task_group() as tasks:  # all of one client
                for _ in range(3):
                    tasks.start_soon(client.call_tool, "who", {})
            assert heard == ["warning of who"] * 3
            await client.call_tool("late", {})
            if mode == "legacy":  # others have no stream for it
                with anyio.fail_after(30):
                    while "warning after the call" not in heard:
                        await anyio.sleep(0.01)

        opted_in = {} if mode == "legacy" else {"log_level": "warning"}
        talk(served(world, mirror=("asking",)), script, mode=mode, logging_callback=logged, **opted_in)


def test_the_time_that_a_client_takes_to_answer_is_not_the_servers(app: App) -> None:
    async def after_a_while(_: Any, params: Any) -> mcp_types.ElicitResult:
        await anyio.sleep(0.5)
        return await elicited(_, params)

    async def never(_: Any, __: Any) -> mcp_types.ElicitResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def script(client: Client) -> None:
        await client.call_tool("who", {})

    target = served(asking(app), mirror=("asking",), timeout_s=1)
    for answering in (after_a_while, never):
        talk(target, script, mode="legacy", elicitation_callback=answering)
    app.calls.wait(10)
    app.store.events.flush()
    answered, unanswered = app.store.events.outcomes("world")
    assert (answered.kind, unanswered.kind) == ("ok", "cancelled")
    assert answered.latency_s < 0.5
