"""`wayfare export` and `wayfare apply`: what is printed, and that nothing changes without --yes."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command


def test_a_folder_is_shown_before_it_is_taken_in(wayfare: Command, db: Path, raw_catalog: Path, tmp_path: Path) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other.duckdb"
    wayfare("import", raw_catalog, "--name", "own")
    wayfare("label", "parrot what I say", "--tool", "raw::echo", "--right", "--catalog", "own")
    written = wayfare("export", folder, "--json").json()["files"]
    assert written == ["catalogs/own/catalog.json", "catalogs/own/labels.jsonl"]
    shown = wayfare("apply", folder, "--db", other)
    assert "Nothing is changed yet" in shown.out
    assert '  +  "servers"' not in shown.out
    assert '  + "servers": [' in shown.out
    assert "own" not in wayfare("catalogs", "--db", other).out
    done = wayfare("apply", folder, "--db", other, "--yes", "--json").json()
    assert (done["applied"], [one["file"] for one in done["changes"]], done["skipped"]) == (True, written, [])
    assert "parrot" in wayfare("label", "--list", "--catalog", "own", "--db", other).out
    assert wayfare("apply", folder, "--db", other, "--json").json()["changes"] == []
    assert wayfare("export", folder, "--catalog", "nobody").code == 2
