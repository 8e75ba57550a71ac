"""`wayfare judgments`: sets in and out, and `wayfare bench --judgments`."""

from __future__ import annotations

import json

import pytest

from tests.cases import each

LINES = [
    {"subtask": text, "tool": tool, "grade": grade, "judge": judge}
    for judge, grades in (("ann", (3, 0, 2)), ("bob", (1, 0, 2)))
    for (text, tool), grade in zip(
        (("parrot words", "raw::echo"), ("parrot words", "raw::nap"), ("wait a while", "raw::nap")), grades, strict=True
    )
]


@pytest.fixture
def own(wayfare, raw_catalog, write):
    """A catalog that stays, with a set of two judges."""
    assert wayfare("import", raw_catalog, "--name", "own").code == 0
    done = wayfare("judgments", "import", write("j.jsonl", LINES), "--set", "birds", "--catalog", "own")
    assert done == (0, "6 judgments added to 'birds', 0 known.\n", "")
    return ("--set", "birds", "--catalog", "own")


def test_sets_are_listed(wayfare, own):
    assert wayfare("judgments", *own[2:], "--json").json() == {"sets": [{"set": "birds", "judgments": 6}]}
    assert wayfare("judgments", "list", *own[2:]).out.splitlines() == ["judgments  set", "6          birds"]
    assert "There is no judgment yet" in wayfare("judgments").out


def test_a_set_measures_routers_and_is_the_baseline_of_a_gate(wayfare, own, write):
    line = ("bench", "--judgments", "birds", "--catalog", "own", "--router", "rag_mcp", "--json")
    first = wayfare(*line).json()
    assert (first["runs"][0]["n"], first["made_with"]["judgments"]) == (2, "birds")
    assert {"judged@1", "judged@3", "judged@10"} <= set(first["runs"][0])
    baseline = write("baseline.json", first)
    assert wayfare("bench", "--baseline", baseline, "--json").json()["gate"]["runs"][0]["tasks"] == 2


def test_tasks_go_out_as_bench_reads_them(wayfare, own, tmp_path):
    file = tmp_path / "t.jsonl"
    wayfare("judgments", "export", file, *own, "--format", "tasks")
    assert [json.loads(line)["grades"] for line in file.read_text().splitlines()] == [
        {"raw::echo": 1.0, "raw::nap": 0.0}, {"raw::nap": 2.0},
    ]  # fmt: skip
    assert wayfare("bench", "--tasks", file, "--catalog", "own", "--json").json()["runs"][0]["n"] == 2


@each(
    ("arguments", "said"),
    [
        (["import"], "import needs a FILE"),
        (["list", "x"], "list takes no FILE"),
        (["export", "x.jsonl", "--set", "no"], "no judgment set 'no'"),
        (["import", "nope.csv"], "nope.csv: it cannot be read"),
        (["fly"], "'fly' is not one of"),
    ],
)
def test_wrong_use_is_one_sentence(wayfare, raw_catalog, arguments, said):
    run = wayfare("judgments", *arguments, "--catalog", raw_catalog)
    assert (run.code, run.out) == (2, "")
    assert said in run.err
    assert len(run.err.splitlines()) == 1


def test_bench_takes_tasks_or_a_set(wayfare, own):
    assert "one of --tasks and --judgments" in wayfare("bench", "--judgments", "birds", "--tasks", "t.jsonl").err
