"""`wayfare calibrate`: the table, the document, what is kept, switched on and undone, and what it refuses."""

from __future__ import annotations

import json

import pytest

from tests.cases import each

TOOLS = {"raw::echo": "parrot", "island::swim": "backstroke", "raw::nap": "snooze", "raw::stall": "dawdle"}
TASKS = [
    {"id": f"{tool}-{n}", "subtask": f"{word} {word} with {thing}", "relevant": [tool]}
    for tool, word in TOOLS.items()
    for n, thing in enumerate(("apples", "bridges", "clouds", "dragons", "engines", "forests"))
]
FEW = TASKS[:3]


@pytest.fixture
def tasks(write):
    return write("tasks.jsonl", TASKS)


@pytest.fixture
def catalog(wayfare, raw_catalog):
    """A catalog that stays: calibrations are kept by its name."""
    assert wayfare("import", raw_catalog, "--name", "own").code == 0
    return "own"


def test_it_prints_before_and_after_is_undone_goes_out_and_in_and_its_document_has_every_measure(
    wayfare, tasks, catalog, tmp_path
):
    run = wayfare("calibrate", "--tasks", tasks, "--catalog", catalog, "--name", "spring", "--apply")
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0] == "24 labelled sub-tasks, measured on held-back folds:"
    assert lines[1].split() == ["measure", "before", "after", "change", "95", "%", "interval"]
    assert [line.split("  ")[0] for line in lines[2:7]] == ["MRR", "hit@1", "hit@3", "log loss", "calibration error"]
    assert lines[-1].startswith("Kept as spring (")
    assert lines[-1].endswith("; switched on.")
    listed = wayfare("calibrate", "--list", "--catalog", catalog, "--json").json()["calibrations"]
    assert [(one["name"], one["labels"], one["active"]) for one in listed] == [("spring", 24, True)]
    assert "in force" in wayfare("calibrate", "--list", "--catalog", catalog).out
    undone = wayfare("calibrate", "--undo", "--catalog", catalog)
    assert undone.out == "The shipped calibration is in force for own.\n"
    assert wayfare("calibrate", "--use", "spring", "--catalog", catalog, "--json").json() == {"active": "spring"}
    assert wayfare("calibrate", "--use", "", "--catalog", catalog, "--json").json() == {"active": None}
    file = tmp_path / "spring.json"
    assert wayfare("calibrate", "--use", "spring", "--catalog", catalog).code == 0
    assert wayfare("calibrate", "--export", file, "--catalog", catalog).out == f"Written to {file}.\n"
    assert json.loads(file.read_text())["wayfare_calibration"] == 1
    run = wayfare("calibrate", "--import", file, "--catalog", catalog, "--name", "copied", "--apply")
    assert run.out == "Calibration copied kept and switched on.\n"
    listed = wayfare("calibrate", "--list", "--catalog", catalog, "--json").json()["calibrations"]
    assert [(one["name"], one["active"]) for one in listed] == [("copied", True), ("spring", False)]
    document = wayfare("calibrate", "--tasks", tasks, "--catalog", catalog, "--set", "n=2", "--json").json()
    assert set(document["measures"]) == {"mrr", "hit@1", "hit@3", "log_loss", "ece"}
    assert set(document["measures"]["mrr"]) == {"before", "after", "gain", "low", "high"}
    assert (document["labels"], document["folds"], document["applied"]) == (24, 5, False)
    threshold = document["threshold"]
    assert (threshold["tasks"], threshold["k"], len(threshold["points"])) == (24, 2, 21)
    assert threshold["best"] in threshold["points"]
    assert threshold["best"]["f1"] == max(point["f1"] for point in threshold["points"])
    assert threshold["today"] == 0.28


def test_too_few_labels_are_refused_and_it_says_how_many_more(wayfare, write, raw_catalog):
    run = wayfare("calibrate", "--tasks", write("few.jsonl", FEW), "--catalog", raw_catalog, "--apply")
    assert (run.code, run.out) == (2, "")
    assert "3 labelled sub-tasks" in run.err
    assert "label at least 17 more" in run.err
    assert len(run.err.splitlines()) == 1


def test_what_is_within_noise_is_shown_and_not_kept(wayfare, write, catalog):
    easy = [{"id": str(n), "subtask": f"does echo {n}", "relevant": ["raw::echo", *TOOLS]} for n in range(24)]
    run = wayfare("calibrate", "--tasks", write("easy.jsonl", easy), "--catalog", catalog, "--apply")
    kept = wayfare("calibrate", "--list", "--catalog", catalog, "--json").json()["calibrations"]
    assert "A fitted ranking gains nothing on held-back folds" in run.out
    assert (run.code == 2) == (not kept)
    assert ("Nothing was kept." in run.out) == (not kept)


@each(
    ("arguments", "said"),
    [
        (["--set", "theta=2"], "theta = 2.0 is outside 0.0 to 1.0"),
        (["--set", "alpha_s=0.1"], "no parameter 'alpha_s'"),
        (["--catalog", "nowhere"], "no catalog 'nowhere'"),
        (["--undo", "--list"], "Give one of"),
        (["--undo"], "nothing to undo"),
        (["--use", "spring"], "no calibration 'spring'; it has: none"),
        (["--export", "out.json"], "No calibration"),
        (["--import", "nope.json"], "nope.json"),
        (["--tasks", "nope.jsonl"], "nope.jsonl"),
    ],
)
def test_wrong_use_is_one_sentence(wayfare, tasks, raw_catalog, arguments, said):
    run = wayfare("calibrate", "--tasks", tasks, "--catalog", raw_catalog, *arguments)
    assert (run.code, run.out) == (2, "")
    assert said in run.err
    assert len(run.err.splitlines()) == 1


def test_tasks_of_another_catalog_are_refused(wayfare, write, raw_catalog):
    strange = [{"id": str(n), "subtask": f"does it {n}", "relevant": ["moon::walk"]} for n in range(30)]
    run = wayfare("calibrate", "--tasks", write("strange.jsonl", strange), "--catalog", raw_catalog)
    assert run.code == 2
    assert "0 labelled sub-tasks with a right tool of this catalog" in run.err
