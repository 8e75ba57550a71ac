"""`wayfare setup`: the text with the options of this store, a token only when asked, the configurations of a home folder."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest


def test_the_text_the_token_and_the_first_request(wayfare, db: Path) -> None:
    plain = wayfare("setup", "codex", "--over", "stdio", "--json").json()
    entry = tomllib.loads(plain["text"])["mcp_servers"]["wayfare"]
    assert (entry["args"], "env" in entry) == (["mcp", "--db", str(db)], False)
    assert (plain["token"], plain["first_request"]) == (None, None)
    made = wayfare("setup", "cursor", "--token", "ann", "--catalog", "search-15", "--json").json()
    given = json.loads(made["text"])["mcpServers"]["wayfare"]
    assert given["headers"] == {"Authorization": f"Bearer {made['token']}"}
    assert given["url"].endswith("/mcp?catalog=search-15")
    assert [one["client"] for one in wayfare("clients", "--json").json()["clients"]] == ["ann"]
    assert "No request of Claude Code has come yet" in wayfare("setup", "claude-code").out
    wrong = {
        ("claude-desktop", "--over", "http", "--token", "bob"): "takes commands only",
        ("emacs",): "choose one of: claude-code",
        ("--token", "bob"): "need a CLIENT",
        ("cursor", "--catalog", "nothing"): "nothing",
    }
    for words, why in wrong.items():
        said = wayfare("setup", *words)
        assert (said.code, said.out) == (2, "")
        assert why in said.err
    assert [one["client"] for one in wayfare("clients", "--json").json()["clients"]] == ["ann"]


def test_the_configurations_of_a_home_folder(wayfare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text(
        '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'
    )
    found = wayfare("setup", "--json").json()
    assert [one["client"] for one in found["clients"]][:2] == ["claude-code", "claude-desktop"]
    (one,) = found["configurations"]
    assert (one["client"], one["servers"], one["tokens"]) == ("cursor", ["time"], None)
    assert one["tokens_with_wayfare"] > 0
    said = wayfare("setup").out
    assert f'wayfare discover "{tmp_path}/.cursor/mcp.json" --name cursor' in said
