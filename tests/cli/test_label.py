"""`wayfare label`: right, wrong, should have been, taken back, in and out."""

from __future__ import annotations

import json

import pytest

from tests.cases import each

TEXT = "parrot what I say"


@pytest.fixture
def catalog(wayfare, raw_catalog):
    """A catalog that stays: labels are kept by its name."""
    assert wayfare("import", raw_catalog, "--name", "own").code == 0
    return "own"


def test_a_label_is_listed_and_taken_back(wayfare, catalog):
    made = wayfare("label", TEXT, "--tool", "raw::echo", "--right", "--hint", "birds", "--catalog", catalog, "--json")
    (label,) = made.json()["labels"]
    assert (label["tool"], label["right"], label["origin"], label["server_hint"]) == ("raw::echo", True, "cli", "birds")
    listed = wayfare("label", "--list", "--catalog", catalog)
    assert TEXT in listed.out
    assert "right" in listed.out
    back = wayfare("label", "--retract", label["id"], "--catalog", catalog)
    assert "taken back" in back.out
    assert wayfare("label", "--list", "--catalog", catalog).out == "There is no label yet.\n"
    again = wayfare("label", "--retract", label["id"], "--catalog", catalog)
    assert (again.code, again.out) == (2, "")
    assert "taken back already" in again.err


def test_it_should_have_been_another(wayfare, catalog):
    line = ("label", TEXT, "--tool", "raw::echo", "--right", "--instead-of", "raw::nap", "--catalog", catalog, "--json")
    assert [(one["tool"], one["right"]) for one in wayfare(*line).json()["labels"]] == [
        ("raw::echo", True),
        ("raw::nap", False),
    ]


def test_they_go_out_and_come_in(wayfare, catalog, tmp_path):
    file = tmp_path / "labels.jsonl"
    wayfare("label", TEXT, "--tool", "raw::echo", "--right", "--instead-of", "raw::nap", "--catalog", catalog)
    assert wayfare("label", "--export", file, "--catalog", catalog).out == f"1 labelled sub-tasks written to {file}.\n"
    assert json.loads(file.read_text())["wrong"] == ["raw::nap"]
    taken = wayfare("label", "--import", file, "--catalog", catalog, "--json").json()
    assert taken == {"added": 2, "known": 0, "passed_over": 0}
    assert wayfare("bench", "--tasks", file, "--catalog", catalog, "--json").json()["runs"][0]["n"] == 1


@each(
    ("arguments", "said"),
    [
        ([], "Give one of TEXT, --retract, --list, --import, --export, not none"),
        ([TEXT, "--list"], "not TEXT and --list"),
        ([TEXT], "--tool server::tool and --right or --wrong"),
        ([TEXT, "--tool", "raw::echo"], "--right or --wrong"),
        ([TEXT, "--tool", "raw::fly", "--right"], "no tool 'raw::fly'"),
        ([TEXT, "--tool", "raw::echo", "--wrong", "--instead-of", "raw::nap"], "goes with --right"),
        ([TEXT, "--tool", "raw::echo", "--right", "--instead-of", "raw::echo"], "right and wrong at once"),
        ([" ", "--tool", "raw::echo", "--right"], "sub-task is empty"),
        (["--retract", "x"], "no label 'x'"),
        (["--import", "nope.jsonl"], "nope.jsonl"),
        (["--export", "/nowhere/out.jsonl"], "/nowhere/out.jsonl"),
    ],
)
def test_wrong_use_is_one_sentence(wayfare, raw_catalog, arguments, said):
    run = wayfare("label", *arguments, "--catalog", raw_catalog)
    assert (run.code, run.out) == (2, "")
    assert said in run.err
    assert len(run.err.splitlines()) == 1
