"""`wayfare calibrate`: the table, the document, and what it refuses."""

from __future__ import annotations

import pytest

TASKS = [
    {"id": "1", "subtask": "does echo", "relevant": ["raw::echo"]},
    {"id": "2", "subtask": "does swim", "relevant": ["island::swim"]},
    {"id": "3", "subtask": "does nap", "relevant": ["raw::nap"]},
]


@pytest.fixture
def tasks(write):
    return write("tasks.jsonl", TASKS)


def test_it_prints_the_sweep_and_marks_the_best(wayfare, tasks, raw_catalog):
    run = wayfare("calibrate", "--tasks", tasks, "--catalog", raw_catalog)
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0].split() == ["theta", "precision", "recall", "F1", "active", "tools", "rejection"]
    assert [line.split()[0] for line in lines[1:]][::10] == ["0.10", "0.30", "0.50"]
    assert sum(line.endswith("best") for line in lines) == 1


def test_its_document_holds_the_best_and_every_point(wayfare, tasks, raw_catalog):
    document = wayfare("calibrate", "--tasks", tasks, "--catalog", raw_catalog, "--set", "n=2", "--json").json()
    assert (document["tasks"], document["k"], len(document["points"])) == (3, 2, 21)
    assert document["best"] in document["points"]
    assert document["best"]["f1"] == max(point["f1"] for point in document["points"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "theta=2"], "theta = 2.0 is outside 0.0 to 1.0"),
        (["--set", "alpha_s=0.1"], "no parameter 'alpha_s'"),
        (["--catalog", "nowhere"], "no catalog 'nowhere'"),
    ],
)
def test_wrong_use_is_one_sentence(wayfare, tasks, raw_catalog, arguments, said):
    run = wayfare("calibrate", "--tasks", tasks, "--catalog", raw_catalog, *arguments)
    assert run.code == 2
    assert said in run.err
    assert len(run.err.splitlines()) == 1


def test_tasks_of_another_catalog_are_refused(wayfare, write, raw_catalog):
    strange = write("tasks.jsonl", [{"id": "1", "subtask": "does it", "relevant": ["moon::walk"]}])
    run = wayfare("calibrate", "--tasks", strange, "--catalog", raw_catalog)
    assert run.code == 2
    assert "None of the labelled tools is in the catalog" in run.err
