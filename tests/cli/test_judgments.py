"""`wayfare judgments`: sets in and out, agreement, runs as TREC files, and `wayfare bench --judgments`."""

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


def test_agreement_has_alpha_and_what_each_rule_leaves_out(wayfare, own):
    found = wayfare("judgments", "agreement", *own, "--json").json()
    assert found["judges"] == {"ann": 3, "bob": 3}
    assert (found["units"], found["shared"], found["same"]) == (3, 3, 2)
    # grades 0 0, 1 3, 2 2: n is 2, 1, 2, 1; d01 = 2.25, d02 = 9, d03 = 20.25, d12 = 2.25, d13 = 9, d23 = 2.25
    assert found["alpha"] == pytest.approx(1 - (2 * 9 / 6) / (2 * (4.5 + 36 + 40.5 + 4.5 + 9 + 4.5) / 30))
    assert found["rules"]["median"] == {"settled": 3, "left_out": 0, "tasks": 2}
    assert found["rules"]["unanimous"] == {"settled": 2, "left_out": 1, "tasks": 1}
    said = wayfare("judgments", "agreement", *own).out
    assert f"Krippendorff's alpha, ordinal: {found['alpha']:.3f}" in said
    assert "3 of 3 judged tools have two judges or more; on 2 of them all judges agree." in said


def test_a_set_measures_routers_and_is_the_baseline_of_a_gate(wayfare, own, write, tmp_path):
    line = ("bench", "--judgments", "birds", "--catalog", "own", "--router", "rag_mcp", "--json")
    first = wayfare(*line).json()
    assert (first["runs"][0]["n"], first["made_with"]["judgments"]) == (2, "birds")
    assert {"judged@1", "judged@3", "judged@10"} <= set(first["runs"][0])
    baseline = write("baseline.json", first)
    assert wayfare("bench", "--baseline", baseline, "--json").json()["gate"]["runs"][0]["tasks"] == 2
    bob = wayfare(*line, "--settle", "judge:bob").json()["runs"][0]
    assert set(bob["tasks"]) == set(first["runs"][0]["tasks"])
    run, qrels = tmp_path / "r.run", tmp_path / "r.qrels"
    for file in (run, qrels):
        assert (
            wayfare(
                "judgments",
                "export",
                file,
                "--run",
                bob["id"],
                *own[2:],
                *(("--format", "qrels") if file is qrels else ()),
            ).code
            == 0
        )
    ids = set(bob["tasks"])
    assert {words.split()[0] for words in run.read_text().splitlines()} == ids
    assert {words.split()[0] for words in qrels.read_text().splitlines()} == ids
    settled = tmp_path / "birds.qrels"
    wayfare("judgments", "export", settled, *own, "--settle", "judge:bob")
    assert sorted(settled.read_text().splitlines()) == sorted(qrels.read_text().splitlines())


def test_qrels_need_a_judge_and_the_tasks_that_they_name(wayfare, own, write):
    qrels, tasks = (
        write("a.qrels", "q1 0 raw::echo 2\n"),
        write("t.jsonl", [{"id": "q1", "subtask": "sing", "relevant": []}]),
    )
    line = ("judgments", "import", qrels, "--set", "songs", "--catalog", "own")
    assert "does not name its judges" in wayfare(*line, "--tasks", tasks).err
    assert 'query "q1" is not known' in wayfare(*line, "--judge", "cid").err
    assert wayfare(*line, "--judge", "cid", "--tasks", tasks, "--json").json() == {
        "added": 1,
        "known": 0,
        "not_in_catalog": 0,
    }


def test_tasks_go_out_as_bench_reads_them(wayfare, own, tmp_path):
    file = tmp_path / "t.jsonl"
    wayfare("judgments", "export", file, *own, "--format", "tasks", "--settle", "judge:ann")
    assert [json.loads(line)["grades"] for line in file.read_text().splitlines()] == [
        {"raw::echo": 3.0, "raw::nap": 0.0}, {"raw::nap": 2.0},
    ]  # fmt: skip
    assert wayfare("bench", "--tasks", file, "--catalog", "own", "--json").json()["runs"][0]["n"] == 2


@each(
    ("arguments", "said"),
    [
        (["import"], "import needs a FILE"),
        (["agreement", "x"], "agreement takes no FILE"),
        (["agreement"], "no judgment set 'my judgments'; it has: none"),
        (["export", "x.jsonl", "--set", "no"], "no judgment set 'no'"),
        (["import", "nope.csv"], "nope.csv: it cannot be read"),
        (["export", "x.run", "--run", "zz"], "No run begins with 'zz'"),
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
    assert "no rule 'mean'" in wayfare("bench", "--judgments", "birds", "--settle", "mean", "--catalog", "own").err
