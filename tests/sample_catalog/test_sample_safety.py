"""What the sample servers must refuse: paths out of the sandbox, hostile SQL, patterns and schemas, input that makes no sense."""

from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from sample_catalog.runnable import (
    csv_tables,
    gremlin,
    json_workbench,
    larder_sql,
    marginalia,
    meridian,
    pattern_bench,
    plotwright,
    sandbox_files,
    statlab,
    unit_exchange,
    waypoint_atlas,
)
from tests.cases import each
from tests.sample_catalog.calls import Call, call, call_all, text

GENEROUS_S = 20


ESCAPES = [
    "../secret.txt",
    "../../secret.txt",
    "/etc/passwd",
    "link.txt",
    "out/secret.txt",
    "a/../../../secret.txt",
    "x\0y",
]


@each("path", ESCAPES)
def test_no_path_leaves_the_sandbox(sandbox: Path, path: str) -> None:
    calls: list[Call] = [
        ("read_text_file", {"path": path}),
        ("write_text_file", {"path": path, "content": "overwritten"}),
        ("append_to_file", {"path": path, "content": "more"}),
        ("move_path", {"source": path, "destination": "stolen.txt"}),
        ("move_path", {"source": "inside.txt", "destination": path}),
        ("delete_path", {"path": path}),
        ("file_checksum", {"path": path}),
        ("attach_file", {"path": path}),
        ("link_file", {"path": path}),
        ("make_directory", {"path": path}),
        ("list_directory", {"path": path}),
        ("find_files", {"pattern": "*", "path": path}),
        ("search_in_files", {"text": "word", "path": path}),
    ]
    for result in call_all(sandbox_files.server, calls):
        assert result.is_error
        assert "outside the sandbox" in text(result) or "not a usable path" in text(result)
    assert (sandbox.parents[1] / "secret.txt").read_text() == "the secret word"
    assert (sandbox / "inside.txt").read_text() == "an open word"


def test_links_are_neither_listed_nor_followed(sandbox: Path) -> None:
    entries, files, hits = call_all(
        sandbox_files.server,
        [("list_directory", {}), ("find_files", {"pattern": "*.txt"}), ("search_in_files", {"text": "word"})],
    )
    for result in (entries, files, hits):
        assert [entry["path"] for entry in result.structured_content["result"]] == ["inside.txt"]


def test_a_sandbox_with_files_gets_no_examples_and_an_empty_one_does(sandbox: Path) -> None:
    call(sandbox_files.server, "list_directory")
    assert not (sandbox / "welcome.txt").exists()
    for path in sandbox.iterdir():
        path.unlink()
    call(sandbox_files.server, "list_directory")
    assert (sandbox / "welcome.txt").exists()


def test_files_refuse_plainly_what_cannot_be_done(sandbox: Path) -> None:
    (sandbox / "binary").write_bytes(b"\xff\xfe\0")
    results = call_all(
        sandbox_files.server,
        [
            ("read_text_file", {"path": "absent"}),
            ("read_text_file", {"path": "binary"}),
            ("delete_path", {"path": "."}),
            ("move_path", {"source": "binary", "destination": "inside.txt"}),
            ("list_directory", {"path": "inside.txt"}),
        ],
    )
    reasons = ["there is no file", "not a UTF-8 text", "cannot be deleted", "exists already", "Not a directory"]
    for result, reason in zip(results, reasons, strict=True):
        assert result.is_error
        assert reason in text(result)


REFUSED: list[tuple[MCPServer, str, dict[str, Any], str]] = [
    (pattern_bench.server, "find_matches", {"pattern": "(", "text": "x"}, "not valid"),
    (json_workbench.server, "format_json", {"document": "{'a': 1}"}, "not valid JSON"),
    (json_workbench.server, "get_value", {"document": "{}", "pointer": "a"}, "has to begin with /"),
    (csv_tables.server, "sort_rows", {"csv": "a,b\n1,2\n", "columns": ["c"]}, "no column 'c'"),
    (unit_exchange.server, "convert_units", {"value": 1, "source": "smoot", "target": "km"}, "unknown unit"),
    (
        unit_exchange.server,
        "convert_temperature",
        {"value": -1, "source": "kelvin", "target": "celsius"},
        "absolute zero",
    ),
    (meridian.server, "current_time", {"zone": "../etc/passwd"}, "unknown time zone"),
    (larder_sql.server, "run_query", {"sql": "SELECT now()"}, "cast times"),
    (meridian.server, "city_gap", {"first": "Atlantis", "second": "Oslo"}, "not among"),
    (statlab.server, "fit_line", {"x": [1, 2], "y": [1, 2, 3]}, "different lengths"),
    (plotwright.server, "pie_chart", {"labels": ["a"], "values": [1, 2]}, "labels"),
    (marginalia.server, "read_note", {"note_id": 4}, "there is no note 4"),
    (waypoint_atlas.server, "triangle_from_sides", {"sides": [1, 2, 5]}, "no triangle"),
    (gremlin.server, "answer_slowly", {"seconds": 1000}, "120"),
]


