"""`wayfare setup`: the text with the options of this store, a token only when asked, the configurations of a home folder."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import RAW, refused, server


def test_the_text_the_token_and_the_first_request(wayfare, write, db: Path) -> None:
    setup_text = wayfare("setup", "codex", "--over", "stdio", "--json").json()
    entry = tomllib.loads(setup_text["text"])["mcp_servers"]["wayfare"]
    assert (entry["args"], "env" in entry) == (["mcp", "--db", str(db)], False)
    assert (setup_text["token"], setup_text["first_request"]) == (None, None)
    setup = wayfare("setup", "cursor", "--token", "ann", "--catalog", "search-15", "--json").json()
    config = json.loads(setup["text"])["mcpServers"]["wayfare"]
    assert config["headers"] == {"Authorization": f"Bearer {setup['token']}"}
    assert config["url"].endswith("/mcp?catalog=search-15")
    assert [client["client"] for client in wayfare("clients", "--json").json()["clients"]] == ["ann"]
    wayfare("import", write("c.json", {"servers": [server("bare")]}), "--name", "hollow")
    nothing = "Catalog hollow has no tools: none of its servers lists one. A client finds nothing in it.\n"
    assert nothing in wayfare("setup", "cursor", "--catalog", "hollow").out
    assert "A client finds nothing" not in wayfare("setup", "cursor").out
    assert "No request of Claude Code has come yet" in wayfare("setup", "claude-code").out
    wrong = {
        ("claude-desktop", "--over", "http", "--token", "bob"): "takes commands only",
        ("emacs",): "choose one of: claude-code",
        ("--token", "bob"): "need a CLIENT",
        ("cursor", "--catalog", "nothing"): "nothing",
    }
    for words, reason in wrong.items():
        refused(wayfare("setup", *words), reason)
    assert [client["client"] for client in wayfare("clients", "--json").json()["clients"]] == ["ann"]


def test_the_configurations_of_a_home_folder(wayfare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (tmp_path / ".cursor").mkdir()
    raw = {"command": sys.executable, "args": ["-S", RAW]}
    raw["env"] = {"API_KEY": "hunter2-PLANTED"}
    servers = {"raw": raw, "wayfare": {"command": "/opt/wayfare", "args": ["mcp"]}}
    (tmp_path / ".cursor/mcp.json").write_text(json.dumps({"mcpServers": servers}))
    overview = wayfare("setup", "--json").json()
    assert [client["client"] for client in overview["clients"]][:2] == ["claude-code", "claude-desktop"]
    (config,) = overview["configurations"]
    assert (config["client"], config["servers"], config["tokens"]) == ("cursor", ["raw"], None)
    assert "wayfare setup cursor --import" in wayfare("setup").out
    run = wayfare("import", "--find")
    assert run.out.startswith(f"Cursor: {tmp_path}/.cursor/mcp.json\n  1 server beside Wayfare.")
    assert wayfare("import", "--find", "--json").json() == {"configurations": [config]}
    assert "hunter2" not in run.out
    assert [wayfare("import", *words).code for words in ((), ("--find", "x.json"))] == [2, 2]
    assert not [info for info in wayfare("catalogs", "--json").json()["catalogs"] if info["name"] == "cursor"]
    report = wayfare("setup", "cursor", "--import", "--json").json()
    assert (report["catalog"], report["servers"], report["refused"]) == ("cursor", 1, [])
    (config,) = wayfare("setup", "--json").json()["configurations"]
    assert config["tokens"] > 0 < config["tokens_with_wayfare"]
    assert "Projected for 30 turns" in wayfare("setup").out
    assert "No configuration of Codex" in wayfare("setup", "codex", "--import").err
