"""`wayfare testbed`: a catalog and its tasks, from a catalog and a registry file."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.cli.test_wrong_use import refused

CATALOG = {
    "servers": [
        {"name": "web", "description": "Searches pages.", "tools": [{"name": "find", "description": "Finds a page."}]},
        {"name": "mail", "description": "Letters.", "tools": [{"name": "send", "description": "Sends a letter."}]},
    ]
}
REGISTRY = {
    "servers": [
        {"server": {"name": "io.github.x/search", "description": "Search papers.", "version": "1",
                    "remotes": [{"type": "streamable-http", "url": "https://x.example/mcp"}]}},
    ]
}  # fmt: skip


def test_a_testbed_is_kept_and_measured(wayfare: Command, write, tmp_path: Path) -> None:
    wayfare("import", write("c.json", CATALOG), "--name", "world")
    tasks = tmp_path / "t.jsonl"
    tasks.write_text(
        '{"id": "p", "subtask": "find a page", "relevant": ["web::find"]}\n{"id": "l", "subtask": "write", "relevant": ["mail::send"]}\n'
    )
    line = ("testbed", "search", "--name", "bed", "--from", "world", "--tasks", tasks, "--copies", "1")
    document = wayfare(
        *line,
        "--registry",
        write("r.json", REGISTRY),
        "--least-tools",
        "0",
        "--tasks-out",
        tmp_path / "bed.jsonl",
        "--json",
    ).json()
    assert (document["servers"], document["tools"], document["tasks"], document["matching"]) == (4, 2, 1, 2)
    assert [(one["server"], one["from"]) for one in document["chosen"]] == [
        ("io.github.x/search", "r.json"),  # says it twice
        ("web", "world"),
    ]
    (kept,) = [json.loads(text) for text in (tmp_path / "bed.jsonl").read_text().splitlines()]
    assert kept["relevant"] == ["web::find", "web-1::find"]
    (run,) = wayfare(
        "bench", "--tasks", tmp_path / "bed.jsonl", "--catalog", "bed", "--router", "rag_mcp", "--json"
    ).json()["runs"]
    assert run["hit@1"] == 1.0
    refused(wayfare("testbed", "nowhere", "--name", "none", "--from", "world"), "No server is chosen")
    assert wayfare(*line).out.startswith("Catalog bed: 2 servers with 2 tools from 1 that match; 1 tasks.")