@pytest.mark.usefixtures("sandbox")
def test_wrong_input_is_refused_with_a_reason() -> None:
    for server, tool, arguments, reason in REFUSED:
        result = call(server, tool, **arguments)
        assert result.is_error
        assert reason in text(result)


def test_notes_survive_and_damage_is_reported_not_overwritten(sandbox: Path) -> None:
    call(marginalia.server, "create_note", title="kept")
    assert [note["title"] for note in call(marginalia.server, "list_notes").structured_content["result"]] == ["kept"]
    file = sandbox.parent / "notes.json"
    file.write_text("{ half a no")
    result = call(marginalia.server, "create_note", title="lost?")
    assert result.is_error
    assert "damaged" in text(result)
    assert file.read_text() == "{ half a no"


SQL_ATTACKS = [
    "INSERT INTO customers SELECT * FROM customers",
    "DROP TABLE orders",
    "CREATE TABLE t AS SELECT 1",
    "WITH gone AS (DELETE FROM orders RETURNING *) SELECT count(*) FROM gone",
    "SELECT 1; DROP TABLE orders",
    "COPY customers TO '{folder}/stolen.csv'",
    "EXPORT DATABASE '{folder}'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "ATTACH '{folder}/other.db'",
    "INSTALL httpfs",
    "SET enable_external_access = true",
    "PRAGMA database_list",
    "EXPLAIN ANALYZE DELETE FROM orders",
    "SELECT * FROM larder_sql",
]


@pytest.mark.parametrize("tool", ["run_query", "explain_query"])
def test_sql_can_neither_change_anything_nor_reach_the_disk(tool: str, tmp_path: Path) -> None:
    attacks: list[Call] = [(tool, {"sql": attack.format(folder=tmp_path)}) for attack in SQL_ATTACKS]
    results = call_all(larder_sql.server, [*attacks, ("list_tables", {})])
    for attack, result in zip(SQL_ATTACKS, results, strict=False):
        planned_only = tool == "explain_query" and (attack.startswith("WITH") or "sniff_csv" in attack)
        assert result.is_error or planned_only, attack
        assert "root:" not in text(result)
    assert results[-1].structured_content == {"customers": 40, "orders": 360, "products": 24}
    assert not list(tmp_path.iterdir())


def test_sql_is_stopped_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(larder_sql, "TIME_LIMIT_S", 0.2)
    began = monotonic()
    endless = "SELECT count(*) FROM range(10000000000) a, range(1000) b WHERE a.range % 7 = b.range % 5"
    result = call(larder_sql.server, "run_query", sql=endless)
    assert result.is_error
    assert "too expensive" in text(result)
    assert monotonic() - began < GENEROUS_S


def test_sql_cells_of_every_kind_become_plain_json() -> None:
    sql = "SELECT DATE '2024-01-02', 1.5::DECIMAL(4, 2), 'nan'::DOUBLE, [1, 2], NULL, TRUE, repeat('x', 5000)"
    row = call(larder_sql.server, "run_query", sql=sql).structured_content["rows"][0]
    assert row == ["2024-01-02", 1.5, "nan", "[1, 2]", None, True, "x" * 500]


BOMBS: list[Call] = [
    ("find_matches", {"pattern": "(a+)+$", "text": "a" * 40 + "!"}),
    ("check_candidates", {"pattern": "(a|aa)+", "candidates": ["a" * 60 + "!"]}),
    ("replace_matches", {"pattern": "(x*)*y", "text": "x" * 60, "replacement": ""}),
    ("split_by_pattern", {"pattern": "(.*)*,$", "text": "b" * 60}),
]


@pytest.mark.parametrize(("tool", "arguments"), BOMBS)
def test_an_explosive_pattern_is_stopped(tool: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sample_catalog.runnable._common.TIME_LIMIT_S", 0.5)
    began = monotonic()
    result = call(pattern_bench.server, tool, **arguments)
    assert result.is_error
    assert "too expensive" in text(result)
    assert monotonic() - began < GENEROUS_S


def test_a_replacement_cannot_blow_up() -> None:
    result = call(
        pattern_bench.server, "replace_matches", pattern="(?=(.*))", text="y" * 50_000, replacement=r"\1" * 100
    )
    assert result.is_error
    assert "longer than" in text(result)


def test_a_schema_cannot_fetch_and_has_to_be_one() -> None:
    remote, broken = call_all(
        json_workbench.server,
        [
            ("validate_json", {"document": "1", "json_schema": '{"$ref": "http://127.0.0.1:9/x.json"}'}),
            ("validate_json", {"document": "1", "json_schema": '{"type": 5}'}),
        ],
    )
    assert "outside itself" in text(remote)
    assert "schema itself" in text(broken)


def test_an_explosive_pattern_in_a_schema_is_matched_in_linear_time() -> None:
    document, schema = f'"{"a" * 40}!"', '{"pattern": "^(a+)+$"}'
    assert "does not match" in text(call(json_workbench.server, "validate_json", document=document, json_schema=schema))
