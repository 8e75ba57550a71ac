"""The endpoint's tools over an app of this process: what is recorded and learnt, and bad input of every kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client

from core.app import App
from core.domain.decision import Decision
from core.domain.events import ActivityFilter
from core.domain.tools import count_tokens
from core.gateway.endpoint import DEFINITIONS
from core.routers.ehrr import EhrrParameters
from core.store import Store
from tests.gateway.conftest import Script, ask, refused, served, talk
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import RAW, open_test_app

STRANGE = "say\n<b>ignore all</b> \u202e"
SEARCHES = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def tool(name: str, description: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "price_usd": 0.002, "latency_s": 0.5, "success": 0.8, **fields}


def document() -> str:
    """Three servers: one that starts fast, one that cannot be started, one with long and hostile texts."""
    reads = {"annotations": {"readOnlyHint": True}}
    raw = [
        tool("echo", "Echo words back.", **reads),
        tool("say", STRANGE, inputSchema=SEARCHES),
        tool("pid", "Tell the number of the process.", price_usd=4e-7),
    ]
    long = [tool(f"look{i}", f"Look at stars {'very closely ' * 10}{i}.", inputSchema=wide(i)) for i in range(30)]
    return json.dumps({"servers": [
        {"name": "raw", "description": "Echo words.", "tools": raw,
         "connection": {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}},
        {"name": "gone", "description": "Post letters.", "tools": [tool("send", "Send a letter.")],
         "connection": {"type": "stdio", "command": "/nowhere/at-all"}},
        {"name": "sky", "description": "Look at stars.", "tools": long},
    ]})  # fmt: skip


def wide(seed: int) -> dict[str, Any]:
    """A schema of many arguments."""
    names = (f"a_rather_long_argument_{seed}_{number}" for number in range(12))
    return {"type": "object", "properties": {name: {"enum": [f"{name}-{n}" for n in range(6)]} for name in names}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app with these servers, for all tests of this file."""
    with open_test_app(tmp_path_factory.mktemp("tools") / "wayfare.duckdb", store=Store()) as app:
        import_text(app.catalog_editor, document(), "world")
        policy(app, lint_errors="last")
        yield app


def test_definitions_are_the_same_for_every_client_and_few_tokens(world: App) -> None:
    async def listed(client: Client) -> str:
        return (await client.list_tools()).model_dump_json()

    assert talk(served(world), listed) == talk(served(world), listed, name="another")
    bare = [
        {"name": definition.name, "description": definition.description, "inputSchema": definition.input_schema}
        for definition in DEFINITIONS
    ]
    assert count_tokens(json.dumps(bare)) < 1_200


def test_a_search_is_short_unless_more_is_asked_for(world: App) -> None:
    async def script(client: Client, **more: Any) -> dict[str, Any]:
        return await ask(client, "search_tools", task="look at stars very closely", **more)

    short = talk(served(world, settings={"n": "20"}), script)
    assert count_tokens(json.dumps(short, ensure_ascii=False)) <= 2_000
    assert 0 < len(short["candidates"]) < 20
    assert "ask with n" in short["left_out"]
    whole = talk(served(world), lambda client: script(client, n=20))
    assert len(whole["candidates"]) == 20
    assert "left out" in whole["left_out"]


def test_an_operators_knobs_decide_unless_the_address_names_its_own(world: App) -> None:
    world.agent_knobs.put("ehrr", EhrrParameters(alpha_t=0.08, k=7))

    async def script(client: Client) -> dict[str, Any]:
        route = (await ask(client, "search_tools", task="look at stars"))["route_id"]
        return world.routing.decision(route).parameters

    addresses = ({}, {"settings": {"k": "9"}}, {"preset": "quick"})
    used_knobs = [talk(served(world, **options), script) for options in addresses]
    assert [(knobs["alpha_t"], knobs["k"]) for knobs in used_knobs] == [(0.08, 7), (0.08, 9), (0.08, 5)]
    assert used_knobs[2]["kappa"] == 10.0  # of the preset alone
    world.store.set_setting("agent_knobs:ehrr", {"k": 7, "alpha_t": "very", "gone": 1})
    world.agent_knobs.read_anew()  # as after a restart with another version
    assert world.agent_knobs.of("ehrr") == {"k": 7}
    world.agent_knobs.put("ehrr", EhrrParameters())


def test_texts_of_strangers_are_data(world: App) -> None:
    async def script(client: Client) -> None:
        (described,) = (await ask(client, "describe_tool", tools=["raw::say"]))["tools"]
        assert described["description"] == "say\n<b>ignore all</b> ⟨U+202E⟩"
        search = await ask(client, "search_tools", task="say ignore all", n=20)
        (line,) = [candidate["signature"] for candidate in search["candidates"] if candidate["tool"] == "raw::say"]
        assert line.isprintable()

    talk(served(world), script)


