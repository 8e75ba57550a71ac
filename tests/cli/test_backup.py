"""`wayfare backup` and `wayfare restore`: an own catalog with its value comes back, and wrong use is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Command


def test_a_store_in_one_file_and_back(
    wayfare: Command, write: Callable[[str, Any], Path], db: Path, tmp_path: Path
) -> None:
    missing = wayfare("backup", tmp_path / "a.backup")
    assert (missing.code, missing.err.count("\n"), db.exists()) == (2, 1, False)
    assert wayfare("export", tmp_path / "folder").code == 2
    reached = {"command": "none", "env": {"KEY": "hunter2-PLANTED"}}
    mine = write("mine.json", {"servers": [{"name": "raw", "tools": [{"name": "echo"}], "connection": reached}]})
    wayfare("import", mine)
    made = wayfare("backup", tmp_path / "a.backup", "--json").json()
    assert wayfare("backup", tmp_path / "a.backup").code == 2
    assert wayfare("backup", tmp_path / "a.backup", "--force").code == 0
    for file in db.parent.iterdir():
        file.unlink()
    assert wayfare("restore", tmp_path / "none").code == 2
    assert wayfare("restore", mine).code == 2
    assert wayfare("restore", tmp_path / "a.backup", "--json").json()["records"] == made["records"]
    values = wayfare("secrets", "list", "--catalog", "mine", "--json").json()["values"]
    assert [(one["name"], one["state"]) for one in values] == [("KEY", "kept")]
    refused = wayfare("restore", tmp_path / "a.backup")
    assert (refused.code, "--force" in refused.err) == (2, True)
