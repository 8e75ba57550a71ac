"""Client configurations: transports, comments, inputs, the forms of single clients, and Wayfare itself, which is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Prompt, ServerId
from core.governance.client_setup import CLIENTS, NAME, Target
from core.importers import BrokenDocumentError, read_document, read_files
from core.servers.secrets import SecretVault
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
        ({"baseUrl": "https://x.org"}, "http"),
        ({"uri": " https://x.org\n"}, "http"),
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


def test_the_default_of_an_input_stands_behind_its_reference() -> None:
    declared = [
        {"id": "host", "default": "db.example"}, {"id": "key", "password": True, "default": "hunter22"}, {"id": "empty", "default": ""},
        {"id": "odd", "default": "${input:odd}"}, {"id": "number", "default": 5},
    ]  # fmt: skip
    servers = {"a": {"command": "x", "args": ["--host=${input:host}", "${input:odd}"], "env": {"K": "${input:key}"}}}
    imported = read({"servers": servers, "inputs": declared})
    assert reached(imported).args == ("--host=${input:host:-db.example}", "${input:odd}")
    assert reached(imported).env == {"K": "${input:key:-${secret:a/K}}"}
    assert (imported.secrets, reached(imported).passwords) == ({"a/K": "hunter22"}, ("key",))
    assert [prompt.id for prompt in imported.prompts] == ["empty", "odd", "number"]
    assert SecretVault().missing(ServerId("", "a"), reached(imported)) == (
        "${input:odd}",
        "${input:key:-${secret:a/K}}",
    )


MANIFEST = {
    "manifest_version": "0.3", "name": "notes", "display_name": "Notes", "description": "Keeps notes.", "icon": "\ud83d",
    "server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {
        "command": "node", "args": ["${__dirname}/index.js", "--in=${user_config.folder}", "${user_config.theme}"],
        "env": {"API_KEY": "${user_config.key}"},
    }},
    "tools": [{"name": "add", "description": "Adds a note."}],
    "user_config": {
        "key": {"type": "string", "title": "Key", "sensitive": True, "required": True},
        "folder": {"type": "directory", "title": "Folder", "required": True, "default": "/notes"}, "theme": {"type": "string"},
    },
}  # fmt: skip


def test_the_manifest_of_a_bundle(tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(MANIFEST))
    imported = read_files([file])
    (server,) = imported.servers
    assert (server.name, server.description, imported.needs_discovery) == ("notes", "Keeps notes.", ("notes",))
    assert (reached(imported).command, reached(imported).cwd) == ("node", str(tmp_path))
    assert reached(imported).args == (f"{tmp_path}/index.js", "--in=${input:folder:-/notes}", "${input:theme:-}")
    assert (reached(imported).env, reached(imported).passwords) == ({"API_KEY": "${input:key}"}, ("key",))
    assert imported.prompts == (Prompt("key", "Key", True),)
    assert read({name: value for name, value in MANIFEST.items() if name != "tools"}).servers[0].name == "notes"
    with pytest.raises(BrokenDocumentError, match="server → mcp_config: neither command nor url"):
        read({**MANIFEST, "server": {"mcp_config": {}}})


def test_the_defaults_of_a_bundle(tmp_path: Path) -> None:
    defaults = {"home": "${HOME}/notes", "most": 10, "on": False, "desk": "${DESKTOP}", "folders": ["a"], "none": None}
    options = {name: {"type": "string", "default": default} for name, default in defaults.items()}
    config = {"command": "x", "args": [f"${{user_config.{name}}}" for name in defaults]}
    document = {"name": "notes", "server": {"mcp_config": config}, "user_config": options}
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(document))
    rest = ("${input:most:-10}", "${input:on:-false}", "${input:desk}", "${input:folders}", "${input:none:-}")
    assert reached(read_files([file])).args == (f"${{input:home:-{Path.home()}/notes}}", *rest)
    assert reached(read(document)).args == ("${input:home}", *rest)


CODEX = """
[mcp_servers.files]
command = "npx"
args = ["-y", "files"]
env_vars = ["HOME", { name = "LANG", source = "local" }]
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
    assert reached(imported).env == {"KEY": "${secret:files/KEY}", "HOME": "${env:HOME}", "LANG": "${env:LANG}"}
    assert reached(imported, 1).headers == {
        "X-Plan": "${secret:web/X-Plan}",
        "X-Team": "${env:TEAM}",
        "Authorization": "Bearer ${env:WEB_TOKEN}",
    }
    assert remarks(imported) == ["it is disabled: it is switched off here, too"]


