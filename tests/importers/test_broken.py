"""Broken documents: each is refused in one sentence that names file, entry and field, and tells no secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.domain.errors import CatalogError
from core.importers import BrokenDocumentError, read_document
from tests.cases import each

SECRET = "sk-PLANTED-0123456789abcdef"
NAN, INFINITE = float("nan"), float("inf")


def tool(**changes: Any) -> dict[str, Any]:
    return {"name": "get", "description": "Gets.", "inputSchema": {"type": "object"}, **changes}


def plain(**changes: Any) -> dict[str, Any]:
    return {"servers": [{"name": "weather", "description": "Weather.", "tools": [tool()], **changes}]}


def with_tool(**changes: Any) -> dict[str, Any]:
    return plain(tools=[tool(), tool(name="other", **changes)])


def client(**changes: Any) -> dict[str, Any]:
    return {"mcpServers": {"web": {"command": "run", "env": {"KEY": SECRET}, **changes}}}


def remote(**changes: Any) -> dict[str, Any]:
    return {"mcpServers": {"web": {"url": "https://x.org/mcp", "headers": {"X-Key": SECRET}, **changes}}}


def registry(**changes: Any) -> dict[str, Any]:
    return {"name": "org.x/weather", "packages": [{"registryType": "npm", "identifier": "w", **changes}]}


S, T = 'servers[0] "weather": ', 'servers[0] "weather" → tools[1] "other": '
W = 'mcpServers "web": '
DEEP: Any = {}
for _ in range(70):
    DEEP = {"a": DEEP}

BROKEN: list[tuple[Any, str]] = [
    # the whole document
    (5, "its shape (a number) is none of the formats known"),
    ({}, "its shape (an object)"),
    ({"servers": 5}, "servers is a number; give a list"),
    ({"mcpServers": {}}, "lists no server that can be taken"),
    ({"mcpServers": None}, "mcpServers is missing"),
    ({"mcpServers": "x"}, "mcpServers is text; give an object"),
    ({"servers": [5]}, "servers[0] is a number; give an object"),
    # servers
    (plain(name=None), "servers[0]: name is missing; give one"),
    (plain(name="  "), "name is empty; give a name"),
    (plain(name=7), "servers[0]: name is a number; give text"),
    (plain(name="a::b"), 'servers[0] "a::b": name holds "::"'),
    (plain(name="a\nb"), "name holds the control character U+000A; remove it"),
    (plain(name="a\u202eb"), "name holds U+202E, which changes the direction of text"),
    (plain(name="a" * 201), "name has 201 characters; use at most 200"),
    (plain(description=["x"]), S + "description is a list; give text"),
    (plain(description="x" * 10_000_000), S + "description has 10,000,000 characters; use at most 100,000"),
    (plain(category="c" * 201), S + "category has 201 characters"),
    (plain(tools=None), S + "tools is missing and there is no connection"),
    (plain(tools=[None]), S + "tools[0] is null; give an object"),
    (plain(ask_usd=-1), S + "ask_usd is -1; give a number of at least 0 or leave it out"),
    (plain(call_s="1"), S + "call_s is text; give a number"),
    (plain(call_s=10**400), S + "call_s is too large"),
    (plain(success=1.1), S + "success is 1.1; give a number from 0 to 1"),
    (plain(_meta=3), S + "_meta is a number; give an object"),
    (plain(_meta={"price_usd": -3}), S[:-2] + " → _meta: price_usd is -3"),
    (plain(mcp_server_cost_info={"default_cost_per_query": NAN}), "default_cost_per_query is NaN"),
    (
        plain(mcp_server_cost_info={"tool_name_to_cost_per_query": {"get": -1}}),
        'tool_name_to_cost_per_query "get" is -1',
    ),
    (plain(connection={"args": [SECRET]}), S[:-2] + " → connection: neither command nor url"),
    (
        plain(connection={"command": "x", "env": {"K": [SECRET]}}),
        S[:-2] + ' → connection: env "K" is a list; give text',
    ),
    (
        {"servers": [{"name": "a", "tools": []}, {"name": "b", "tools": []}, {"name": "a", "tools": []}]},
        'servers[2] "a": name is the same as that of servers[0]; rename one of them',
    ),
    # tools
    (with_tool(price_usd=NAN), T + "price_usd is NaN; give a number of at least 0 or leave it out."),
    (with_tool(description="x" * 100_001), T + "description has 100,001 characters"),
    (with_tool(inputSchema=[]), T + "inputSchema is a list; give an object"),
    (with_tool(inputSchema={"default": NAN}), T + "inputSchema holds NaN"),
    (
        with_tool(annotations={"readOnlyHint": "yes"}),
        T[:-2] + " → annotations: readOnlyHint is text; give true or false",
    ),
    (with_tool(_meta={"org.x": {"price_usd": -1}}), T[:-2] + ' → _meta → "org.x": price_usd is -1'),
    (with_tool(inputSchema=DEEP), "is nested more than 64 levels deep; flatten it"),
    (with_tool(inputSchema={"title": "\ud800"}), "servers[0].tools[1].inputSchema.title holds half a character"),
    (with_tool(inputSchema={"\udfff": 1}), "a key of servers[0].tools[1].inputSchema holds half a character"),
    (plain(tools=[tool(), tool()]), 'tools[1] "get": name is the same as that of tools[0]; rename one of them'),
    (plain(tools=[tool(name="")]), S[:-2] + " → tools[0]: name is empty"),
    (plain(tools=[tool(name="x\x1b[31m")]), "name holds the control character U+001B"),
    # client configurations
    (client(command=None), W + "neither command nor url says how to reach it"),
    (client(command=5), W + "command is a number; give text"),
    (client(command="a\0b"), W + "command holds the control character U+0000"),
    (client(args=[SECRET * 5000]), W + "args[0] has 135,000 characters"),
    (client(args=["ok", [SECRET]]), W + "args[1] is a list; give text"),
    (client(env={"KEY": {"value": SECRET}}), W + 'env "KEY" is an object; give text'),
    (client(env={"KEY": SECRET + "\0"}), W + 'env "KEY" holds the control character'),
    (client(env={"": SECRET}), W + 'env: the name "" is empty'),
    (client(env={"KEY": "${secret:github/TOKEN}"}), W + "KEY refers to a secret of another server"),
    (client(env_vars=[SECRET]), W + "env_vars is not the name of an environment variable"),
    (client(type="carrier-pigeon"), W + "type is not a transport that is known; give stdio, http or sse"),
    (client(type="sse"), W + "type is sse but there is no url"),
    (client(disabled="perhaps"), W + "disabled is text; give true or false"),
    (remote(type="stdio"), W + "type is stdio but there is no command"),
    (remote(url="ftp://x.org"), W + "url is not an address that can be called"),
    (remote(url=f"https://me:{SECRET}@["), W + "url is not an address that can be called"),
    (remote(url=f"https://me:{SECRET}@x.org:99999999/"), W + "url is not an address that can be called"),
    (remote(headers={"X-Key": [SECRET]}), W + 'headers "X-Key" is a list; give text'),
    (remote(headers={"X-Key": f"{SECRET}\r\nHost: y"}), W + "headers: a value holds a line break"),
    (remote(headers={"X\n": SECRET}), W + 'headers: the name "X\\n" holds the control character U+000A'),
    (remote(bearer_token_env_var=SECRET), W + "bearer_token_env_var is not the name of an environment variable"),
    (remote(env_http_headers={"X-Key": SECRET}), W + 'env_http_headers "X-Key" is not the name of an environment'),
    ({"mcpServers": {"a::b": {"command": "x"}}}, 'mcpServers "a::b": name holds "::"'),
    ({"mcpServers": [{"command": "x"}]}, "mcpServers[0]: name is missing"),
    ({"servers": {"a": {"command": "x"}}, "inputs": {}}, "inputs is an object; give a list"),
    ({"servers": {"a": {"command": "x"}}, "inputs": [{}]}, "inputs[0]: id is missing"),
    ({"servers": {"a": {"command": "x"}}, "inputs": [{"id": "k"}, {"id": "k"}]}, "id is the same as that of"),
    ([{"config": {"mcpServers": {"a": 1}}}], '[0] → config → mcpServers "a": it is a number'),
    # LiveMCPBench
    ([{"name": "Charts", "tools": [tool()]}], '[0] "Charts": tools is a list; give an object'),
    ([{"name": "Charts", "tools": {"c": 5}}], '[0] "Charts" → tools "c": it is a number; give an object'),
    ([{"name": "Charts", "tools": {"c": {"tools": [5]}}}], '[0] "Charts" → tools "c": tools[0] is a number'),
    ([{"name": "Charts", "tools": {"a::b": {"tools": []}}}], 'tools "a::b": name holds "::"'),
    ([{"tools": {"c": {}}}, {"tools": {"c": {}}}], '[1] → tools "c": name is the same as that of [0]'),
    # the registry
    (registry(identifier=None), "packages[0]: identifier or version is not a package's"),
    (registry(identifier="--evil"), "packages[0]: identifier or version is not a package's"),
    (registry(version=2), "packages[0]: version is a number; give text"),
    (registry(registryType="mcpb"), "lists no server that can be taken"),
    (registry(environmentVariables=[{"value": SECRET}]), "packages[0] → environmentVariables[0]: name is missing"),
    (registry(environmentVariables=[{"name": "K", "value": [SECRET]}]), 'environmentVariables[0] "K": value is a list'),
    ({"name": "org.x/w", "remotes": [{"type": "sse"}]}, "remotes[0]: neither command nor url"),
]


@each(("document", "expected"), BROKEN, ids=[expected[:60] for _, expected in BROKEN])
def test_refused_in_one_sentence(document: Any, expected: str) -> None:
    with pytest.raises(CatalogError) as error:
        read_document(json.dumps(document), source="catalog.json")
    message = str(error.value)
    assert message.startswith("catalog.json: ")
    assert expected.removesuffix(".") in message
    assert message.endswith(".")
    assert "\n" not in message
    assert SECRET not in message + repr(error.value)


TEXTS: list[tuple[str | bytes, str, str]] = [
    ("", "a.json", "it is empty; give a document"),
    ("{", "a.json", "line 1, column 2 is not JSON"),
    ('{"servers": [\n  {"name": "a" "b"}]}', "a.json", "line 2, column 16 is not JSON (expecting ',' delimiter)"),
    ('{"a": 1, // fine\n "b": }', "a.json", "line 2, column 7 is not JSON"),
    (f'{{"env": "{SECRET}', "a.json", "line 1, column 9 is not JSON"),
    (b"{\xff}", "a.json", "byte 1 is not UTF-8; save the file as UTF-8"),
    (b"\xff\xfe{\x00}", "a.json", "is not UTF-16; save the file as UTF-8"),
    ("[" * 100_000, "a.json", "it is nested too deeply to be read"),
    ("a = " + "[" * 100_000, "a.toml", "it is nested too deeply to be read"),
    ('{"a": ' + "1" * 5000 + "}", "a.json", "a number of thousands of digits"),
    ('{"a": ' + "1" * 5000 + ",}", "a.json", "a number of thousands of digits"),
    ('{"mcpServers": {"a": {}, "a": {}}}', "a.json", 'mcpServers has the key "a" twice; keep one of them'),
    ('{"a": 1, "a": 2}', "a.json", "none of the formats known"),
    ("name: dev\nschema: v1", "a.yaml", "YAML is not read; give the same as JSON or TOML"),
    ("[mcp_servers.a]\ncommand = run", "a.toml", "line 2, column 11 is not TOML; mend it there"),
    (f'[mcp_servers.a]\nenv = {{ KEY = "{SECRET}', "config", "not TOML"),
    (" " * (64 * 1024 * 1024 + 1), "a.json", "it has 64 MB; give a file of at most 64 MB"),
]


@each(("text", "source", "expected"), TEXTS, ids=[expected[:40] for _, _, expected in TEXTS])
def test_text_that_is_no_document(text: str | bytes, source: str, expected: str) -> None:
    with pytest.raises(CatalogError) as error:
        read_document(text, source=source)
    assert str(error.value).startswith(f"{source}: ")
    assert expected in str(error.value)
    assert SECRET not in str(error.value)


def test_a_server_of_a_client_with_a_fault_is_left_out_beside_a_good_one() -> None:
    bad = {"typed": {"command": "x", "type": SECRET}, "none": None, "environment": {"command": "x", "env": [SECRET]}}
    imported = read_document(json.dumps({"mcpServers": {**bad, "good": {"command": "x"}}}), source="mcp.json")
    assert [server.name for server in imported.servers] == ["good"]
    assert (imported.left_out, imported.secrets) == (3, {})
    assert [(note.where, note.text) for note in imported.notes] == [
        ('mcp.json: mcpServers "typed"', "it was left out, because type is not a transport that is known; give stdio, http or sse"),
        ('mcp.json: mcpServers "none"', "it was left out, because it is null; give an object"),
        ('mcp.json: mcpServers "environment"', "it was left out, because env is a list; give an object"),
    ]  # fmt: skip
    twice = read_document(json.dumps({"mcpServers": [{"name": "a", "command": "x"}] * 2}), source="mcp.json")
    assert (len(twice.servers), twice.left_out) == (1, 1)


GOOD: dict[str, Any] = {"command": "x"}
LISTS: tuple[tuple[Any, str], ...] = (
    ({"mcpServers": {"good": GOOD}, "projects": {"/p": {"mcpServers": {"bad": {}}}}}, 'projects "/p" → mcpServers "bad"'),
    ({"projects": {"/p": {"mcpServers": {"good": GOOD, "bad": None}}}}, 'projects "/p" → mcpServers "bad"'),
    ({"mcp": {"servers": {"good": GOOD, "bad": {}}}}, 'mcp → servers "bad"'),
    ({"mcp": {"good": GOOD, "bad": {"enabled": False}}}, 'mcp "bad"'),
    ([{"name": "good", **GOOD}, {"name": "bad", "protocol": "http"}], '[1] "bad"'),
    ([{"name": "P", "config": {"mcpServers": {"good": GOOD, "bad": {}}}}], '[0] "P" → config → mcpServers "bad"'),
)  # fmt: skip


@each(("document", "place"), LISTS)
def test_it_is_left_out_wherever_its_list_is(document: Any, place: str) -> None:
    imported = read_document(json.dumps(document), source="mcp.json")
    assert [server.name for server in imported.servers] == ["good"]
    assert [(note.where, note.text[:15]) for note in imported.notes] == [(f"mcp.json: {place}", "it was left out")]


def test_a_fault_outside_the_servers_refuses_the_document() -> None:
    document = {"mcp": {"servers": {"good": GOOD, "bad": {}}, "inputs": [{"id": "{"}]}}
    with pytest.raises(BrokenDocumentError) as error:
        read_document(json.dumps(document), source="mcp.json")
    assert len(error.value.problems) == 2


def test_the_ways_of_opencode_and_zed_to_write_a_command() -> None:
    documents = [
        {"mcp": {"a": {"type": "local", "command": ["x", "y"], "environment": {"PORT": "80"}}}},
        {
            "context_servers": {
                "a": {"source": "custom", "command": {"path": "x", "args": ["y"], "env": {"PORT": "80"}}}
            }
        },
    ]
    for document in documents:
        (server,) = read_document(json.dumps(document), source="a.json").servers
        assert server.connection is not None
        assert (server.connection.command, server.connection.args, server.connection.env) == (
            "x",
            ("y",),
            {"PORT": "80"},
        )


def test_every_problem_is_counted_and_kept() -> None:
    servers = [{"name": f"s{i}", "tools": [], "ask_usd": -1} for i in range(5)]
    with pytest.raises(BrokenDocumentError) as error:
        read_document(json.dumps({"servers": servers}), source="catalog.json")
    assert len(error.value.problems) == 5
    assert error.value.problems[4].startswith('catalog.json: servers[4] "s4": ask_usd is -1')
    assert str(error.value).endswith("or leave it out (and 4 more problems).")
