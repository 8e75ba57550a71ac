"""Each format's own matters: spellings, prices, remarks, what is left out, what has to be asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Connection, ToolHints
from core.domain.imports import Imported, Prompt
from core.errors import CatalogError
from core.importers import read_document, read_files


def read(document: Any, source: str = "a.json") -> Imported:
    return read_document(document if isinstance(document, str) else json.dumps(document), source=source)


def reached(imported: Imported, row: int = 0) -> Connection:
    connection = imported.servers[row].connection
    assert connection is not None
    return connection


def remarks(imported: Imported) -> list[str]:
    return [note.text for note in imported.notes]


def test_plain_takes_every_figure() -> None:
    tool = {
        "name": "get",
        "title": "Get",
        "description": "Gets\x00 it.\r\n\tNow.",
        "input_schema": {"type": "object"},
        "outputSchema": {"type": "string"},
        "annotations": {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": None},
        "price_usd": 0,
        "latency_s": 1,
        "success": 1,
        "tier": "low",
        "tier_reason": "a look-up",
    }
    figures = {"ask_usd": 0.1, "conn_s": 0.2, "call_s": 0.3, "success": 0.9, "success_variance": 0.01}
    document = {"servers": [{"name": "w", "description": "W.", "category": "Nature", "tools": [tool], **figures}]}
    imported = read(document)
    server = imported.servers[0]
    assert {name: getattr(server, name) for name in figures} == figures
    assert (server.post_accept_failure, server.category, server.connection) == (None, "Nature", None)
    taken = server.tools[0]
    assert (taken.id, taken.title, taken.description) == ("w::get", "Get", "Gets it.\n\tNow.")
    assert (taken.input_schema, taken.output_schema) == ({"type": "object"}, {"type": "string"})
    assert taken.hints == ToolHints(read_only=True, open_world=False)
    assert (taken.price_usd, taken.latency_s, taken.success, taken.tier) == (0.0, 1.0, 1.0, "low")
    assert remarks(imported) == ["description: 1 control character removed"]
    assert imported.notes[0].where == 'a.json: servers[0] "w" → tools[0] "get"'


@pytest.mark.parametrize(("says", "virtual"), [({"virtual": True}, True), ({"virtual": False}, False), ({}, False)])
def test_plain_takes_the_mark_of_a_virtual_server(says: dict[str, Any], virtual: bool) -> None:
    assert read({"servers": [{"name": "w", "tools": [], **says}]}).servers[0].virtual is virtual


def test_plain_refuses_a_mark_that_is_none() -> None:
    with pytest.raises(CatalogError, match="virtual is text; give true or false"):
        read({"servers": [{"name": "w", "tools": [], "virtual": "yes"}]})


def test_plain_takes_one_server_alone() -> None:
    assert [tool.id for tool in read({"name": "s", "tools": [{"name": "t"}]}).servers[0].tools] == ["s::t"]
    with pytest.raises(CatalogError, match=r"^a\.json: tools\[0\]: name is empty; give a name\.$"):
        read({"name": "s", "tools": [{"name": ""}]})


def test_plain_says_what_is_missing() -> None:
    tools = [{"name": "a"}, {"name": "b", "description": None, "inputSchema": {"type": 7}, "price_usd": None}]
    imported = read({"servers": [{"name": "s", "description": None, "tools": tools}, {"name": "t", "tools": []}]})
    assert remarks(imported) == [
        "no description: its profile is made from its tools",
        "no description: it is found by its name alone",
        "no input schema: its arguments are not checked",
        "no description: it is found by its name alone",
        "inputSchema is not a valid JSON Schema: arguments are not checked against it",
        "no description: its profile is made from its tools",
        "no tools and no connection: nothing can be routed to it",
    ]
    assert imported.servers[0].tools[1].price_usd is None
    assert imported.needs_discovery == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 7},
        {"$schema": {}},
        {"$schema": 5},
        {"pattern": "a{99999999999999}"},
        {"pattern": "("},
        {"required": "x"},
    ],
)
def test_a_schema_that_is_none_is_a_remark(schema: Any) -> None:
    imported = read({"servers": [{"name": "s", "tools": [{"name": "a", "inputSchema": schema}]}]})
    assert imported.servers[0].tools[0].input_schema == schema
    assert any("is not a valid JSON Schema" in text for text in remarks(imported))


def test_markup_in_names_is_text() -> None:
    imported = read({"servers": [{"name": "<script>", "tools": [{"name": "*b*"}]}]})
    assert imported.servers[0].tools[0].id == "<script>::*b*"


def test_plain_connection_and_discovery() -> None:
    imported = read({"servers": [{"name": "s", "connection": {"command": "run", "env": {"K": "v"}}}]})
    assert reached(imported) == Connection("stdio", command="run", env={"K": "${secret:s/K}"})
    assert imported.needs_discovery == ("s",)


COST = {"default_cost_per_query": 0.01, "tool_name_to_cost_per_query": {"a": 0, "z": 0.5}}


@pytest.mark.parametrize(
    ("server", "tool", "price"),
    [
        ({}, {}, None),
        ({"mcp_server_cost_info": COST}, {"name": "b"}, 0.01),
        ({"mcp_server_cost_info": COST}, {}, 0.0),
        ({"mcp_info": {"mcp_server_cost_info": COST}}, {"name": "b"}, 0.01),
        ({"_meta": {"mcp_server_cost_info": COST}}, {}, 0.0),
        ({"_meta": {"price_usd": 0.2}}, {}, 0.2),
        ({"_meta": {"org.x/price": {"priceUsd": 0.3}}}, {}, 0.3),
        ({"_meta": {"price_usd": 0.2}}, {"_meta": {"price_usd": 0}}, 0.0),
        ({"mcp_server_cost_info": COST}, {"price_usd": 0.7, "_meta": {"price_usd": 0.1}}, 0.7),
    ],
)
def test_prices(server: dict[str, Any], tool: dict[str, Any], price: float | None) -> None:
    imported = read({"servers": [{"name": "s", "tools": [{"name": "a", **tool}], **server}]})
    assert imported.servers[0].tools[0].price_usd == price


def test_a_price_for_a_tool_that_is_not_there_is_remarked() -> None:
    imported = read({"servers": [{"name": "s", "tools": [{"name": "a"}], "mcp_server_cost_info": COST}]})
    assert 'a price is given for "z", which is none of its tools' in remarks(imported)


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"command": "x"}, "stdio"),
        ({"command": "x", "type": "stdio"}, "stdio"),
        ({"command": "x", "protocol": "auto"}, "stdio"),
        ({"command": "x", "url": "https://x.org"}, "stdio"),
        ({"url": "https://x.org"}, "http"),
        ({"url": "https://x.org", "type": "http"}, "http"),
        ({"url": "https://x.org", "type": "streamable-http"}, "http"),
        ({"url": "https://x.org", "type": "streamableHttp"}, "http"),
        ({"url": "https://x.org", "transport": "streamable_http"}, "http"),
        ({"url": "https://x.org", "protocol": "sse"}, "sse"),
        ({"serverUrl": "https://x.org"}, "http"),
        ({"httpUrl": "https://x.org"}, "http"),
        ({"command": "x", "url": "https://x.org", "type": "http"}, "http"),
    ],
)
def test_transports(entry: dict[str, Any], transport: str) -> None:
    imported = read({"mcpServers": {"a": entry}})
    assert reached(imported).transport == transport
    assert imported.format == "client_config"
    assert imported.needs_discovery == ("a",)


VSCODE = """{
  // what an editor writes
  "servers": {
    "web": {"type": "http", "url": "https://x.org/mcp", "headers": {"Authorization": "Bearer ${input:key}"}}, /* and */
    "old": {"command": "x", "args": ["// no comment", "a,]"], "env": {"K": "${input:other}"}},
  },
  "inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true},],
}"""


def test_vscode_with_comments_and_inputs() -> None:
    imported = read(VSCODE)
    assert reached(imported).headers == {"Authorization": "Bearer ${input:key}"}
    assert reached(imported, 1).args == ("// no comment", "a,]")
    assert imported.prompts == (Prompt("key", "API key", True), Prompt("other", "", True))
    assert read('{"mcp": ' + VSCODE + "}") == imported


CODEX = """
[mcp_servers.files]
command = "npx"
args = ["-y", "files"]
env_vars = ["HOME"]
[mcp_servers.files.env]
KEY = "abc"
[mcp_servers.web]
url = "https://x.org/mcp"
bearer_token_env_var = "WEB_TOKEN"
http_headers = { "X-Plan" = "pro" }
env_http_headers = { "X-Team" = "TEAM" }
[mcp_servers.off]
command = "x"
enabled = false
"""


@pytest.mark.parametrize("source", ["config.toml", "config"])
def test_codex(source: str) -> None:
    imported = read(CODEX, source)
    assert reached(imported).env == {"KEY": "${secret:files/KEY}", "HOME": "${env:HOME}"}
    assert reached(imported, 1).headers == {
        "X-Plan": "${secret:web/X-Plan}",
        "X-Team": "${env:TEAM}",
        "Authorization": "Bearer ${env:WEB_TOKEN}",
    }
    assert remarks(imported) == ["it is disabled: it is left out"]


def test_mcpproxy() -> None:
    servers = [
        {"name": "a", "protocol": "http", "url": "https://x.org", "enabled": True},
        {"name": "b", "protocol": "stdio", "command": "x", "enabled": False},
    ]
    for document in (servers, {"listen": ":8080", "mcpServers": servers}):
        imported = read(document)
        assert [server.name for server in imported.servers] == ["a"]
        assert [note.where.endswith('[1] "b"') for note in imported.notes] == [True]


def test_several_servers_in_one_project() -> None:
    tools = {"one": {"tools": [{"name": "t"}]}, "two": {"tools": [{"name": "t"}]}}
    project = {"name": "P", "description": "D.", "category": "C", "tools": tools}
    imported = read([{**project, "config": {"mcpServers": {"two": {"command": "x"}}}}, {"name": "Q", "tools": {}}])
    assert [(s.name, s.title, s.description, s.category) for s in imported.servers] == [
        ("one", "P", "D.", "C"),
        ("two", "P", "D.", "C"),
    ]
    assert (imported.servers[0].connection, reached(imported, 1).command) == (None, "x")
    assert "no tools: it is left out" in remarks(imported)


def write(folder: Path, name: str, document: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_several_files_become_one_import(tmp_path: Path) -> None:
    one = write(tmp_path, "a.json", {"servers": [{"name": "a", "tools": [{"name": "t"}]}]})
    two = write(tmp_path, "b.json", {"mcpServers": {"b": {"command": "x", "env": {"K": "v"}}}})
    imported = read_files([one, str(two)])
    assert [server.name for server in imported.servers] == ["a", "b"]
    assert (imported.format, imported.secrets) == ("plain + client_config", {"b/K": "v"})
    assert imported.needs_discovery == ("b",)


def test_files_are_taken_together_or_not_at_all(tmp_path: Path) -> None:
    one = write(tmp_path, "a.json", {"servers": [{"name": "a", "tools": []}]})
    two = write(tmp_path, "b.json", {"mcpServers": {"a": {"command": "x"}}})
    with pytest.raises(CatalogError, match=r'b\.json: the server "a" is also in .*a\.json; rename one of them\.'):
        read_files([one, two])
    with pytest.raises(CatalogError, match=r"none\.json: it cannot be read \(no such file or directory\); .*1 more"):
        read_files([one, tmp_path / "none.json", tmp_path])
    with pytest.raises(CatalogError, match="No file was given"):
        read_files([])
    ask = {"servers": {"c": {"command": "x"}}, "inputs": [{"id": "key", "description": "GitHub"}]}
    other = {"servers": {"d": {"command": "x"}}, "inputs": [{"id": "key", "description": "Slack"}]}
    with pytest.raises(CatalogError, match='the input "key" asks for something else in'):
        read_files([write(tmp_path, "c.json", ask), write(tmp_path, "d.json", other)])


def test_bytes_with_a_byte_order_mark() -> None:
    assert read_document(b'\xef\xbb\xbf{"mcpServers": {"a": {"command": "x"}}}', source="a.json").servers[0].name == "a"
