"""`wayfare bench`: measures of a small world with known right tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.app import Settings, open_app
from tests.cli.conftest import Command, server, tool

MEASURES = ["mrr", "hit@1", "hit@3", "hit@5", "hit@10", "recall@3", "recall@10", "ndcg@10"]
KEYS = [
    "router", "parameters", "n", *MEASURES, "P@3", "P@10", "rejection", "judged@1", "judged@3", "judged@5", "judged@10", "latency_ms_p50", "latency_ms_p95",
    "intervals", "tasks", "preset", "id",
]  # fmt: skip
READ = "Read a text file from the disk."

# Three tools with one description: by description alone only their latencies rank them, fast before middle before slow.
TRIPLETS = [
    tool(name, READ, latency_s=s, price_usd=0.001) for name, s in (("slow", 0.3), ("fast", 0.1), ("middle", 0.2))
]
CATALOG = {
    "servers": [
        server("files", *TRIPLETS, conn_s=0.1),
        server("gold", tool("dig", "Dig for gold in a mountain.", price_usd=1.0)),
    ]
}
BY_DESCRIPTION = (
    "w_names=0", "w_full=0", "w_lexical=0", "w_description=1",
    "similarity=views", "alpha_s=0.1", "alpha_t=0.25", "kappa=1", "p_bs=0.0025", "worthwhile=off",
)  # fmt: skip
TASKS = [
    {"id": "first", "subtask": READ, "relevant": ["files::fast"]},
    {"id": "second", "subtask": READ, "relevant": ["files::middle"]},
    {"id": "graded", "subtask": READ, "relevant": ["files::slow", "files::middle", "no::such"], "grades": {"files::slow": 2}},
    {"id": "too dear", "subtask": "Dig for gold in a mountain.", "relevant": ["gold::dig"]},
    {"id": "impossible", "subtask": "Fly to the moon.", "relevant": []},
]  # fmt: skip


@pytest.fixture
def bench(wayfare: Command, write, db: Path):
    """Runs bench over the small world and gives its runs."""
    files = ("--tasks", write("tasks.jsonl", TASKS), "--catalog", write("c.json", CATALOG))

    def run(*settings: str, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        pairs = [part for setting in (*BY_DESCRIPTION, *settings) for part in ("--set", setting)]
        document = wayfare("bench", *files, *pairs, *options, "--json").json()
        assert document["missing_labels"] == {"labels": 6, "missing": 1, "share": 1 / 6, "tools": ["no::such"]}
        return document["runs"]

    return run


def test_two_routers_are_two_runs(bench) -> None:
    (run,) = bench()
    assert list(run) == KEYS
    assert (run["router"], run["n"], run["parameters"]["n"], run["rejection"]) == ("ehrr", 5, 10, 0)
    ranks = {"first": 1, "second": 2, "graded": 2, "too dear": None, "impossible": None}
    assert {id_: task["rank"] for id_, task in run["tasks"].items()} == ranks
    one, two = bench("alpha_t=0.5", options=("--router", "ehrr", "--router", "ehrr"))
    assert [one[name] for name in ("router", "parameters", *MEASURES)] == [
        two[name] for name in ("router", "parameters", *MEASURES)
    ]
    assert one["parameters"]["alpha_t"] == 0.5


def test_no_impossible_task_means_no_rejection(wayfare: Command, write) -> None:
    pairs = [part for setting in BY_DESCRIPTION for part in ("--set", setting)]
    labelled = [{**TASKS[0], "relevant": ["files::fast", "no::such"]}]
    line = ("bench", "--tasks", write("t.jsonl", labelled), "--catalog", write("c.json", CATALOG), *pairs)
    assert wayfare(*line, "--json").json()["runs"][0]["rejection"] is None
    table = wayfare(*line).out.splitlines()
    assert table[0].split()[:4] == ["router", "n", "mrr", "hit@1"]
    assert table[1].split()[:3] == ["ehrr", "1", "1.000"]
    assert "1 of 2 labels (50.0%) name tools that the catalog lacks" in table[-1]
    assert table[-1].endswith(": no::such.")


def test_hints_are_given_unless_switched_off(wayfare: Command, write) -> None:
    world = {"servers": [server("north", tool("a", READ)), server("south", tool("b", READ), description="Gold mines.")]}
    task = {**TASKS[0], "server_hint": "gold mines", "relevant": ["north::a"]}
    line = ("bench", "--tasks", write("t.jsonl", [task]), "--catalog", write("c.json", world), "--json")
    only = ("--set", "k=1", "--set", "hint_weight=1", "--set", "similarity=views")
    assert wayfare(*line, *only).json()["runs"][0]["mrr"] == 0
    assert wayfare(*line, *only, "--no-hints").json()["runs"][0]["mrr"] == 1


def test_nothing_is_recorded(bench, db: Path) -> None:
    bench()
    with open_app(Settings.from_environment(db=db)) as app:
        assert app.store.activity.latest_sequence() == 0


def test_tasks_of_a_level_are_also_asked_as_a_person_would(wayfare: Command, write, db: Path) -> None:
    """The sub-task names the wrong tool; the question, which the level scores, the right one."""
    levelled = {"subtask": "Dig for gold in a mountain.", "question": READ, "relevant": ["files::fast"], "level": "L1"}
    tasks = [
        {"id": "direct", **levelled},
        {"id": "chain", **levelled, "level": "L3", "plan": [{"tool": "files::fast"}]},
    ]
    pairs = [part for setting in BY_DESCRIPTION for part in ("--set", setting)]
    line = ("bench", "--tasks", write("t.jsonl", tasks), "--catalog", write("c.json", CATALOG), *pairs)
    table = wayfare(*line).out.splitlines()
    assert table[3].split() == ["router", "level", "n", "exact", "match", "F1", "p50", "ms"]
    assert table[4].split()[:5] == ["ehrr", "L1", "1", "1.000", "–"]
    assert table[5].split()[:5] == ["ehrr", "L3", "1", "1.000", "1.000"]
    assert list(wayfare(*line, "--json").json()["runs"][0]) == KEYS
