"""The store as others may check it, in one file and back, and as a folder of files."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from tests.cli.conftest import Command, refused


def test_the_log_is_verified_exported_and_a_change_ends_with_1(
    wayfare: Command, db: Path, own: str, tmp_path: Path
) -> None:
    wayfare("label", "parrot what I say", "--tool", "raw::echo", "--right", "--catalog", own)
    file = tmp_path / "log.jsonl"
    good = wayfare("audit", "--export", file, "--json").json()
    assert (good["ok"], good["problem"], good["records"]) == (True, "", len(file.read_text().splitlines()))
    kind, number, fields = json.loads(file.read_text().splitlines()[-1])
    assert (kind, number, fields["tool"]) == ("Label", good["records"], "raw::echo")
    assert wayfare("audit", "--head", good["hash"]).code == 0
    wrong_head = wayfare("audit", "--head", "f" * 64)
    assert (wrong_head.code, wrong_head.out) == (1, "")
    with duckdb.connect(str(db)) as connection:
        connection.execute('UPDATE labels SET "right" = NOT "right"')
    bad = wayfare("audit")
    assert (bad.code, bad.out, "was changed" in bad.err) == (1, "", True)


def test_a_store_in_one_file_and_back(wayfare: Command, write, db: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.backup"
    refused(wayfare("backup", file))
    assert not db.exists()
    assert wayfare("export", tmp_path / "folder").code == 2
    connection = {"command": "none", "env": {"KEY": "hunter2-PLANTED"}}
    document = write("mine.json", {"servers": [{"name": "raw", "tools": [{"name": "echo"}], "connection": connection}]})
    wayfare("import", document)
    report = wayfare("backup", file, "--json").json()
    assert [wayfare("backup", file, *options).code for options in ((), ("--force",))] == [2, 0]
    for path in db.parent.iterdir():
        path.unlink()
    assert [wayfare("restore", wrong).code for wrong in (tmp_path / "none", document)] == [2, 2]
    assert wayfare("restore", file, "--json").json()["records"] == report["records"]
    values = wayfare("secrets", "list", "--catalog", "mine", "--json").json()["values"]
    assert [(value["name"], value["state"]) for value in values] == [("KEY", "kept")]
    refused(wayfare("restore", file), "--force")


def test_a_folder_is_shown_before_it_is_taken_in(wayfare: Command, db: Path, own: str, tmp_path: Path) -> None:
    folder, other_db = tmp_path / "folder", tmp_path / "other.duckdb"
    wayfare("label", "parrot what I say", "--tool", "raw::echo", "--right", "--catalog", own)
    files = wayfare("export", folder, "--json").json()["files"]
    assert files == ["catalogs/own/catalog.json", "catalogs/own/labels.jsonl"]
    text = wayfare("apply", folder, "--db", other_db).out
    assert "Nothing is changed yet" in text
    assert ('  +  "servers"' in text, '  + "servers": [' in text) == (False, True)
    assert "own" not in wayfare("catalogs", "--db", other_db).out
    report = wayfare("apply", folder, "--db", other_db, "--yes", "--json").json()
    assert (report["applied"], [change["file"] for change in report["changes"]], report["skipped"]) == (True, files, [])
    assert "parrot" in wayfare("label", "--list", "--catalog", own, "--db", other_db).out
    assert wayfare("apply", folder, "--db", other_db, "--json").json()["changes"] == []
    assert wayfare("export", folder, "--catalog", "nobody").code == 2
