"""Wayfare itself is left out of every document that is read, and named; so are the values that were given to it."""

from __future__ import annotations

import json
from pathlib import Path

from core.governance.client_setup import CLIENTS, NAME, Target
from core.importers import read_document, read_files

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
                found = read_document(client.text(way, target), source=client.id)
                assert (found.servers, found.itself, dict(found.secrets)) == ((), (NAME,), {}), (
                    client.id,
                    way,
                    command,
                )
                assert any((note.where, "Wayfare itself" in note.text) == (NAME, True) for note in found.notes)


def test_what_stands_beside_it_stays(tmp_path: Path) -> None:
    own = {"router": {"command": "npx", "args": ["mcp-remote", "http://127.0.0.1:8501/mcp"]}}
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for file, more in zip(files, ({"wayfare": {"url": "https://far.example/mcp"}}, own), strict=True):
        entries = {f"{file.stem}-{name}": entry for name, entry in OTHERS.items()}
        file.write_text(json.dumps({"mcpServers": {**entries, **more}}))
    found = read_files(files)
    names = tuple(f"{file.stem}-{name}" for file in files for name in OTHERS)
    assert (tuple(one.name for one in found.servers), found.needs_discovery) == (names, names)
    assert (found.itself, set(found.secrets.values())) == (("wayfare", "router"), {"k-8f2a6c1e9b7d"})
