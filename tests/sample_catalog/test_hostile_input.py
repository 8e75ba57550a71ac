"""What hostile SQL, patterns and schemas must not do to the sample servers."""

from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from sample_catalog.runnable import (
    json_workbench,
    larder_sql,
    pattern_bench,
)
from tests.sample_catalog.calls import Call, call, call_all, text

GENEROUS_S = 20


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