LISTS: list[tuple[dict[str, Any], str, str]] = [
    ({"enabled_tools": ["a", "b"], "disabled_tools": ["b"]}, "a", "enabled_tools allows 2 of its tools alone"),
    ({"allowedTools": ["a", "b"], "includeTools": ["b", "c"]}, "b", "includeTools allows 2 of its tools alone"),
    ({"disabled_tools": ["c", "c"]}, "a b", "1 of its tools is switched off there and left out"),
    ({"includeTools": ["a(x)", "b"], "excludeTools": ["b"]}, "a", "includeTools allows 2"),
    ({"tools": ["a"]}, "a", "tools allows 1"),
    ({"tools": ["*"]}, "a b c", ""),
    ({"tools": []}, "", "tools allows none"),
    ({"tools": {"a": False, "b": {"enabled": False}, "c": {"approval_mode": "auto"}}}, "c", "2 of its tools are"),
    ({"allowedTools": [{"name": "a"}], "blocked_tools": ["a"]}, "", "allowedTools allows 1"),
    ({"toolsAllowlist": ["[ab]"]}, "a b", "toolsAllowlist allows 1"),
    ({"tools": [{"name": "a", "enabled": False}, {"name": "b"}]}, "b c", "1 of its tools is"),
    ({"tools": {"include": ["a"]}}, "a b c", "tools is ignored"),
    ({"skip_tools": ["c"], "quarantined_tools": ["b"]}, "a", "2 of its tools are"),
    ({"autoApprove": ["a"]}, "a b c", "autoApprove is ignored"),
    ({"disabledAutoApproveTools": ["a"], "trust": True}, "a b c", "disabledAutoApproveTools is ignored"),
    ({"toolFilter": {"mode": "block", "list": ["a"]}, "tool_timeout_sec": 3}, "a b c", "toolFilter is ignored"),
]


@each(("more", "left", "said"), LISTS)
def test_tools_that_a_client_does_not_allow(more: dict[str, Any], left: str, said: str) -> None:
    imported = read({"mcpServers": {"s": {"command": "x", **more}}})
    assert " ".join(tool for tool in "abc" if reached(imported).allows(tool)) == left
    assert said in "; ".join(remarks(imported))
    assert len(remarks(imported)) <= 2 if said else not remarks(imported)
    assert read([{"name": "s", "command": "x", **more}]).servers == imported.servers


def test_a_client_has_its_own_ways_to_write_a_variable() -> None:
    env = {
        "A": "{env:PW}", "B": "Bearer {env:PW}", "C": "/x/{env:PW}", "D": "http://$HOST:80/x", "E": "Bearer $PW",
        "F": "$(cmd)", "G": "${cmd: x}", "H": "a$PW", "I": "$PWx", "J": "p@$PW", "K": "Use $PW, $5", "L": "word:$PW",
        "M": "$AND name", "N": "mongodb://u:$PW@h", "PATH": "$HOME/bin:$PATH",
    }  # fmt: skip
    imported = read({"mcp": {"a": {"command": ["x", "{env:PW}", "echo $PW"], "environment": env}}})
    assert reached(imported).args == ("${env:PW}", "echo $PW")
    hidden = {name: f"${{secret:a/{name}}}" for name in "FGHIJKLMN"}
    assert dict(reached(imported).env) == {
        "A": "${env:PW}", "B": "Bearer ${env:PW}", "C": "/x/${env:PW}", "D": "http://${env:HOST}:80/x",
        "E": "Bearer ${env:PW}", "PATH": "${env:HOME}/bin:${env:PATH}", **hidden,
    }  # fmt: skip
    said = "has text that only its client replaces; write the value or ${env:NAME}"
    assert remarks(imported) == [f"F {said}", f"G {said}"]


