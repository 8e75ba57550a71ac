"""`wayfare sweep`, `runs` and `replay`: points, what is stored of them, the same again, and recorded decisions again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from core.store import Store
from tests.cases import each
from tests.cli.conftest import Command, refused, server, tool

READ = "Read a text file from the disk."
SLOW, FAST = ({"latency_s": 0.9, "price_usd": 0.001}, {"latency_s": 0.1, "price_usd": 0.003})
CATALOG = {"servers": [server("files", tool("slow", READ, **SLOW), tool("fast", READ, **FAST))]}
TASKS = [
    {"id": "read", "subtask": READ, "relevant": ["files::slow"]},
    {"id": "moon", "subtask": "Fly to the moon.", "relevant": []},
]


@pytest.fixture
def files(write) -> tuple[object, ...]:
    """A slow tool, right and cheap, and a fast, dear tool with equal words."""
    return ("--tasks", write("t.jsonl", TASKS), "--catalog", write("c.json", CATALOG), "--preset", "paper")


def test_where_time_matters_more_the_slow_tool_comes_second(wayfare: Command, files) -> None:
    line = ("sweep", *files, "--axis", "alpha_t=0:1:0.5", "--axis", "kappa=0,1000")
    document = wayfare(*line, "--json").json()
    points = {(p["values"]["alpha_t"], p["values"]["kappa"]): p["mrr"] for p in document["points"]}
    # without time or money nothing but the words counts, which are the same: the name decides
    assert points == {(a, k): 1.0 if a and k else 0.5 for a in (0.0, 0.5, 1.0) for k in (0.0, 1000.0)}
    assert {document["points"][index]["mrr"] for index in document["front"]} <= {0.5, 1.0}
    assert wayfare(*line, "--json").json() == document
    table = wayfare(*line, "--measure", "mrr").out.splitlines()
    assert table[0].split()[:3] == ["front", "alpha_t", "kappa"]
    assert "6 points" in table[-1]
    assert [line.startswith("*") for line in table[1:-1]].count(True) == len(document["front"])


def test_points_are_drawn_or_searched(wayfare: Command, files) -> None:
    for how in ("--random", "--optuna"):
        line = ("sweep", *files, "--axis", "alpha_t=0:1", how, "6", "--json")
        assert len(wayfare(*line, "--seed", "1").json()["points"]) == 6


@each(
    ("options", "words"),
    [
        ("--axis alpha_t", ("alpha_t", "NAME=LOW:HIGH:STEP")),
        ("--axis alpha_t=0:1", ("no step", "--random")),
        ("--axis alpha_t=0,1 --axis alpha_t=2", ("same parameter",)),
        ("--axis alpha_t=0,1 --random 2 --optuna 2", ("--random", "--optuna")),
        ("--axis alpha_t=0:1 --optuna 3 --ray auto", ("--optuna", "--ray")),
        ("--axis alpha_t=0,1 --router nope", ("nope", "ehrr")),
        ("", ("--axis",)),
    ],
)
def test_wrong_use(wayfare: Command, files, options: str, words: tuple[str, ...]) -> None:
    refused(wayfare("sweep", *files, *options.split()), *words)


def test_runs_are_listed_shown_and_repeated(wayfare: Command, files, write, db: Path) -> None:
    assert "Nothing is stored yet" in wayfare("runs").out
    (measured,) = wayfare("bench", *files, "--json").json()["runs"]
    wayfare("sweep", *files, "--axis", "k=1:3")
    report = wayfare("runs", "--json").json()
    assert ([row["id"] for row in report["runs"]], len(report["sweeps"])) == ([measured["id"]], 1)
    assert measured["id"] in wayfare("runs").out
    stored = wayfare("runs", measured["id"][:8], "--json").json()
    assert stored["result"]["mrr"] == measured["mrr"]
    assert {"wayfare", "numpy"} <= stored["versions"].keys()
    assert len(wayfare("runs", report["sweeps"][0]["id"], "--json").json()["result"]["points"]) == 3
    assert "3 points" in wayfare("runs", report["sweeps"][0]["id"]).out
    repeat = wayfare("runs", measured["id"], "--repeat")
    assert (repeat.code, "Conditions that differ: none." in repeat.out) == (0, True)

    write("c.json", json.loads(json.dumps(CATALOG).replace('"latency_s": 0.1', '"latency_s": 9.0')))
    slower = wayfare("runs", measured["id"], "--repeat")
    assert slower.code == 1
    assert "tool files::fast changed (latency_s)" in slower.out
    assert "Tasks whose rank differs: read." in slower.out
    refused(wayfare("runs", "abc"), "abc", "wayfare runs")
    refused(wayfare("runs", "--repeat"), "--repeat", "ID")


def test_long_commands_are_kept_with_the_address_of_their_result(wayfare: Command, files, db: Path) -> None:
    """A catalog that was read from a file has no page."""
    wayfare("import", files[3], "--name", "mine")
    ids = [
        wayfare("bench", *files, *options, "--json").json()["runs"][0]["id"] for options in ((), ("--catalog", "mine"))
    ]
    wayfare("bench", "--tasks", files[1], "--catalog", "mine", "--set", "k=0")
    with Store(db) as store:
        wrong, of_catalog, of_file = store.command_runs.newest(9)
    assert (of_file.why, of_file.link) == ("", "")
    assert of_catalog.title == shlex.join(map(str, ("wayfare", "bench", *files, "--catalog", "mine", "--json")))
    address = dict(parse_qsl(urlsplit(of_catalog.link).query))
    assert address.pop("tasks").startswith("stored:")
    assert (of_catalog.why, address) == ("", {"catalog": "mine", "router": "ehrr", "runs": ids[1]})
    assert wrong.why.startswith("k = 0 is outside")


def test_recorded_decisions_again(wayfare: Command, write) -> None:
    catalog, settings = ("--catalog", "twins"), ("--preset", "paper", "--set", "alpha_t=1")
    refused(wayfare("replay"), "Nothing was decided", "sample")
    wayfare("import", write("c.json", CATALOG), "--name", "twins")
    wayfare("route", READ, *catalog, *settings)
    assert wayfare("replay", *catalog).out.startswith("1 decisions, 0 with another winner")
    run = wayfare("replay", *catalog, "--set", "kappa=1000")
    assert "1 decisions, 1 with another winner" in run.out
    assert run.out.splitlines()[-1].split("  ")[:3] == [READ, "files::fast", "files::slow"]
    document = wayfare("replay", *catalog, "--set", "kappa=1000", "--json").json()
    assert document["totals"]["usd_now"] < document["totals"]["usd_then"]
    assert [row["changed"] for row in document["decisions"]] == [True]
    refused(wayfare("replay", *catalog, "--router", "nope"), "nope", "ehrr")
    line = {"time": "2026-11-28T09:00:00Z", "question": READ, "tool": "files::slow", "ok": True, "latency_s": 2.0}
    of_log = wayfare("replay", write("day.jsonl", [line]), *catalog, *settings).out
    assert "1 with another winner" in of_log
    assert "0 of 1 answers lost" in of_log
    assert of_log.splitlines()[-1].split("  ")[:3] == [READ, "files::slow", "files::fast"]
    refused(wayfare("replay", write("bad.jsonl", "[]"), *catalog), "bad.jsonl", "line 1 is a list")
