"""`wayfare sweep` and `wayfare runs`: points, what is stored of them, and the same again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from core.store import Store
from tests.cases import each
from tests.cli.conftest import Command, server, tool
from tests.cli.test_wrong_use import refused

READ = "Read a text file from the disk."
CATALOG = {
    "servers": [
        server(
            "files",
            tool("slow", READ, latency_s=0.9, price_usd=0.001),
            tool("fast", READ, latency_s=0.1, price_usd=0.003),
        )
    ]
}
TASKS = [
    {"id": "read", "subtask": READ, "relevant": ["files::slow"]},
    {"id": "moon", "subtask": "Fly to the moon.", "relevant": []},
]
PAPER = ("--preset", "paper")


@pytest.fixture
def files(write) -> tuple[object, ...]:
    """A slow tool that is right and cheap, and one of the same words that is fast and dear."""
    return ("--tasks", write("tasks.jsonl", TASKS), "--catalog", write("c.json", CATALOG), *PAPER)


def test_where_time_matters_more_the_slow_tool_comes_second(wayfare: Command, files) -> None:
    line = ("sweep", *files, "--axis", "alpha_t=0:1:0.5", "--axis", "kappa=0,1000")
    document = wayfare(*line, "--json").json()
    points = {(p["values"]["alpha_t"], p["values"]["kappa"]): p["mrr"] for p in document["points"]}
    assert points == {
        (0.0, 0.0): 0.5,  # nothing but the words, which are the same: the name decides
        (0.0, 1000.0): 0.5,
        (0.5, 0.0): 0.5,
        (0.5, 1000.0): 1.0,
        (1.0, 0.0): 0.5,
        (1.0, 1000.0): 1.0,
    }
    assert {document["points"][at]["mrr"] for at in document["front"]} <= {0.5, 1.0}
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
        (("--axis", "alpha_t"), ("alpha_t", "NAME=LOW:HIGH:STEP")),
        (("--axis", "nope=0:1:1"), ("nope", "wayfare parameters")),
        (("--axis", "alpha_t=0:1"), ("no step", "--random")),
        (("--axis", "alpha_t=0,1", "--axis", "alpha_t=2"), ("same parameter",)),
        (("--axis", "alpha_t=0,1", "--random", "2", "--optuna", "2"), ("--random", "--optuna")),
        (("--axis", "alpha_t=0,1", "--router", "nope"), ("nope", "ehrr")),
        ((), ("--axis",)),
    ],
)
def test_wrong_use(wayfare: Command, files, options, words) -> None:
    refused(wayfare("sweep", *files, *options), *words)


def test_runs_are_listed_shown_and_repeated(wayfare: Command, files, write, db: Path) -> None:
    assert "Nothing is stored yet" in wayfare("runs").out
    (measured,) = wayfare("bench", *files, "--json").json()["runs"]
    wayfare("sweep", *files, "--axis", "k=1:3")
    listed = wayfare("runs", "--json").json()
    assert ([one["id"] for one in listed["runs"]], len(listed["sweeps"])) == ([measured["id"]], 1)
    assert measured["id"] in wayfare("runs").out
    shown = wayfare("runs", measured["id"][:8], "--json").json()
    assert shown["result"]["mrr"] == measured["mrr"]
    assert {"wayfare", "numpy"} <= shown["versions"].keys()
    assert len(wayfare("runs", listed["sweeps"][0]["id"], "--json").json()["result"]["points"]) == 3
    assert "3 points" in wayfare("runs", listed["sweeps"][0]["id"]).out
    again = wayfare("runs", measured["id"], "--repeat")
    assert (again.code, "Conditions that differ: none." in again.out) == (0, True)

    write("c.json", json.loads(json.dumps(CATALOG).replace('"latency_s": 0.1', '"latency_s": 9.0')))
    changed = wayfare("runs", measured["id"], "--repeat")
    assert changed.code == 1
    assert "tool files::fast changed (latency_s)" in changed.out
    assert "Tasks whose rank differs: read." in changed.out


def test_long_commands_are_kept_with_the_address_of_their_result(wayfare: Command, files, db: Path) -> None:
    """A catalog that was read from a file has no page."""
    wayfare("import", files[3], "--name", "mine")
    ids = [wayfare("bench", *files, *more, "--json").json()["runs"][0]["id"] for more in ((), ("--catalog", "mine"))]
    wayfare("bench", "--tasks", files[1], "--catalog", "mine", "--set", "k=0")
    with Store(db) as store:
        refused, named, of_file = store.command_runs.newest(9)
    assert (of_file.why, of_file.link) == ("", "")
    assert named.title == shlex.join(map(str, ("wayfare", "bench", *files, "--catalog", "mine", "--json")))
    address = dict(parse_qsl(urlsplit(named.link).query))
    assert address.pop("tasks").startswith("stored:")
    assert (named.why, address) == ("", {"catalog": "mine", "router": "ehrr", "runs": ids[1]})
    assert refused.why.startswith("k = 0 is outside")


def test_what_is_not_there_is_said(wayfare: Command) -> None:
    refused(wayfare("runs", "abc"), "abc", "wayfare runs")
    refused(wayfare("runs", "--repeat"), "--repeat", "ID")
