"""Values of servers by command: set once, there after a restart, and never printed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.world import RAW

SECRET = "hunter2-PLANTED"


def test_values_are_set_shown_hidden_and_removed_and_outlive_a_restart(
    wayfare: Command, write: Callable[[str, Any], Path], db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"command": "${python}", "args": ["-S", RAW], "env": {"KEY": SECRET, "ROOT": "/tmp", "PLAN": "gold-plated"}}
    document = {"name": "raw", "tools": [{"name": "variable"}], "connection": entry}
    assert wayfare("import", write("mine.json", {"servers": [document]})).err == ""

    def states() -> dict[str, str]:
        run = wayfare("secrets", "list", "--catalog", "mine", "--json")
        assert SECRET not in run.out
        return {value["name"]: value["state"] for value in run.json()["values"]}

    def length_of(variable: str) -> str:
        run = wayfare("call", "raw", "variable", "--args", json.dumps({"name": variable}), "--catalog", "mine")
        return run.out + run.err

    assert states() == {"KEY": "kept", "PLAN": "kept", "ROOT": "written"}
    assert str(len(SECRET)) in length_of("KEY")

    assert wayfare("secrets", "remove", "raw", "KEY", "--catalog", "mine").code == 0
    assert states()["KEY"] == "missing"
    assert "`wayfare secrets set raw KEY --catalog mine`" in length_of("KEY")
    monkeypatch.setattr("sys.stdin", io.StringIO("another-value-17c\n"))
    assert "key file" in wayfare("secrets", "set", "raw", "KEY", "--catalog", "mine").out
    assert "17" in length_of("KEY")

    assert wayfare("secrets", "show", "raw", "PLAN", "--catalog", "mine").code == 0
    assert wayfare("secrets", "hide", "raw", "ROOT", "--catalog", "mine").code == 0
    assert states() == {"KEY": "kept", "PLAN": "written", "ROOT": "kept"}
    assert "a path" not in wayfare("secrets", "list", "--catalog", "mine").out
    for file in db.parent.iterdir():
        assert b"another-value-17c" not in file.read_bytes(), file

    wrong = (
        ("secrets", "set", "raw"), ("secrets", "list", "raw"), ("secrets", "remove", "raw", "NONE"), ("secrets", "show", "raw", "NONE"),
        ("secrets", "hide", "raw", "KEY"), ("secrets", "hide", "nobody", "KEY"), ("secrets", "set", "raw", "NONE"),
    )  # fmt: skip
    for words in wrong:
        run = wayfare(*words, "--catalog", "mine")
        assert (run.code, run.out, run.err.count("\n")) == (2, "", 1), words
    monkeypatch.setenv("WAYFARE_KEY", "a passphrase that is not the key")
    assert states()["KEY"] == "kept"  # the key file opens it still
