"""The texts for clients parse and name what they have to; a text that is run as it stands makes the client's first request."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.app import App
from core.governance.client_setup import CLIENTS, Target, found_configurations, visits_of
from core.governance.clients import ClientVisits
from core.importers import detect
from tests.cases import each
from tests.forking import FORKS
from tests.world import RAW

TARGET = Target(("/a b/wayfare", "mcp", "--catalog", "mine"), "http://127.0.0.1:8600/mcp?catalog=mine")
TOKEN = "wf_test-token"
PARSED: dict[str, Callable[[str], Any]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "sh": shlex.split,
    "python": lambda text: compile(text, "text", "exec"),
    "javascript": str,
}
CASES = [(client, way) for client in CLIENTS.values() for way in client.ways]


@each(("client", "way"), CASES, ids=[f"{client.id}-{way}" for client, way in CASES])
def test_a_text_parses_and_has_command_or_address_and_a_token_when_asked(client: Any, way: Any) -> None:
    for token in ("", TOKEN):
        text = client.text(way, replace(TARGET, token=token))
        parsed = PARSED[client.language](text)
        assert (TOKEN in text) is bool(token)
        assert ("Authorization" in text) is (way == "http" and bool(token))
        assert ("WAYFARE_TOKEN" in text) is (way == "stdio" and bool(token))
        assert (TARGET.url in text) is (way == "http")
        assert ("/a b/wayfare" in text) is (way == "stdio")
        if client.language in {"json", "toml"}:  # what the importers read is what the client reads
            importer = detect(parsed)
            assert importer is not None
            (server,) = importer.read(parsed, source=f"x.{client.language}").servers
            reached = server.connection
            assert reached is not None
            assert server.name == "wayfare"
            assert reached.url == (TARGET.url if way == "http" else "")
            assert (reached.command, *reached.args) == (TARGET.command if way == "stdio" else ("",))
        if client.language == "sh" and way == "stdio":
            assert list(TARGET.command) == parsed[parsed.index("/a b/wayfare") :][: len(TARGET.command)]


def test_the_python_text_is_run_and_its_first_request_is_noted_once(world: App, url: str) -> None:
    visits, client = world.governance.visits, CLIENTS["python"]
    token = world.governance.clients.make("ann", origin="test")
    assert not visits_of(visits, client, "ann")
    text = client.text("http", Target(url=url, token=token))
    done = subprocess.run([FORKS.python, "-c", text], capture_output=True, text=True, timeout=60, check=True)
    assert "search_tools" in done.stdout
    (visit,) = visits_of(visits, client, "ann")
    assert (visit.token, client.is_named(visit.name), visit.last is not None) == ("ann", True, True)
    stored = ClientVisits(world.store, world.settings.now).all()
    assert [(row.name, row.token, row.first, row.last) for row in stored] == [(visit.name, "ann", visit.first, None)]


def test_configurations_below_home_are_found_and_their_tools_are_counted(world: App, tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside.json"
    raw = {"command": sys.executable, "args": ["-S", RAW]}
    texts = {
        ".cursor/mcp.json": json.dumps({"mcpServers": {"raw": raw, "wayfare": {"url": "http://127.0.0.1:9/mcp"}}}),
        ".codex/config.toml": 'model = "x"\n[mcp_servers.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]\n',
        ".codeium/windsurf/mcp_config.json": '{"mcpServers": {"web": {"serverUrl": "https://x.org/mcp"}}}',
        ".config/zed/settings.json": """{"theme": "One", // as it is
            "context_servers": {"time": {"command": "uvx"}, "ext": {"source": "extension", "settings": {}}}}""",
        ".gemini/settings.json": '{"theme": "dark"}',  # no servers: not worth a word
        ".config/Claude/claude_desktop_config.json": "{broken",
    }
    for name, text in texts.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    outside.write_text(texts[".cursor/mcp.json"])
    (home / ".claude.json").symlink_to(outside)
    before = {config.client.id: config for config in found_configurations(world.catalogs, home)}
    assert set(before) == {"cursor", "codex", "claude-desktop", "windsurf", "zed"}
    assert [before[name].servers for name in ("windsurf", "zed")] == [("web",), ("time",)]
    assert "is not JSON" in before["claude-desktop"].problem
    assert (before["codex"].servers, before["codex"].known) == (("time",), ())
    world.catalog_editor.discover_file(home / ".cursor/mcp.json", "mine")
    after = {config.client.id: config for config in found_configurations(world.catalogs, home)}["cursor"]
    assert (after.servers, after.known, after.has_wayfare) == (("raw",), ("raw",), True)
    meter = after.meter(100)
    assert meter.counted.definitions == int(world.catalogs.tokens("mine").sum()) > 0
    assert (meter.projected.all_tools.tokens, meter.projected.decision.tokens) == (30 * after.tokens, 3_000)
    assert (home / ".cursor/mcp.json").read_text() == texts[".cursor/mcp.json"]
