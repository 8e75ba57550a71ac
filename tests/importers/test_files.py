"""Several files as one import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.errors import CatalogError
from core.importers import read_document, read_files


def write(folder: Path, name: str, document: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_several_files_become_one_import(tmp_path: Path) -> None:
    one = write(tmp_path, "a.json", {"servers": [{"name": "a", "tools": [{"name": "t"}]}]})
    two = write(tmp_path, "b.json", {"mcpServers": {"b": {"command": "x", "env": {"K": "v"}}}})
    imported = read_files([one, str(two)])
    assert [server.name for server in imported.servers] == ["a", "b"]
    assert (imported.format, imported.secrets) == ("plain + client_config", {"b/K": "v"})
    assert imported.needs_discovery == ("b",)


def test_files_are_taken_together_or_not_at_all(tmp_path: Path) -> None:
    one = write(tmp_path, "a.json", {"servers": [{"name": "a", "tools": []}]})
    two = write(tmp_path, "b.json", {"mcpServers": {"a": {"command": "x"}}})
    with pytest.raises(CatalogError, match=r'b\.json: the server "a" is also in .*a\.json; rename one of them\.'):
        read_files([one, two])
    with pytest.raises(CatalogError, match=r"none\.json: it cannot be read \(no such file or directory\); .*1 more"):
        read_files([one, tmp_path / "none.json", tmp_path])
    with pytest.raises(CatalogError, match="No file was given"):
        read_files([])
    ask = {"servers": {"c": {"command": "x"}}, "inputs": [{"id": "key", "description": "GitHub"}]}
    other = {"servers": {"d": {"command": "x"}}, "inputs": [{"id": "key", "description": "Slack"}]}
    with pytest.raises(CatalogError, match='the input "key" asks for something else in'):
        read_files([write(tmp_path, "c.json", ask), write(tmp_path, "d.json", other)])


def test_bytes_with_a_byte_order_mark() -> None:
    assert read_document(b'\xef\xbb\xbf{"mcpServers": {"a": {"command": "x"}}}', source="a.json").servers[0].name == "a"
