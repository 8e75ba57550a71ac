"""`wayfare bench` and its gate, tasks that are written, and testbeds that are drawn: small worlds with known right tools."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from core.app import App, Settings, open_app
from core.cli import main
from core.cli.apps import working_on
from tests.cli.conftest import ROOT, Command, refused, server, tool

MEASURES = ["mrr", "hit@1", "hit@3", "hit@5", "hit@10", "recall@3", "recall@10", "ndcg@10"]
KEYS = [
    "router", "parameters", "similarity", "n", *MEASURES, "P@3", "P@10", "rejection", "judged@1", "judged@3", "judged@5", "judged@10", "latency_ms_p50", "latency_ms_p95",
    "intervals", "tasks", "preset", "id",
]  # fmt: skip
READ, DIG, SEND = "Read a text file from the disk.", "Dig for gold in a mountain.", "Send a letter by post."

# Three tools with one description: by description alone only their latencies rank them, fast before middle before slow.
TRIPLETS = [
    tool(name, READ, latency_s=s, price_usd=0.001) for name, s in (("slow", 0.3), ("fast", 0.1), ("middle", 0.2))
]
CATALOG = {"servers": [server("files", *TRIPLETS, conn_s=0.1), server("gold", tool("dig", DIG, price_usd=1.0))]}
WORDS = (
    "w_names=0", "w_full=0", "w_lexical=0", "w_description=1",
    "similarity=views", "alpha_s=0.1", "alpha_t=0.25", "kappa=1", "p_bs=0.0025", "worthwhile=off",
)  # fmt: skip
BY_DESCRIPTION = [word for setting in WORDS for word in ("--set", setting)]
TASKS = [
    {"id": "first", "subtask": READ, "relevant": ["files::fast"]},
    {"id": "second", "subtask": READ, "relevant": ["files::middle"]},
    {"id": "graded", "subtask": READ, "relevant": ["files::slow", "files::middle", "no::such"], "grades": {"files::slow": 2}},
    {"id": "too dear", "subtask": DIG, "relevant": ["gold::dig"]},
    {"id": "impossible", "subtask": "Fly to the moon.", "relevant": []},
]  # fmt: skip


def test_a_run_of_each_router_with_every_measure_and_nothing_recorded(wayfare: Command, write, db: Path) -> None:
    files = ("--tasks", write("tasks.jsonl", TASKS), "--catalog", write("c.json", CATALOG))

    def bench(*options: str) -> list[dict[str, Any]]:
        document = wayfare("bench", *files, *BY_DESCRIPTION, *options, "--json").json()
        assert document["missing_labels"] == {"labels": 6, "missing": 1, "share": 1 / 6, "tools": ["no::such"]}
        return document["runs"]

    (run,) = bench()
    assert list(run) == KEYS
    assert (run["router"], run["n"], run["parameters"]["n"], run["rejection"]) == ("ehrr", 5, 10, 0)
    ranks = {"first": 1, "second": 2, "graded": 2, "too dear": None, "impossible": None}
    assert {id_: task["rank"] for id_, task in run["tasks"].items()} == ranks
    first, second = bench("--set", "alpha_t=0.5", "--router", "ehrr", "--router", "ehrr")
    assert first["parameters"]["alpha_t"] == 0.5
    assert all(first[name] == second[name] for name in ("router", "parameters", *MEASURES))
    with open_app(Settings.from_environment(db=db)) as app:
        assert app.store.activity.latest_sequence() == 0


def test_no_impossible_task_means_no_rejection(wayfare: Command, write) -> None:
    labelled = [{**TASKS[0], "relevant": ["files::fast", "no::such"]}]
    line = ("bench", "--tasks", write("t.jsonl", labelled), "--catalog", write("c.json", CATALOG), *BY_DESCRIPTION)
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
    assert [wayfare(*line, *only, *options).json()["runs"][0]["mrr"] for options in ((), ("--no-hints",))] == [0, 1]


def test_tasks_of_a_level_are_also_asked_as_a_person_would(wayfare: Command, write, db: Path) -> None:
    """The sub-task names the wrong tool; the question, which the level scores, the right one."""
    levelled = {"subtask": DIG, "question": READ, "relevant": ["files::fast"], "level": "L1"}
    chain = {"id": "chain", **levelled, "level": "L3", "plan": [{"tool": "files::fast"}]}
    tasks = write("t.jsonl", [{"id": "direct", **levelled}, chain])
    line = ("bench", "--tasks", tasks, "--catalog", write("c.json", CATALOG), *BY_DESCRIPTION)
    table = wayfare(*line).out.splitlines()
    assert table[3].split() == ["router", "level", "n", "exact", "match", "F1", "p50", "ms"]
    assert table[4].split()[:5] == ["ehrr", "L1", "1", "1.000", "–"]
    assert table[5].split()[:5] == ["ehrr", "L3", "1", "1.000", "1.000"]


DATA = ROOT / "tests" / "lab" / "data"
PLAIN = [word for setting in (*WORDS[:5], *WORDS[-1:], "auction=off", "execution_signals=off") for word in ("--set", setting)]  # fmt: skip
HOMES = {"read": "files", "dig": "gold", "send": "post"}
THREE = [
    {"id": name, "subtask": text, "relevant": [f"{HOMES[name]}::{name}"]}
    for name, text in zip(HOMES, (READ, DIG, SEND), strict=True)
]


def world(**descriptions: str) -> dict[str, Any]:
    texts = {task["id"]: task["subtask"] for task in THREE} | descriptions
    return {"servers": [server(HOMES[name], tool(name, text)) for name, text in texts.items()]}


@pytest.fixture
def baseline(wayfare: Command, write) -> Path:
    """The JSON output of `bench` for the small world."""
    line = ("--tasks", write("tasks.jsonl", THREE), "--catalog", write("world.json", world()))
    return write("baseline.json", wayfare("bench", *line, *PLAIN, "--json").json())


def test_what_fell_since_the_baseline_is_named_and_the_command_fails(wayfare: Command, baseline: Path, write) -> None:
    """Tasks, catalog, router and settings are those of the baseline if no option names others. A changed catalog file is read again."""
    run = wayfare("bench", "--baseline", baseline)
    assert run.code == 0
    assert "ehrr: no measure fell by more than 0.02 (3 tasks, lost 0, won 0)." in run.out
    assert "changed" not in run.out

    # another tool describes itself as the right one does, and its server's name comes first in the alphabet
    write("world.json", world(dig=READ))
    run = wayfare("bench", "--baseline", baseline)
    assert run.code == 1
    for line in ("lost dig: rank 1, now rank", "  tool gold::dig changed (description)\n", "Tasks at risk:"):
        assert line in run.out
    assert "lost send" not in run.out
    assert wayfare("bench", "--baseline", baseline, "--tolerance", "1").code == 0

    write("world.json", {"servers": world()["servers"][:2]})
    run = wayfare("bench", "--baseline", baseline, "--json")
    gate = json.loads(run.out)["gate"]
    assert (run.code, gate["passed"], gate["runs"][0]["lost"]) == (1, False, [{"id": "send", "was": 1, "now": None}])
    assert {(row["name"], row["change"]) for row in gate["changes"]} == {("post", "removed"), ("post::send", "removed")}
    assert "send" in gate["at_risk"]
    fell = {row["measure"]: (row["was"], row["now"]) for row in gate["runs"][0]["fell"]}
    assert fell["mrr"] == pytest.approx((1, 2 / 3))

    # new tasks are left out of the comparison
    write("world.json", world())
    write("tasks.jsonl", [*THREE[:2], {"id": "new", "subtask": "Fly to the moon.", "relevant": ["files::read"]}])
    run = wayfare("bench", "--baseline", baseline)
    assert (run.code, "(2 tasks, lost 0, won 0)" in run.out) == (0, True)


def test_a_console_finds_the_files_of_a_baseline(app: App, baseline: Path, write, tmp_path: Path) -> None:
    document = json.loads(baseline.read_text())
    document["made_with"] |= {"tasks": "tasks.jsonl", "catalog": "world.json"}
    write("near.json", document)
    with working_on(app, within=str(tmp_path)):
        main(["bench", "--baseline", "near.json"])


def test_what_cannot_be_compared_is_said(wayfare: Command, baseline: Path, write) -> None:
    document = json.loads(baseline.read_text())
    other_file = write("other.json", document | {"runs": [run | {"router": "sonar"} for run in document["runs"]]})
    refused(wayfare("bench", "--baseline", other_file), "no run of ehrr", "sonar")
    write("tasks.jsonl", [{"id": "other", "subtask": READ, "relevant": []}])
    refused(wayfare("bench", "--baseline", baseline), "no task in common")
    refused(wayfare("bench", "--baseline", write("letter.txt", "Dear Sir")), "letter.txt", "not JSON")
    refused(wayfare("bench", "--baseline", write("a.json", {"runs": [{"router": "ehrr"}]})), "a.json", "tasks")
    refused(wayfare("bench", "--baseline", write("b.json", {"runs": []})), "b.json", "no run")


def test_our_own_gate(wayfare: Command) -> None:
    """Forty sub-tasks of the sample. A change that is wanted makes the baseline anew, from the project's folder:
    wayfare bench --tasks tests/lab/data/gate_tasks.jsonl --set n=5 --no-store --json > tests/lab/data/gate_baseline.json"""
    tasks, baseline = DATA / "gate_tasks.jsonl", DATA / "gate_baseline.json"
    run = wayfare("bench", "--tasks", tasks, "--baseline", baseline, "--tolerance", "0.02", "--json")
    gate = json.loads(run.out)["gate"]
    assert (run.code, gate["runs"][0]["tasks"]) == (0, 40), gate
    assert gate["changes"] == [], "the sample changed: make the baseline anew"


def test_written_tasks_measure_routers_and_are_named_generated(wayfare: Command, write, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    cancel = tool("cancel_order", "Cancels an order before it ships.", inputSchema=schema)
    shop = server("shop", tool("search_orders", "Finds the orders of last month."), cancel)
    catalog, tasks = write("mine.json", {"servers": [shop]}), tmp_path / "tasks.jsonl"
    line = ("tasks", "write", "--catalog", catalog, "--count", "2")
    run = wayfare(*line, "--out", tasks)
    assert run.code == 0
    assert all(text in run.out for text in ("Nobody has checked their labels", "L4: no tool's result fits"))
    document = wayfare(*line, "--json").json()
    assert document["tasks"] == [json.loads(line) for line in tasks.read_text().splitlines()]
    assert wayfare(*line).out == tasks.read_text()
    llm_run = wayfare(*line, "--planner", "llm")
    assert (llm_run.code, "No model is set" in llm_run.err) == (2, True)
    bench = wayfare("bench", "--tasks", tasks, "--catalog", catalog, "--json").json()
    assert bench["generated"] == len(document["tasks"]) == sum(document["levels"].values())
    assert {level["level"]: level["n"] for level in bench["levels"]} == {
        k: n for k, n in document["levels"].items() if n
    }
    (chains,) = [level for level in bench["levels"] if level["level"] == "L3"]
    assert chains["by_steps"] == {"2": {"n": chains["n"], "em": chains["em"], "f1": chains["f1"]}}


def test_a_testbed_is_kept_and_measured(wayfare: Command, write, tmp_path: Path) -> None:
    web, mail = server("web", tool("find", "Finds a page.")), server("mail", tool("send", "Sends a letter."))
    web["description"] = "Searches pages."
    remote = {"type": "streamable-http", "url": "https://x.example/mcp"}
    published = {"name": "io.github.x/search", "description": "Search papers.", "version": "1", "remotes": [remote]}
    wayfare("import", write("c.json", {"servers": [web, mail]}), "--name", "world")
    tasks = write("t.jsonl", [
        {"id": "p", "subtask": "find a page", "relevant": ["web::find"]}, {"id": "l", "subtask": "write", "relevant": ["mail::send"]}
    ])  # fmt: skip
    registry, bed = write("r.json", {"servers": [{"server": published}]}), tmp_path / "bed.jsonl"
    line = ("testbed", "search", "--name", "bed", "--from", "world", "--tasks", tasks, "--copies", "1")
    document = wayfare(*line, "--registry", registry, "--least-tools", "0", "--tasks-out", bed, "--json").json()
    assert (document["servers"], document["tools"], document["tasks"], document["matching"]) == (4, 2, 1, 2)
    origins = [(row["server"], row["from"]) for row in document["chosen"]]
    assert origins == [("io.github.x/search", "r.json"), ("web", "world")]  # the first says it twice
    (task,) = [json.loads(text) for text in bed.read_text().splitlines()]
    assert task["relevant"] == ["web::find", "web-1::find"]
    run = wayfare("bench", "--tasks", bed, "--catalog", "bed", "--router", "rag_mcp", "--json").json()["runs"][0]
    assert run["hit@1"] == 1.0
    refused(wayfare("testbed", "nowhere", "--name", "none", "--from", "world"), "No server is chosen")
    assert wayfare(*line).out.startswith("Catalog bed: 2 servers with 2 tools from 1 that match; 1 tasks.")


@pytest.mark.parametrize("command", [("bench",), ("sweep", "--axis", "alpha_t=0,1")], ids=lambda words: words[0])
def test_without_ray_the_sentence_says_how_to_get_it(
    wayfare: Command, write, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster itself: tests/lab/test_spread.py."""
    monkeypatch.setitem(sys.modules, "ray", None)
    tasks = write("t.jsonl", [{"id": "a", "subtask": "convert 3 miles", "relevant": ["unit-exchange::convert_units"]}])
    refused(wayfare(*command, "--tasks", tasks, "--ray", "auto"), "pip install wayfare[ray]", "--ray")
