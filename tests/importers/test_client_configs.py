"""Client configurations: transports, comments, inputs, and the forms of single clients."""

from __future__ import annotations

from typing import Any

import pytest

from core.domain.catalog import Prompt
from tests.cases import each
from tests.importers.documents import reached, read, remarks


@each(
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
    assert remarks(imported) == ["it is disabled: it is switched off here, too"]


def test_mcpproxy() -> None:
    servers = [
        {"name": "a", "protocol": "http", "url": "https://x.org", "enabled": True},
        {"name": "b", "protocol": "stdio", "command": "x", "enabled": False},
    ]
    for document in (servers, {"listen": ":8080", "mcpServers": servers}):
        imported = read(document)
        assert [[server.name for server in part] for part in (imported.servers, imported.off)] == [["a"], ["b"]]
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