def test_every_list_of_a_file_counts() -> None:
    a, b, c = ({name: {"command": name}} for name in "abc")
    for document, names in (
        ({"servers": a, "mcpServers": b}, "b a"),
        ({"mcp": {"servers": a}, "mcpServers": b}, "b a"),
        ({"mcp": a, "mcpServers": b | c}, "b c a"),
        ({"mcpServers": {}, "context_servers": a}, "a"),
        ({"servers": {"web": {"port": 80}}, "context_servers": "x", "mcpServers": a}, "a"),
        ({"mcp": {"servers": ["x"], "inputs": "x"}, "mcpServers": a}, "a"),
        ({"mcpServers": {"a": {"command": "x", "baseUrl": 5, "uri": {}}}}, "a"),
        ({"servers": a | b, "mcpServers": a}, "a b"),
    ):
        imported = read(document)
        assert " ".join(server.name for server in imported.servers) == names
    assert remarks(imported) == ["it is left out, because the file has another server of this name"]


def test_faults_outside_the_servers_do_no_harm() -> None:
    projects = '"projects": {"/p": {"history": ["\\ud83d"], "mcpServers": {"b": {"command": "x"}}}}'
    imported = read('{"size": 1, "size": 2, "mcpServers": {"a": {"command": "x"}}, ' + projects + "}")
    assert [server.name for server in imported.servers] == ["a", "b"]
    twice = '"projects": {"/p": {}, "/p": {"mcpServers": {"a": {"command": "x"}}}}'
    half = projects.replace('"command": "x"', '"command": "\\ud83d"')
    for broken in ('"mcpServers": {}, "mcpServers": {}', twice, half):
        with pytest.raises(BrokenDocumentError, match=r"twice|\.mcpServers\.b\.command holds half a character"):
            read("{" + broken + "}")


SERVERS = {name: {"command": "x"} for name in "abc"}


@each(
    ("document", "on"),
    [
        ({"mcpServers": SERVERS, "mcp": {"excluded": ["a"]}}, "b c"),
        ({"mcpServers": SERVERS, "mcp": {"allowed": ["a", "b"], "excluded": ["b"]}}, "a"),
        ({"mcpServers": SERVERS, "excludeMCPServers": ["a"], "enabledMcpjsonServers": []}, "b c"),
        ({"mcpServers": SERVERS, "deniedMcpServers": [{"serverName": "c"}]}, "a b"),
        ({"mcpServers": SERVERS | {"a": {"command": "x", "quarantined": True, "enabled": True}}}, "b c"),
        ({"mcpServers": SERVERS | {"a": {"command": "x", "isActive": "false"}, "b": {"command": "x", "status": "quarantined"}}}, "c"),
        ({"mcpServers": SERVERS | {"a": {"command": "x", "active": False}, "b": {"command": "x", "active": True}}}, "b c"),
    ],
)  # fmt: skip
def test_servers_that_a_client_does_not_allow(document: dict[str, Any], on: str) -> None:
    imported = read(document)
    assert " ".join(server.name for server in imported.servers) == on
    off = [server.name for server in imported.off]
    assert sorted(off + on.split()) == ["a", "b", "c"]
    assert sum("switched off" in text for text in remarks(imported)) == len(off)


