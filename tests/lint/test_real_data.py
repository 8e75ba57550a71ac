"""Catalogs of real servers: no rule calls any of them an attack, and what rules find there was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.domain.catalog import Catalog
from core.importers import read_files
from core.lint import lint

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real catalogs are not part of the project")

READ = {  # error and warning findings that were read and are right
    "livemcpbench/tools.json": {
        "broken_schema": 1, "missing_description": 19, "vague_description": 1, "untyped_parameters": 2,
        "large_tool": 4, "unmarked_destruction": 14,
    },
    "real_servers/catalog.json": {
        "asks_for_context": 30, "claims_precedence": 1, "empty_name": 1, "vague_description": 2,
        "untyped_parameters": 2, "large_tool": 26, "unmarked_destruction": 13,
    },
}  # fmt: skip


@pytest.mark.parametrize("file", READ)
def test_what_is_found_is_what_was_read(file: str) -> None:
    report = lint(Catalog(file, read_files([DATA / file]).servers))
    serious = {
        rule: n
        for rule, n in report.by_rule().items()
        if rule in {f.rule for f in report.findings if f.severity != "note"}
    }
    assert serious == READ[file]