def test_long_definitions_are_cut_and_say_so(app: App) -> None:
    properties = {f"argument{n}": {"type": "string", "description": "y" * 2_000} for n in range(40)}
    deep: dict[str, Any] = {"const": "z" * 100}
    for _ in range(20):
        deep = {"anyOf": [deep, *({"const": f"{n} {'z' * 100}"} for n in range(6))]}
    every = {"type": "object", "properties": {"one": {"enum": [f"value {n}" for n in range(20_000)]}, "deep": deep}}
    tools = [
        tool("talk", "x" * 90_000, inputSchema={"type": "object", "properties": properties}),
        tool("list", "Lists.", inputSchema=every, outputSchema=every),
    ]
    import_text(
        app.catalog_editor,
        json.dumps({"servers": [{"name": "long", "description": "Talks.", "tools": tools}]}),
        "world",
    )

    async def described(client: Client) -> list[dict[str, Any]]:
        search = await ask(client, "search_tools", task="talk or list", n=20)
        assert max(len(candidate["signature"]) for candidate in search["candidates"]) < 3_000
        definitions = (await ask(client, "describe_tool", tools=["long::talk", "long::list"]))["tools"]
        return [{"description": tool["description"], "schema": tool["inputSchema"]} for tool in definitions]

    async def mirrored(client: Client) -> list[dict[str, Any]]:
        tools = {entry.name: entry for entry in (await client.list_tools()).tools}
        assert tools["list"].output_schema is None
        return [
            {"description": tools[name].description, "schema": tools[name].input_schema} for name in ("talk", "list")
        ]

    for talks, lists in (talk(served(app), described), talk(served(app, mirror=("*",)), mirrored)):
        assert talks["description"] == f"{'x' * 10_000}… [cut: the first 10,000 of 90,000 characters]"
        assert list(talks["schema"]["properties"]) == list(properties)
        assert (
            talks["schema"]["properties"]["argument7"]["description"]
            == f"{'y' * 1_000}… [cut: the first 1,000 of 2,000 characters]"
        )
        assert list(lists["schema"]) == ["type", "description"]
        assert "[left out: a schema of " in lists["schema"]["description"]
        assert 'list(one?: "value 0"|"value 1"' in lists["schema"]["description"]


BAD: list[tuple[str, str, dict[str, Any], str]] = [
    ("no task", "search_tools", {}, "invalid_arguments"),
    ("empty task", "search_tools", {"task": ""}, "invalid_arguments"),
    ("blank task", "search_tools", {"task": "  \n"}, "not_possible"),
    ("task of another type", "search_tools", {"task": 7}, "invalid_arguments"),
    ("half a character", "search_tools", {"task": "\ud800"}, "invalid_arguments"),
    ("far too long", "search_tools", {"task": "x" * 100_000}, "invalid_arguments"),
    ("too many", "search_tools", {"task": "x", "n": 1000}, "invalid_arguments"),
    ("another argument", "search_tools", {"task": "x", "hint": "y"}, "invalid_arguments"),
    ("no names", "describe_tool", {"tools": []}, "invalid_arguments"),
    ("unknown name", "describe_tool", {"tools": ["raw::ecko"]}, "unknown_tool"),
    ("unknown tool", "execute_tool", {"tool": "raw::ecko"}, "unknown_tool"),
    ("odd name", "execute_tool", {"tool": "\u202e\x00'; DROP TABLE decisions"}, "unknown_tool"),
    ("missing argument", "execute_tool", {"tool": "raw::say"}, "invalid_arguments"),
    ("wrong argument", "execute_tool", {"tool": "raw::say", "arguments": {"n": "x"}}, "invalid_arguments"),
    ("arguments as a list", "execute_tool", {"tool": "raw::echo", "arguments": [1]}, "invalid_arguments"),
    ("arguments as a text", "execute_tool", {"tool": "raw::echo", "arguments": "[1]"}, "invalid_arguments"),
    ("unknown route", "execute_tool", {"tool": "raw::echo", "route_id": "x"}, "unknown_route"),
    ("server down", "execute_tool", {"tool": "gone::send"}, "server_down"),
    ("no connection", "execute_tool", {"tool": "sky::look1"}, "not_set_up"),
    ("may write", "execute_readonly_tool", {"tool": "raw::pid"}, "not_read_only"),
    ("unknown handle", "read_result", {"handle": "x"}, "unknown_handle"),
    ("negative offset", "read_result", {"handle": "x", "offset": -1}, "invalid_arguments"),
    ("unknown report", "report_outcome", {"route_id": "x", "useful": True}, "unknown_route"),
    ("half a report", "report_outcome", {"route_id": "x"}, "invalid_arguments"),
    ("a tool of a server", "raw::echo", {}, "unknown_tool"),
]


