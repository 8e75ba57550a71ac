"""Labels, calibrations and judgments: made, listed, taken back, in and out, and measured by `wayfare bench`."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.lab.calibrations import CalibrationResult, CalibrationService
from tests.cases import each
from tests.cli.conftest import Command, refused

TEXT = "parrot what I say"
TOOLS = {"raw::echo": "parrot", "island::swim": "backstroke", "raw::nap": "snooze", "raw::stall": "dawdle"}
TASKS = [
    {"id": f"{tool}-{n}", "subtask": f"{word} {word} with {thing}", "relevant": [tool]}
    for tool, word in TOOLS.items()
    for n, thing in enumerate(("apples", "bridges", "clouds", "dragons", "engines", "forests"))
]
GRADES = {"ann": (3, 0, 2), "bob": (1, 0, 2)}
GRADED = (("parrot words", "raw::echo"), ("parrot words", "raw::nap"), ("wait a while", "raw::nap"))
LINES = [
    {"subtask": text, "tool": tool, "grade": grade, "judge": judge}
    for judge, grades in GRADES.items()
    for (text, tool), grade in zip(GRADED, grades, strict=True)
]


def test_a_label_is_listed_and_taken_back(wayfare: Command, own: str) -> None:
    run = wayfare("label", TEXT, "--tool", "raw::echo", "--right", "--hint", "birds", "--catalog", own, "--json")
    (label,) = run.json()["labels"]
    assert (label["tool"], label["right"], label["origin"], label["server_hint"]) == ("raw::echo", True, "cli", "birds")
    text = wayfare("label", "--list", "--catalog", own).out
    assert all(word in text for word in (TEXT, "right"))
    assert "taken back" in wayfare("label", "--retract", label["id"], "--catalog", own).out
    assert wayfare("label", "--list", "--catalog", own).out == "There is no label yet.\n"
    refused(wayfare("label", "--retract", label["id"], "--catalog", own), "taken back already")


def test_two_labels_go_out_and_come_in(wayfare: Command, own: str, tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    line = ("label", TEXT, "--tool", "raw::echo", "--right", "--instead-of", "raw::nap", "--catalog", own, "--json")
    labels = [(label["tool"], label["right"]) for label in wayfare(*line).json()["labels"]]
    assert labels == [("raw::echo", True), ("raw::nap", False)]
    assert wayfare("label", "--export", file, "--catalog", own).out == f"1 labelled sub-tasks written to {file}.\n"
    assert json.loads(file.read_text())["wrong"] == ["raw::nap"]
    report = wayfare("label", "--import", file, "--catalog", own, "--json").json()
    assert report == {"added": 2, "known": 0, "passed_over": 0, "generated": 0}
    assert wayfare("bench", "--tasks", file, "--catalog", own, "--json").json()["runs"][0]["n"] == 1


def test_a_calibration_is_fitted_applied_undone_and_goes_out_and_in(
    wayfare: Command, write, own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, fitted = CalibrationService.fit, list[CalibrationResult]()

    def once(*args: Any, **options: Any) -> CalibrationResult:
        """The seconds of a fit are spent once: a second run prints the same result."""
        fitted.extend([] if fitted else [fit(*args, **options)])
        return fitted[0]

    monkeypatch.setattr(CalibrationService, "fit", once)

    def calibrate(*words: object) -> object:
        return wayfare("calibrate", *words, "--catalog", own)

    def listed() -> list[tuple[object, ...]]:
        rows = calibrate("--list", "--json").json()["calibrations"]
        return [(row["name"], row["labels"], row["active"]) for row in rows]

    few_tasks, tasks = write("few.jsonl", TASKS[:3]), write("tasks.jsonl", TASKS)
    refused(calibrate("--tasks", few_tasks, "--apply"), "3 labelled sub-tasks", "label at least 17 more")
    run = calibrate("--tasks", tasks, "--name", "spring", "--set", "n=2", "--apply")
    lines = run.out.splitlines()
    assert (run.code, run.err, lines[0]) == (0, "", "24 labelled sub-tasks, measured on held-back folds:")
    assert lines[1].split() == ["measure", "before", "after", "change", "95", "%", "interval"]
    assert [line.split("  ")[0] for line in lines[2:7]] == ["MRR", "hit@1", "hit@3", "log loss", "calibration error"]
    assert lines[-1].startswith("Kept as spring (")
    assert lines[-1].endswith("; switched on.")
    assert listed() == [("spring", 24, True)]
    assert "in force" in calibrate("--list").out
    assert calibrate("--undo").out == "The shipped calibration is in force for own.\n"
    assert calibrate("--use", "", "--json").json() == {"active": None}
    assert calibrate("--use", "spring", "--json").json() == {"active": "spring"}
    file = tmp_path / "spring.json"
    assert calibrate("--export", file).out == f"Written to {file}.\n"
    assert json.loads(file.read_text())["wayfare_calibration"] == 1
    run = calibrate("--import", file, "--name", "copied", "--apply")
    assert run.out == "Calibration copied kept and switched on.\n"
    assert listed() == [("copied", 24, True), ("spring", 24, False)]
    document = calibrate("--tasks", tasks, "--json").json()
    assert set(document["measures"]) == {"mrr", "hit@1", "hit@3", "log_loss", "ece"}
    assert set(document["measures"]["mrr"]) == {"before", "after", "gain", "low", "high"}
    assert (document["labels"], document["folds"], document["applied"]) == (24, 5, False)
    assert (document["threshold"]["tasks"], document["threshold"]["k"]) == (24, 2)
    monkeypatch.setattr(CalibrationResult, "accepted", ())
    fitted[0] = replace(fitted[0], fit=replace(fitted[0].fit, remark="No part has gained."))
    run = calibrate("--tasks", tasks, "--apply", "--json")
    assert (run.code, json.loads(run.out)["applied"], run.err) == (2, False, "No part has gained.\n")


@pytest.fixture
def birds(wayfare: Command, own: str, write) -> tuple[str, ...]:
    """A set of two judges."""
    run = wayfare("judgments", "import", write("j.jsonl", LINES), "--set", "birds", "--catalog", own)
    assert run == (0, "6 judgments added to 'birds', 0 known.\n", "")
    return ("--set", "birds", "--catalog", own)


def test_judgments_are_listed_measure_routers_and_go_out_as_tasks(
    wayfare: Command, birds: tuple[str, ...], write, tmp_path: Path
) -> None:
    assert wayfare("judgments", *birds[2:], "--json").json() == {"sets": [{"set": "birds", "judgments": 6}]}
    assert wayfare("judgments", "list", *birds[2:]).out.splitlines() == ["judgments  set", "6          birds"]
    assert "There is no judgment yet" in wayfare("judgments").out
    line = ("bench", "--judgments", "birds", "--catalog", "own", "--router", "rag_mcp", "--json")
    first = wayfare(*line).json()
    assert (first["runs"][0]["n"], first["made_with"]["judgments"]) == (2, "birds")
    assert {"judged@1", "judged@3", "judged@10"} <= set(first["runs"][0])
    gate = wayfare("bench", "--baseline", write("baseline.json", first), "--json").json()["gate"]
    assert gate["runs"][0]["tasks"] == 2
    refused(wayfare("bench", "--judgments", "birds", "--tasks", "t.jsonl"), "one of --tasks and --judgments")
    file = tmp_path / "t.jsonl"
    wayfare("judgments", "export", file, *birds, "--format", "tasks")
    grades = [json.loads(line)["grades"] for line in file.read_text().splitlines()]
    assert grades == [{"raw::echo": 1.0, "raw::nap": 0.0}, {"raw::nap": 2.0}]


@each(
    ("line", "said"),
    [
        ("calibrate --undo --list", "Give one of"),
        ("calibrate --undo", "nothing to undo"),
        ("calibrate --use spring", "no calibration 'spring'; it has: none"),
        ("calibrate --export out.json", "No calibration"),
        ("calibrate --import nope.json", "nope.json"),
        ("calibrate --tasks nope.jsonl", "nope.jsonl"),
        ("label", "Give one of TEXT, --retract, --list, --import, --export, not none"),
        ("label say --list", "not TEXT and --list"),
        ("label say", "--tool server::tool and --right or --wrong"),
        ("label say --tool raw::echo", "--right or --wrong"),
        ("label say --tool raw::fly --right", "no tool 'raw::fly'"),
        ("label say --tool raw::echo --wrong --instead-of raw::nap", "goes with --right"),
        ("label say --tool raw::echo --right --instead-of raw::echo", "right and wrong at once"),
        ("label ' ' --tool raw::echo --right", "sub-task is empty"),
        ("label --retract x", "no label 'x'"),
        ("label --export /nowhere/out.jsonl", "/nowhere/out.jsonl"),
        ("judgments import", "import needs a FILE"),
        ("judgments list x", "list takes no FILE"),
        ("judgments export x.jsonl --set no", "no judgment set 'no'"),
        ("judgments import nope.csv", "nope.csv: it cannot be read"),
    ],
)
def test_wrong_use(wayfare: Command, raw_catalog: Path, line: str, said: str) -> None:
    refused(wayfare(*shlex.split(line), "--catalog", raw_catalog), said)
