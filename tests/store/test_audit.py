"""The chain of hashes over the log: what was written is verified, what was changed since is found."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from core.store import Store
from core.store.audit import Audit
from core.store.connection import Database
from core.store.log import START, TABLES, canonical, chained, entry
from core.store.migrations import all_migrations
from tests.store.conftest import T0


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


CHANGES = [
    ("UPDATE outcomes SET kind = 'tool_error' WHERE sequence = 2", "record 3 is not what was sealed"),
    ("UPDATE labels SET note = '' WHERE sequence = 6", "records 5 to 6 was changed"),
    ("DELETE FROM parameters WHERE sequence = 4", "record 4 is missing"),
    ("DELETE FROM seals WHERE last = 6", "record 7: the write before it, from record 5 on, is missing"),
    ("UPDATE seals SET hash = reverse(hash) WHERE last = 3", "record 3 is not what was sealed"),
    ("UPDATE decisions SET sequence = CASE sequence WHEN 1 THEN 7 ELSE 1 END", "record 3 is not what was sealed"),
    ("DELETE FROM seals WHERE last = 8", "Record 8 and what follows have no seal"),
]


def test_what_was_changed_is_found(log: Path, tmp_path: Path) -> None:
    for number, (change, problem) in enumerate(CHANGES):
        copy = Path(shutil.copy(log, tmp_path / f"{number}.duckdb"))
        with duckdb.connect(str(copy)) as connection:
            connection.execute(change)
        with Store(copy) as store:
            assert problem in store.events.audit().problem, change


def test_records_from_before_the_seals_are_counted_and_not_vouched_for(log: Path) -> None:
    with duckdb.connect(str(log)) as connection:
        connection.execute("DELETE FROM seals")
    with Store(log) as store:
        assert store.events.audit() == Audit(0, 0, START, 8)


LATER = timedelta(days=31)


def removed(store: Store) -> int:
    return store.events.remove_traces(T0 + timedelta(days=1), T0 + LATER)


def test_traces_are_removed_after_their_time_and_the_chain_still_verifies(
    tmp_path: Path, make: SimpleNamespace
) -> None:
    path, trace = tmp_path / "traces.duckdb", json.dumps({"servers": ["ä"] * 9_000}, ensure_ascii=False)
    with Store(path) as store:
        store.events.append(make.outcome(), make.decision(trace_json=trace))
        store.events.append(make.decision(id="old", trace_json=trace))
        store.events.append(make.decision(id="new", at=T0 + LATER, trace_json=trace))
        head, figures = store.events.audit().hash, store.activity.decision("old")
        assert figures is not None
        assert figures.trace_json == trace
        assert (removed(store), removed(store)) == (2, 0)
        assert store.activity.decision("old") == replace(figures, trace_json="")
        newer = store.activity.decision("new")
        assert newer is not None
        assert newer.trace_json == trace
        assert b"\xc3\xa4" in store.activity.export("decisions", "csv")
        lines = list[str]()
        after = store.events.audit(lines.append)
        assert (after.records, after.seals, after.without_traces, after.problem) == (5, 4, 3, "")
        assert [json.loads(line)[1] for line in lines] == [1, 2, 3, 4, 5]
        assert [len(line) > 9_000 for line in lines] == [False, False, False, True, False]
        assert after.hash != head
        store.events.append(make.decision(trace_json=trace))
        assert store.events.remove_traces(T0 + 2 * LATER, T0 + 2 * LATER) == 2
        assert store.events.audit().without_traces == 6
    changes = {
        "UPDATE decisions SET winner = 'x::y' WHERE id = 'old'": "records 1 to 3 was changed since their traces were removed",
        "DELETE FROM outcomes": "records 1 to 3 was changed",
        "UPDATE seals SET hash = reverse(hash) WHERE last = 2": "records 1 to 3 was changed",
        "UPDATE trace_removals SET hash = reverse(hash)": "records 1 to 3 was changed",
        "DELETE FROM trace_removals WHERE last = 6": "is not what was sealed",
        "UPDATE decisions SET subtask = 'x' WHERE id = 'new'": "records 4 to 6 was changed",
    }
    for number, (change, problem) in enumerate(changes.items()):
        copy = Path(shutil.copy(path, tmp_path / f"{number}.duckdb"))
        with duckdb.connect(str(copy)) as connection:
            connection.execute(change)
        with Store(copy) as store:
            assert problem in store.events.audit().problem, change


def test_a_log_that_was_changed_keeps_its_traces(log: Path) -> None:
    with duckdb.connect(str(log)) as connection:
        connection.execute("UPDATE outcomes SET kind = 'tool_error' WHERE sequence = 2")
    with Store(log) as store:
        assert removed(store) == 0
        assert "record 3" in store.events.audit().problem


def test_an_old_store_keeps_its_traces_and_its_chain(tmp_path: Path, make: SimpleNamespace) -> None:
    path, trace = tmp_path / "old.duckdb", json.dumps({"tools": ["née"] * 3_000})
    events = [make.decision(trace_json=trace), make.outcome()]
    old = Database(path, all_migrations()[:20])
    with old.transaction() as connection:
        lines = list[str]()
        for number, event in enumerate(events, 1):
            values = entry(event).values
            lines.append(canonical(type(event), number, values))
            marks = ", ".join("?" * (len(values) + 1))
            connection.execute(f"INSERT INTO {TABLES[type(event)]} VALUES ({marks})", [number, *values])
        connection.execute("INSERT INTO seals VALUES (2, 1, ?)", [chained(START, lines)])
    old.close()
    with Store(path) as store:
        assert store.activity.decision(events[0].id) == events[0]
        assert store.events.audit() == Audit(2, 1, chained(START, lines), 0)
        assert removed(store) == 1
        after = store.events.audit()
        assert (after.records, after.problem, after.without_traces) == (3, "", 2)
