"""`wayfare bench --baseline`: what fell, what was lost, what changed in the catalog; and this project's own gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Command, server, tool
from tests.cli.test_wrong_use import refused

DATA = ROOT / "tests" / "lab" / "data"
WORDS = ("similarity=views", "worthwhile=off", "auction=off", "execution_signals=off", "w_names=0", "w_lexical=0", "w_full=0", "w_description=1")  # fmt: skip
SETTINGS = [part for setting in WORDS for part in ("--set", setting)]
READ, DIG, SEND = "Read a text file from the disk.", "Dig for gold in a mountain.", "Send a letter by post."
TASKS = [
    {"id": "read", "subtask": READ, "relevant": ["files::read"]},
    {"id": "dig", "subtask": DIG, "relevant": ["gold::dig"]},
    {"id": "send", "subtask": SEND, "relevant": ["post::send"]},
]


def world(**descriptions: str) -> dict[str, object]:
    texts = {"read": READ, "dig": DIG, "send": SEND} | descriptions
    homes = {"read": "files", "dig": "gold", "send": "post"}
    return {"servers": [server(homes[name], tool(name, text)) for name, text in texts.items()]}


@pytest.fixture
def baseline(wayfare: Command, write) -> Path:
    """What bench printed of the small world."""
    line = ("--tasks", write("tasks.jsonl", TASKS), "--catalog", write("world.json", world()))
    return write("baseline.json", wayfare("bench", *line, *SETTINGS, "--json").json())


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
    assert "lost dig: rank 1, now rank" in run.out
    assert "lost send" not in run.out
    assert "  tool gold::dig changed (description)\n" in run.out
    assert "Tasks at risk:" in run.out
    assert wayfare("bench", "--baseline", baseline, "--tolerance", "1").code == 0

    write("world.json", {"servers": world()["servers"][:2]})
    run = wayfare("bench", "--baseline", baseline, "--json")
    gate = json.loads(run.out)["gate"]
    assert (run.code, gate["passed"], gate["runs"][0]["lost"]) == (1, False, [{"id": "send", "was": 1, "now": None}])
    assert {(one["name"], one["change"]) for one in gate["changes"]} == {("post", "removed"), ("post::send", "removed")}
    assert "send" in gate["at_risk"]
    fell = {one["measure"]: (one["was"], one["now"]) for one in gate["runs"][0]["fell"]}
    assert fell["mrr"] == pytest.approx((1, 2 / 3))

    # new tasks are left out of the comparison
    write("world.json", world())
    hard = {"id": "new", "subtask": "Fly to the moon.", "relevant": ["files::read"]}
    write("tasks.jsonl", [*TASKS[:2], hard])
    run = wayfare("bench", "--baseline", baseline)
    assert (run.code, "(2 tasks, lost 0, won 0)" in run.out) == (0, True)


def test_what_cannot_be_compared_is_said(wayfare: Command, baseline: Path, write) -> None:
    document = json.loads(baseline.read_text())
    other = write("other.json", document | {"runs": [run | {"router": "sonar"} for run in document["runs"]]})
    refused(wayfare("bench", "--baseline", other), "no run of ehrr", "sonar")
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
