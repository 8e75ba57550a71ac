"""Fallback over real servers: what answers in the place of a tool that is down, what does not, and what is recorded of it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitResult

from core.app import App
from core.domain.errors import Refusal
from core.domain.execution import Progress
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.gateway.base import Answer, EndpointOptions, Request, Services
from core.gateway.execute import execute_tool
from core.gateway.report import answered_instead
from core.gateway.search import search
from core.governance.budgets import Budget
from core.governance.policy import ApprovalRules
from tests.cases import each
from tests.gateway.conftest import ask, refused, served, talk
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import RAW

WORDS = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}
READS = {"readOnlyHint": True}


def server(name: str, command: str, tool: str, **fields: Any) -> dict[str, Any]:
    """A server with one tool that takes words."""
    tools = [{"name": tool, "description": "Echo words back.", "price_usd": 0.001, "success": 0.9, "latency_s": 0.5,
              "inputSchema": WORDS, "annotations": READS, **fields}]  # fmt: skip
    connection = {"type": "stdio", "command": command, "args": ["-S", RAW]}
    return {"name": name, "description": "Echo words.", "tools": tools, "connection": connection}


@pytest.fixture
def world(app: App) -> App:
    """Four servers for the same sub-task: one that cannot be started, one that writes, one that asks for more, one that works."""
    servers = [
        server("gone", "/nowhere/at-all", "echo"),
        server("writer", "${python}", "echo", annotations={}),
        server("strict", "${python}", "echo", inputSchema={**WORDS, "required": ["words", "more"]}),
        server("works", "${python}", "echo"),
    ]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")
    policy(app, lint_errors="last")  # one tool asks for more than it declares
    return app


async def searched(client: Client) -> str:
    search = await ask(client, "search_tools", task="Echo words.", n=20)
    assert {candidate["tool"] for candidate in search["candidates"]} == {
        f"{n}::echo" for n in ("gone", "writer", "strict", "works")
    }
    return search["route_id"]


OPTIONS = {"router": "rag_mcp", "fallback": True}


def test_the_next_candidate_that_only_reads_answers_and_is_said_to(world: App) -> None:
    async def script(client: Client) -> str:
        route = await searched(client)
        call = {"tool": "gone::echo", "arguments": {"words": "hello"}, "route_id": route}
        result = await client.call_tool("execute_tool", call)
        answer = result.structured_content
        assert (answer["tool"], answer["ok"]) == ("works::echo", True)
        assert "hello" in answer["result"]
        assert [(row["tool"], row["error"]) for row in answer["fallback"]] == [("gone::echo", "server_down")]
        assert result.content[0].text.startswith("[works::echo answered, with the same arguments, because gone::echo")
        return route

    route = talk(served(world, **OPTIONS), script)
    world.store.events.flush()
    calls = world.store.activity.decision_outcomes(route)
    assert sorted((call.server, call.kind) for call in calls) == [("gone", "not_connected"), ("works", "ok")]


@each(
    ("options", "given"),
    [
        ({"router": "rag_mcp"}, {"tool": "gone::echo"}),
        (OPTIONS, {"tool": "gone::echo", "route_id": ""}),
        (OPTIONS, {"tool": "gone::echo", "arguments": {"words": "hello", "more": "x"}}),
    ],
    ids=["not allowed", "without a search", "no other takes the arguments"],
)
def test_no_fallback(world: App, options: dict[str, Any], given: dict[str, Any]) -> None:
    async def script(client: Client) -> None:
        call = {"arguments": {"words": "hello"}, "route_id": await searched(client), **given}
        call = {name: value for name, value in call.items() if value}
        assert (await refused(client, "execute_tool", **call))["error"] == "server_down"

    world.store.events.flush()
    call_count = world.store.activity.call_count()
    talk(served(world, **options), script)
    world.store.events.flush()
    assert world.store.activity.call_count() == call_count + 1


def test_a_tool_that_may_write_has_no_fallback(app: App) -> None:
    servers = [server("gone", "/nowhere/at-all", "echo", annotations={}), server("works", "${python}", "echo")]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")

    async def script(client: Client) -> None:
        route = (await ask(client, "search_tools", task="Echo words.", n=20))["route_id"]
        call = {"tool": "gone::echo", "arguments": {"words": "x"}, "route_id": route}
        assert (await refused(client, "execute_tool", **call))["error"] == "server_down"

    talk(served(app, **OPTIONS), script)
    app.store.events.flush()
    assert app.store.activity.call_count() == 1


def test_governance_decides_on_each_try(world: App) -> None:
    policy(world, budgets=(Budget(server="works", calls=0),))

    async def script(client: Client) -> None:
        route = (await ask(client, "search_tools", task="Echo words.", n=20))["route_id"]
        call = {"tool": "gone::echo", "arguments": {"words": "x"}, "route_id": route}
        refusal = await refused(client, "execute_tool", **call)
        assert refusal["error"] == "server_down"
        assert "Tried in its place: works::echo (budget_spent: " in refusal["why"]
        assert "::" not in refusal["try"]
        policy(world, deny=("works::*",))
        assert "works" not in json.dumps(await refused(client, "execute_tool", **call))

    talk(served(world, **OPTIONS), script)


def test_no_other_tool_answers_while_the_person_at_the_client_is_asked(app: App) -> None:
    servers = [
        server("gone", "/nowhere/at-all", "echo"),
        server("dear", "${python}", "echo", price_usd=0.5),
        server("works", "${python}", "echo", description="Echo a text."),
    ]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "world")
    policy(app, approvals=ApprovalRules(above_usd=0.1, client_may_approve=True))

    async def elicited(_: Any, __: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={})

    async def script(client: Client) -> None:
        search = await ask(client, "search_tools", task="Echo words back.", n=3)
        assert [row["tool"] for row in search["candidates"]] == ["gone::echo", "dear::echo", "works::echo"]
        call = {"tool": "gone::echo", "arguments": {"words": "x"}, "route_id": search["route_id"]}
        assert (await ask(client, "execute_tool", **call))["tool"] == "dear::echo"

    talk(served(app, **OPTIONS), script, elicitation_callback=elicited)
    app.store.events.flush()
    assert set(app.store.activity.calls()["server"]) == {"gone", "dear"}


def test_the_progress_of_the_next_try_counts_on(world: App) -> None:
    told, tries = list[tuple[float, float | None]](), list[str]()

    async def progress(done: float, total: float | None = None, _: str | None = None) -> None:
        told.append((done, total))

    def call(call: ToolCall, *_: Any, on_progress: Any, **__: Any) -> Outcome:
        for done in (1, 3, 2):
            on_progress(Progress(done, 4, ""))
        tries.append(call.server)
        kind = OutcomeKind.OK if tries[1:] else OutcomeKind.TIMEOUT
        return Outcome(call, kind, datetime.now(UTC), 0.1)

    world.calls.caller = lambda: SimpleNamespace(call=call)
    search = talk(served(world, **OPTIONS), lambda client: ask(client, "search_tools", task="Echo words.", n=20))
    arguments = {"tool": "gone::echo", "arguments": {"words": "x"}, "route_id": search["route_id"]}
    options = EndpointOptions(catalog="world", **OPTIONS)
    request = Request("execute_tool", arguments, progress=progress, client="tests", options=options)
    with suppress(Refusal):  # the answer of the second try is empty
        asyncio.run(execute_tool(Services(world), request, read_only=True))
    assert tries == ["gone", "works"]
    assert told == [(1, 4), (3, 4), (3, 4), (4, 7), (6, 7), (6, 7)]


def test_a_mirrored_call_stays_with_its_tool(world: App) -> None:
    async def execute(_: Request) -> Answer:
        raise AssertionError("the result of another tool need not fit the schema of this one")

    options = EndpointOptions(catalog="world", **OPTIONS)
    request = Request("search_tools", {"task": "Echo words.", "n": 20}, options=options)
    call = {"tool": "gone::echo", "arguments": {"words": "x"}, "route_id": search(world, request)["route_id"]}
    mirrored = replace(request, arguments=call, mirrored=True)
    with pytest.raises(Refusal):
        asyncio.run(answered_instead(Services(world), mirrored, Refusal("server_down", "", ""), execute))
