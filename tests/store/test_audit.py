"""The chain of hashes over the log: what was written is verified, what was changed since is found."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from core.store import Store
from core.store.log import START, Audit
from tests.cases import each


@pytest.fixture
def log(tmp_path: Path, make: SimpleNamespace) -> Path:
    """A store with five writes of eight records of several kinds."""
    path = tmp_path / "log.duckdb"
    with Store(path) as store:
        store.events.append(make.decision(), make.outcome(), make.statistics())
        store.events.append_later(make.parameter())
        store.events.flush()
        store.labels.append(make.label(), make.label(note="née Ångström"))
        store.events.append(make.decision(total_ms=0.1 + 0.2))
        store.events.append(make.outcome(decision_id="d0", latency_s=1 / 3))
    return path


def test_what_was_written_holds_also_after_a_restart(log: Path, make: SimpleNamespace) -> None:
    with Store(log) as store:
        before = store.events.audit()
        assert (before.records, before.seals, before.older, before.problem) == (8, 5, 0, "")
        store.events.append(make.parameter())
    with Store(log) as store:
        lines = list[str]()
        after = store.events.audit(lines.append)
    assert (after.records, after.seals, after.problem) == (9, 6, "")
    assert after.hash != before.hash
    assert [json.loads(line)[1] for line in lines] == list(range(1, 10))


def test_others_write_while_it_is_verified(log: Path, make: SimpleNamespace) -> None:
    with Store(log) as store, ThreadPoolExecutor(1) as thread:
        written: list[None] = []

        def take(_line: str) -> None:
            if not written:
                written.append(thread.submit(store.events.append, make.parameter()).result(10))

        assert store.events.audit(take).records == 8
        assert store.events.audit().records == 9


@each(
    ("change", "found"),
    [
        ("UPDATE outcomes SET kind = 'tool_error' WHERE sequence = 2", "record 3 is not what was sealed"),
        ("UPDATE labels SET note = '' WHERE sequence = 6", "records 5 to 6 was changed"),
        ("DELETE FROM parameters WHERE sequence = 4", "record 4 is missing"),
        ("DELETE FROM seals WHERE last = 6", "record 7: the write before it, from record 5 on, is missing"),
        ("UPDATE seals SET hash = reverse(hash) WHERE last = 3", "record 3 is not what was sealed"),
        ("UPDATE decisions SET sequence = CASE sequence WHEN 1 THEN 7 ELSE 1 END", "record 3 is not what was sealed"),
        ("DELETE FROM seals WHERE last = 8", "Record 8 and what follows have no seal"),
    ],
)
def test_what_was_changed_is_found(log: Path, tmp_path: Path, change: str, found: str) -> None:
    copy = Path(shutil.copy(log, tmp_path / "copy.duckdb"))
    with duckdb.connect(str(copy)) as connection:
        connection.execute(change)
    with Store(copy) as store:
        assert found in store.events.audit().problem


def test_records_from_before_the_seals_are_counted_and_not_vouched_for(log: Path) -> None:
    with duckdb.connect(str(log)) as connection:
        connection.execute("DELETE FROM seals")
    with Store(log) as store:
        assert store.events.audit() == Audit(0, 0, START, 8)