def test_a_file_of_projects_with_tables_and_paths_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for file in (tmp_path / "bin" / "run", tmp_path / "one.md"):
        file.touch()
    first_project, second_project = tmp_path / "one", tmp_path / "two"
    projects = {
        str(first_project): {
            "mcpServers": {"web": {"command": "./run", "args": ["--at=~/x", "./a"]}},
            "allowedTools": ["a"],
        },
        str(second_project): {"mcpServers": {"web": {"url": "https://x.org/mcp"}}},
        "/none": {"history": []},
    }
    servers = {
        "own": {
            "command": "bin/run",
            "args": ["./one.md", "run"],
            "cwd": "bin",
            "env": {"AT": "${workspaceFolder}/x", "USER": "${userHome}/y"},
        }
    }
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le"):
        file = tmp_path / f"{encoding}.json"
        file.write_bytes(json.dumps({"mcpServers": servers, "projects": projects}).encode(encoding))
        imported = read_files([file])
        assert [server.name for server in imported.servers] == ["own", "web", "web (two)"]
        connection, first = reached(imported, 0), reached(imported, 1)
        assert (connection.command, connection.cwd, connection.env["AT"]) == (
            f"{tmp_path}/bin/run",
            f"{tmp_path}/bin",
            f"{tmp_path}/x",
        )
        assert connection.args == (f"{tmp_path}/one.md", "run")
        assert imported.secrets["own/USER"] == f"{Path.home()}/y"
        assert (first.command, first.cwd, first.args) == (
            f"{first_project}/run",
            str(first_project),
            (f"--at={Path.home()}/x", "./a"),
        )
        assert any("allowedTools is ignored" in text for text in remarks(imported))
    (tmp_path / ".vscode").mkdir()
    file = tmp_path / ".vscode" / "mcp.json"
    file.write_text(json.dumps({"servers": {"own": {"command": "npx", "args": ["bin/run", "../x"]}}}))
    assert (reached(read_files([file])).command, reached(read_files([file])).cwd) == ("npx", str(tmp_path))


def test_mcpproxy() -> None:
    servers = [
        {"name": "a", "protocol": "http", "url": "https://x.org", "enabled": True},
        {"name": "b", "protocol": "stdio", "command": "x", "enabled": False},
    ]
    for document in (servers, {"listen": ":8080", "mcpServers": servers}):
        imported = read(document)
        assert [[server.name for server in group] for group in (imported.servers, imported.off)] == [["a"], ["b"]]
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


COMMANDS = (
    ("wayfare", "mcp"),
    ("/home/ann/.venv/bin/wayfare", "mcp", "--catalog", "mine"),
    ("C:\\Tools\\wayfare.exe", "mcp"),
    ("/usr/bin/python3", "-m", "core.cli", "mcp"),
    ("podman", "exec", "-i", "wayfare", "wayfare", "mcp"),
)
OTHERS = {
    "mail": {"url": "https://mail.example/mcp"},
    "notes": {"command": "notes", "args": ["--folder", "wayfare"], "env": {"NOTES_API_KEY": "k-8f2a6c1e9b7d"}},
}


def test_the_text_of_every_client_is_left_out() -> None:
    for client in CLIENTS.values():
        if client.language not in {"json", "toml"}:
            continue
        for command in COMMANDS:
            target = Target(command, "http://localhost:8501/mcp?catalog=mine", "wf_5f3759df8a2b")
            for way in client.ways:
                imported = read_document(client.text(way, target), source=client.id)
                assert (imported.servers, imported.itself, dict(imported.secrets)) == ((), (NAME,), {}), (
                    client.id,
                    way,
                    command,
                )
                assert any((note.where, "Wayfare itself" in note.text) == (NAME, True) for note in imported.notes)


def test_what_stands_beside_it_stays(tmp_path: Path) -> None:
    router = {"router": {"command": "npx", "args": ["mcp-remote", "http://127.0.0.1:8501/mcp"]}}
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file, extra in zip(files, ({"wayfare": {"url": "https://far.example/mcp"}}, router), strict=True):
        entries = {f"{file.stem}-{name}": entry for name, entry in OTHERS.items()}
        file.write_text(json.dumps({"mcpServers": {**entries, **extra}}))
    imported = read_files(files)
    names = tuple(f"{file.stem}-{name}" for file in files for name in OTHERS)
    assert (tuple(server.name for server in imported.servers), imported.needs_discovery) == (names, names)
    assert (imported.itself, set(imported.secrets.values())) == (("wayfare", "router"), {"k-8f2a6c1e9b7d"})
