"""`wayfare audit`: the log as others may check it."""

from __future__ import annotations

import json

import duckdb


def test_the_log_is_verified_exported_and_a_change_ends_with_1(wayfare, db, raw_catalog, tmp_path):
    wayfare("import", raw_catalog, "--name", "own")
    wayfare("label", "parrot what I say", "--tool", "raw::echo", "--right", "--catalog", "own")
    file = tmp_path / "log.jsonl"
    good = wayfare("audit", "--export", file, "--json").json()
    assert (good["ok"], good["problem"], good["records"]) == (True, "", len(file.read_text().splitlines()))
    kind, number, said = json.loads(file.read_text().splitlines()[-1])
    assert (kind, number, said["tool"]) == ("Label", good["records"], "raw::echo")
    assert wayfare("audit", "--head", good["hash"]).code == 0
    other = wayfare("audit", "--head", "f" * 64)
    assert (other.code, other.out) == (1, "")
    with duckdb.connect(str(db)) as connection:
        connection.execute('UPDATE labels SET "right" = NOT "right"')
    bad = wayfare("audit")
    assert (bad.code, bad.out) == (1, "")
    assert "was changed" in bad.err
