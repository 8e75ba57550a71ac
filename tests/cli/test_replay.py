"""`wayfare replay`: the sentence, the table, the document."""

from __future__ import annotations

import json

from tests.cli.conftest import Command
from tests.cli.test_sweep import CATALOG, READ
from tests.cli.test_wrong_use import refused


def test_recorded_decisions_again(wayfare: Command, write) -> None:
    catalog = ("--catalog", "twins")
    refused(wayfare("replay"), "Nothing was decided", "sample")
    wayfare("import", write("c.json", CATALOG), "--name", "twins")
    wayfare("route", READ, *catalog, "--preset", "paper", "--set", "alpha_t=1")
    assert wayfare("replay", *catalog).out.startswith("1 decisions, 0 with another winner")
    changed = wayfare("replay", *catalog, "--set", "kappa=1000")
    assert "1 decisions, 1 with another winner" in changed.out
    assert changed.out.splitlines()[-1].split("  ")[:3] == [READ, "files::fast", "files::slow"]
    document = wayfare("replay", *catalog, "--set", "kappa=1000", "--json").json()
    assert document["totals"]["usd_now"] < document["totals"]["usd_then"]
    assert [row["changed"] for row in document["decisions"]] == [True]
    refused(wayfare("replay", *catalog, "--router", "nope"), "nope", "ehrr")
    line = {"time": "2026-11-28T09:00:00Z", "question": READ, "tool": "files::slow", "ok": True, "latency_s": 2.0}
    theirs = wayfare(
        "replay", write("day.jsonl", json.dumps(line)), *catalog, "--preset", "paper", "--set", "alpha_t=1"
    )
    assert "1 with another winner" in theirs.out
    assert "0 of 1 answers lost" in theirs.out
    assert theirs.out.splitlines()[-1].split("  ")[:3] == [READ, "files::slow", "files::fast"]
    refused(wayfare("replay", write("bad.jsonl", "[]"), *catalog), "bad.jsonl", "line 1 is a list")
