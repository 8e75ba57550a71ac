"""Judgments in the store: what counts, and what the log's seals say of them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from core.domain.errors import StoreError
from core.domain.feedback import last_said
from core.store import Store


def test_they_come_back_as_they_were(tmp_path: Path, make: SimpleNamespace) -> None:
    judgments = [
        make.judgment(),
        make.judgment(grade=None, note=""),
        make.judgment(note="=1+1\n'quoted'", decision_id="d"),
    ]
    with Store(tmp_path / "db") as store:
        store.judgments.append(*judgments, make.judgment(catalog="other"))
    with Store(tmp_path / "db") as store:
        assert store.judgments.history("demo") == tuple(judgments)
        assert store.events.audit().records == 4


def test_all_or_none(store: Store, make: SimpleNamespace) -> None:
    with pytest.raises(StoreError, match=r"Judgment\.note cannot be stored"):
        store.judgments.append(make.judgment(), make.judgment(note="\ud800"))
    assert store.judgments.history("demo") == ()


def test_of_a_judge_the_last_word_on_a_tool_counts_and_none_takes_back(make: SimpleNamespace) -> None:
    first, second = make.judgment(grade=1), make.judgment(grade=3)
    others = [make.judgment(judge="bob"), make.judgment(tool="files::write"), make.judgment(server_hint="disk")]
    assert last_said([first, *others, second]) == (*others, second)
    assert last_said([first, *others, second, make.judgment(grade=None)]) == tuple(others)
    assert last_said([first, make.judgment(grade=None), second]) == (second,)


def test_a_grade_that_was_changed_in_the_file_is_found(tmp_path: Path, make: SimpleNamespace) -> None:
    with Store(tmp_path / "db") as store:
        store.judgments.append(make.judgment(), make.judgment(judge="bob"))
    with duckdb.connect(str(tmp_path / "db")) as raw:
        raw.execute("UPDATE judgments SET grade = NULL WHERE judge = 'bob'")
    with Store(tmp_path / "db") as store:
        assert "one of the records 1 to 2 was changed" in store.events.audit().problem