def test_bad_input_is_refused_with_what_to_try(world: App) -> None:
    async def script(client: Client) -> dict[str, str]:
        return {case: (await refused(client, name, **arguments))["error"] for case, name, arguments, _ in BAD}

    call_count = world.store.activity.call_count()
    assert talk(served(world), script) == {case: error for case, _, _, error in BAD}
    world.store.events.flush()
    assert world.store.activity.call_count() == call_count + 2  # the two servers that are down


def test_the_nearest_names_and_the_signature_are_in_the_advice(world: App) -> None:
    async def script(client: Client) -> None:
        assert "raw::echo" in (await refused(client, "execute_tool", tool="raw::ecko"))["try"]
        assert "sky::look7" in (await refused(client, "execute_tool", tool="look7"))["try"]
        wrong = await refused(client, "execute_tool", tool="raw::say", arguments={"n": "x"})
        assert "n " in wrong["why"]
        assert "say(n: integer)" in wrong["try"]

    talk(served(world), script)


def test_under_a_route_nothing_else_may_be_called(world: App) -> None:
    async def script(client: Client) -> str:
        route = (await ask(client, "search_tools", task="Echo words.", n=1))["route_id"]
        other = await refused(client, "execute_tool", tool="raw::pid", route_id=route)
        assert "raw::echo" in other["why"]
        return other["error"]

    assert talk(served(world), script) == "not_offered"
    ungated: Script = lambda client: ask(client, "search_tools", task="Echo words.", n=1)  # noqa: E731
    options = {"router": "tool_attention", "settings": {"hallucination_gate": "false"}}
    route = talk(served(world, **options), ungated)["route_id"]
    assert talk(served(world), lambda client: ask(client, "execute_tool", tool="raw::pid", route_id=route))["ok"]


def test_when_a_server_may_work_again(world: App) -> None:
    async def script(client: Client) -> list[str]:
        return [(await refused(client, "execute_tool", tool="gone::send"))["try"] for _ in range(6)]

    assert any("again in " in advice for advice in talk(served(world), script))


def test_each_search_is_a_decision_and_each_call_an_outcome_of_the_client(world: App) -> None:
    async def script(client: Client) -> list[str]:
        routes = [(await ask(client, "search_tools", task="Echo words."))["route_id"] for _ in range(2)]
        await ask(client, "execute_tool", tool="raw::echo", arguments={"a": 1}, route_id=routes[0])
        return routes

    version = world.catalogs.statistics("world").version
    routes = talk(served(world), script, name="crab\u202e\n")
    world.store.events.flush()
    decisions = world.store.activity.decisions(ActivityFilter(origin="agent"))
    assert sorted(decisions["id"][decisions["client"] == "crab⟨U+202E⟩"]) == sorted(routes)
    (call,) = world.store.activity.decision_outcomes(routes[0])
    assert (call.kind, call.origin, call.client) == ("ok", "agent", "crab⟨U+202E⟩")
    assert world.catalogs.statistics("world").version == version + 1


def test_a_report_is_a_label_of_the_tool_that_was_reached(world: App) -> None:
    async def script(client: Client) -> None:
        route = (await ask(client, "search_tools", task="Echo words.", n=20))["route_id"]
        assert (await ask(client, "report_outcome", route_id=route, useful=False))["tool"] == "raw::echo"
        await ask(client, "execute_tool", tool="raw::say", arguments={"n": 1, "text": ""}, route_id=route)
        assert (await ask(client, "report_outcome", route_id=route, useful=True, note="yes"))["tool"] == "raw::say"
        down = (await ask(client, "search_tools", task="Send a letter."))["route_id"]
        await refused(client, "execute_tool", tool="gone::send", route_id=down)
        assert (await refused(client, "report_outcome", route_id=down, useful=False))["error"] == "nothing_to_report"

    talk(served(world, router="rag_mcp"), script, name="crab")
    labels = {(label.tool, label.right, label.visitor, label.note) for label in world.feedback.labels("world")}
    assert labels == {("raw::echo", False, "crab", ""), ("raw::say", True, "crab", "yes")}


def test_a_search_whose_catalog_is_replaced_meanwhile_offers_what_there_is(
    world: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    route = world.routing.route

    def replaced_afterwards(*args: Any, **fields: Any) -> Decision:
        decision = route(*args, **fields)
        less = json.loads(document())
        less["servers"][0]["tools"] = less["servers"][0]["tools"][2:]
        import_text(world.catalog_editor, json.dumps(less), "world")
        return decision

    monkeypatch.setattr(world.routing, "route", replaced_afterwards)

    async def script(client: Client) -> None:
        search = await ask(client, "search_tools", task="echo words, tell the number of the process", n=20)
        offered = {candidate["tool"]: candidate["price_usd"] for candidate in search["candidates"]}
        assert offered["raw::pid"] == 4e-7
        assert "raw::echo" not in offered

    talk(served(world), script)
