"""Labels from JSON Lines: right and wrong tools, and what is refused."""

from __future__ import annotations

import json

import pytest

from core.domain.errors import CatalogError
from core.domain.feedback import LabelledQuery
from core.importers.judgments import read_labels
from tests.cases import each

LINE = {"id": "1", "subtask": " read a file ", "relevant": ["files::read"]}


def lines(*changes: dict[str, object]) -> str:
    return "\n\n".join(json.dumps({**LINE, **change, "id": str(n)}) for n, change in enumerate(changes))


def test_labelled_tasks_are_labels() -> None:
    text = lines({}, {"wrong": ["files::write", "files::read", "files::write"], "server_hint": "disk", "question": "q"})
    assert read_labels(text, source="a.jsonl") == (
        LabelledQuery("read a file", "", ("files::read",)),
        LabelledQuery("read a file", "disk", ("files::read",), ("files::write",), "q"),
    )
    assert read_labels(f"\ufeff{lines({})}".encode(), source="a.jsonl") == (
        LabelledQuery("read a file", "", ("files::read",)),
    )


@each("wrong", ["files::write", [1], ["plain"], ["::x"], {"a": 1}])
def test_what_is_wrong_with_wrong_is_said_with_its_line(wrong: object) -> None:
    with pytest.raises(CatalogError, match=r"a.jsonl: line 3: wrong is no list of server::tool"):
        read_labels(lines({}, {"wrong": wrong}), source="a.jsonl")


@each("text", ["", "{", '{"id": "1"}', "[]", b"\xff"])
def test_other_files_are_refused_as_labelled_tasks_are(text: str | bytes) -> None:
    with pytest.raises(CatalogError, match=r"a\.jsonl"):
        read_labels(text, source="a.jsonl")
