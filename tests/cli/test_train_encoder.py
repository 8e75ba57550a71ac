"""`wayfare train-encoder`: what is refused before anything slow begins; the training itself is tests/tuning."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each
from tests.cli.conftest import Command, refused, server, tool

TASKS = [{"id": "1", "subtask": "do it", "relevant": ["files::read"]}]
Write = Callable[[str, Any], Path]


@pytest.fixture
def catalog(write: Write) -> Path:
    return write("mine.json", {"servers": [server("files", tool("read"), tool("write"))]})


def test_help_is_there_without_loading_torch(process: Command) -> None:
    run = process("train-encoder", "--help")
    assert run.code == 0
    assert "--judge CATALOG=TASKS" in run.out
    assert "wayfare train-encoder --train" in run.out


@each(
    ("option", "text", "message"),
    [
        ("--judge", "mine.json", "'mine.json' is not CATALOG=TASKS; write for example"),
        ("--train", "=tasks.jsonl", "'=tasks.jsonl' is not CATALOG=TASKS"),
        ("--train", "no-such-catalog", "no-such-catalog"),
        ("--judge", "sample=/nowhere/tasks.jsonl", "/nowhere/tasks.jsonl: it cannot be read"),
        ("--seed", "-1", "-1 is not in the range"),
        ("--steps", "0", "0 is not in the range"),
    ],
)
def test_bad_options_are_one_sentence(wayfare: Command, option: str, text: str, message: str) -> None:
    refused(wayfare("train-encoder", option, text), message)
    assert "core.relevance.tuning.training" not in sys.modules


def test_tasks_of_another_catalog_are_refused(wayfare: Command, write: Write, catalog: Path) -> None:
    tasks = write("other.jsonl", [{**TASKS[0], "relevant": ["moon::land"]}])
    for option in ("--train", "--judge"):
        refused(wayfare("train-encoder", option, f"{catalog}={tasks}"), "No task names a tool of the catalog")
    refusals = write("refusals.jsonl", [{**TASKS[0], "relevant": []}])
    assert "no task names a tool" in wayfare("train-encoder", "--judge", f"{catalog}={refusals}").err.lower()


def test_a_place_that_cannot_be_written_is_refused_first(wayfare: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(wayfare("train-encoder", "--out", tmp_path / "file" / "x.npz"), "its folder cannot be made")
    refused(wayfare("train-encoder", "--out", tmp_path), "cannot be written; give a file")
    assert not list(tmp_path.glob("*.npz"))
