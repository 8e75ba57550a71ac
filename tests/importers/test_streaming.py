"""Several files as one import; and large lists of servers, read entry by entry, without their bad entries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Imported
from core.domain.errors import CatalogError
from core.domain.tool_table import ToolRows, packed
from core.importers import BrokenDocumentError, read_document, read_files
from core.importers.streaming import MOST_NAMED, STREAMED_BYTES
from tests.cases import each

SPACE = " " * STREAMED_BYTES


def server(name: str, **changes: Any) -> dict[str, Any]:
    tool = {"name": "get", "description": "Gets.", "inputSchema": {"type": "object"}}
    return {"name": name, "description": "It.", "tools": [tool], **changes}


def registry(name: str) -> dict[str, Any]:
    return {
        "server": {
            "name": name,
            "description": "It.",
            "remotes": [{"type": "streamable-http", "url": "https://x.org/mcp"}],
        }
    }


def project(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": "It.",
        "config": {"mcpServers": {}},
        "tools": {name: {"tools": server("")["tools"]}},
    }


def read(tmp_path: Path, text: str) -> Imported:
    file = tmp_path / "large.json"
    file.write_text(text, "utf-8")
    return read_files([file], pack=packed)


@each(
    "document",
    [
        {"servers": [server("a"), server("b", ask_usd=0.5), server("c", tools=[])]},
        {"about": {"count": 2}, "servers": [registry("org.x/a"), registry("org.x/b")]},
        [project("a"), project("b")],
    ],
    ids=["plain", "registry", "projects"],
)
def test_a_large_file_gives_what_a_small_one_gives(tmp_path: Path, document: Any) -> None:
    text = json.dumps(document)
    expected = read_document(text, source=str(tmp_path / "large.json"))
    streamed = read(tmp_path, text.replace("},", f"}},{SPACE}", 1))
    assert streamed == expected
    assert isinstance(streamed.servers[0].tools, ToolRows) or not streamed.servers[0].tools


def test_bad_entries_are_left_out_and_named(tmp_path: Path) -> None:
    bad = [
        7,
        server("b", ask_usd=-1),
        server("a"),
        server("x::y"),
        server("d", tools=[{"description": "No name."}]),
        server("\ud800"),
    ]
    imported = read(tmp_path, json.dumps({"servers": [server("a"), *bad, server("z")]}) + SPACE)
    assert [entry.name for entry in imported.servers] == ["a", "z"]
    assert imported.left_out == 6
    texts = [note.text for note in imported.notes]
    assert texts[0] == "6 of 8 entries were left out"
    assert texts[1:7] == [
        "left out: servers[1] is a number; give an object",
        'left out: servers[2] "b": ask_usd is -1; give a number of at least 0 or leave it out',
        'left out: servers[3] "a": name is the same as that of servers[0]; rename one of them',
        'left out: servers[4] "x::y": name holds "::", which separates server and tool; rename it',
        'left out: servers[5] "d" → tools[0]: name is missing; give one',
        "left out: servers[6].name holds half a character (a lone surrogate); remove it",
    ]
    assert {note.where for note in imported.notes[:7]} == {str(tmp_path / "large.json")}


def test_only_the_first_bad_entries_are_named(tmp_path: Path) -> None:
    bad = [server(f"s{n}", ask_usd="dear") for n in range(3 * MOST_NAMED)]
    imported = read(tmp_path, json.dumps({"servers": [*bad, server("good")]}) + SPACE)
    assert imported.left_out == 3 * MOST_NAMED
    texts = [note.text for note in imported.notes if note.text.startswith("left out: ")]
    assert len(texts) == MOST_NAMED
    assert (
        imported.notes[0].text
        == f"{3 * MOST_NAMED} of {3 * MOST_NAMED + 1} entries were left out; the first of them for these reasons"
    )


def test_a_list_without_a_good_entry_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BrokenDocumentError, match=r"servers\[0\].*ask_usd is text"):
        read(tmp_path, json.dumps({"servers": [server("a", ask_usd="dear")]}) + SPACE)


@each("end", [', {"name": "cut', "} nonsense"], ids=["cut", "nonsense"])
def test_a_file_that_is_not_json_is_refused_with_its_place(tmp_path: Path, end: str) -> None:
    with pytest.raises(BrokenDocumentError, match=r"line 1, column .* is not JSON"):
        read(tmp_path, SPACE + json.dumps({"servers": [server("a")]})[:-2] + end)


@each(
    "text",
    [f'// of mine\n{{"servers": [{json.dumps(server("a"))}]}}', '{"mcpServers": {"a": {"url": "https://x.org/mcp"}}}'],
    ids=["comment", "no list"],
)
def test_other_large_documents_are_read_whole(tmp_path: Path, text: str) -> None:
    assert [entry.name for entry in read(tmp_path, text + SPACE).servers] == ["a"]


def write(folder: Path, name: str, document: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_several_files_become_one_import(tmp_path: Path) -> None:
    first = write(tmp_path, "a.json", {"servers": [{"name": "a", "tools": [{"name": "t"}]}]})
    second = write(tmp_path, "b.json", {"mcpServers": {"b": {"command": "x", "env": {"K": "v"}}}})
    imported = read_files([first, str(second)])
    assert [server.name for server in imported.servers] == ["a", "b"]
    assert (imported.format, imported.secrets) == ("plain + client_config", {"b/K": "v"})
    assert imported.needs_discovery == ("b",)


def test_files_are_taken_together_or_not_at_all(tmp_path: Path) -> None:
    first = write(tmp_path, "a.json", {"servers": [{"name": "a", "tools": []}]})
    second = write(tmp_path, "b.json", {"mcpServers": {"a": {"command": "x"}}})
    with pytest.raises(CatalogError, match=r'b\.json: the server "a" is also in .*a\.json; rename one of them\.'):
        read_files([first, second])
    with pytest.raises(CatalogError, match=r"none\.json: it cannot be read \(no such file or directory\); .*1 more"):
        read_files([first, tmp_path / "none.json", tmp_path])
    with pytest.raises(CatalogError, match="No file was given"):
        read_files([])
    ask = {"servers": {"c": {"command": "x"}}, "inputs": [{"id": "key", "description": "GitHub"}]}
    other = {"servers": {"d": {"command": "x"}}, "inputs": [{"id": "key", "description": "Slack"}]}
    with pytest.raises(CatalogError, match='the input "key" asks for something else in'):
        read_files([write(tmp_path, "c.json", ask), write(tmp_path, "d.json", other)])
