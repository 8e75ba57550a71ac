"""The journal: what was answered is found after a kill, once, sealed; torn lines do no harm; it stays small and private."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from core.domain.errors import StoreError
from core.domain.events import Spent
from core.store import Store
from core.store.journal import LARGEST_BYTES, Journal
from core.store.log import checked, entry
from core.store.tables import TypedTable
from tests.store.conftest import SPENT, T0
from tests.world import spending


def spent(id_: str, **changes: Any) -> Spent:
    """The spending of a call."""
    return replace(SPENT, id=id_, **changes)


def killed(store: Store, folder: Path) -> Path:
    """The files as a process that is killed now leaves them."""
    folder.mkdir()
    for file in store.path.parent.glob("db*"):
        shutil.copy(file, folder)
    return folder / "db"


def test_what_was_answered_is_found_at_the_next_start_and_counts_once(tmp_path: Path, make: SimpleNamespace) -> None:
    (tmp_path / "own").mkdir()
    store = Store(tmp_path / "own" / "db")
    journal = tmp_path / "own" / "db.journal"
    events = [(event := make.outcome(), make.statistics(outcome_id=event.id)) for _ in range(3)]
    with store._database.lock:  # nothing can be written in the background
        store.events.append_later(*events[0])
        store.governance.keep(spent("written"))
        store.events.flush()
        store.governance.spending(SPENT.day)
        assert journal.read_bytes() == b""
        store.governance.keep(spent("settled", tokens=90, settled=False))
        store.events.append_later(make.decision(), *events[1])
        store.governance.keep(spent("settled"))
        store.governance.keep(spent("reserved", tokens=90, settled=False))
        further = make.outcome()
        store.events.append_later(*events[2], further)  # together
        assert journal.stat().st_mode & 0o777 == 0o600
        path = killed(store, tmp_path / "killed")
    store.close()
    assert not journal.exists()

    leftover = path.with_name("db.journal").read_bytes()
    damaged = b'[["Spent", {"id": 7}]]\n[1]\nnull\n\xff\n\n' + leftover + leftover + b'[["Spent", {"id": "torn"'
    for content in (
        leftover,
        leftover,
        damaged,
    ):  # the next start is killed before it removes the journal, again and again
        path.with_name("db.journal").write_bytes(content)
        with Store(path) as store:
            ids = [*(outcome.id for outcome, _ in events), further.id]
            assert [row.id for row in store.events.outcomes("demo")] == ids
            history = store.activity.statistics_history("demo", "files")
            assert list(history["outcome_id"]) == [outcome.id for outcome, _ in events]
            assert not store.events.audit().problem
            store.governance.settle_left_over()
            rows = {row.id: row for row in spending(store)}
            assert rows == {id_: spent(id_) for id_ in ("written", "settled")} | {
                "reserved": spent("reserved", tokens=90)
            }
        assert not path.with_name("db.journal").exists()


def test_what_cannot_be_taken_over_stays_and_is_said(tmp_path: Path) -> None:
    with Store(tmp_path / "db") as store:
        store._database._open.writer.execute("DROP TABLE spending")
    journal = Journal(tmp_path / "db")
    journal.add((Spent, checked(spent("1"))))
    with pytest.raises(StoreError, match=r"The calls in .*db\.journal cannot be stored: .*spending"):
        Store(tmp_path / "db")
    assert journal.left() == [(spent("1"),)]


def test_a_full_disk_refuses_a_reservation_and_no_call_that_has_run(tmp_path: Path, make: SimpleNamespace) -> None:
    with Store(tmp_path / "db") as store:
        (tmp_path / "db.journal").symlink_to("/dev/full")
        with pytest.raises(StoreError, match=r"db\.journal cannot be written \(No space left on device\)"):
            store.governance.keep(spent("1", settled=False))
        store.governance.keep(spent("2"), has_run=True)
        store.events.append_later(make.decision(), outcome := make.outcome())
        store.events.flush()
        assert list(store.events.outcomes("demo")) == [outcome]
        assert spending(store) == (spent("2"),)
        assert store.activity.decision_count() == 1


def test_the_spending_of_a_day_is_summed_but_for_the_calls_asked_for_and_those_that_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def total(**changes: Any) -> Spent:
        return spent("", **{"tool": ""} | changes)

    with Store(tmp_path / "db") as store:
        later = T0 + timedelta(seconds=1)
        rows = [spent("1", at=later), spent("2"), spent("3", server="mail", at=later), spent("4", day="2026-02-28")]
        for row in (*rows, spent("open", over=True), spent("waits", settled=False)):
            store.governance.keep(row)
        store.governance.flush()
        with monkeypatch.context() as patched:
            patched.setattr(TypedTable, "put_distinct", Mock(side_effect=StoreError("full")))
            store.governance.keep(waits := spent("waits", tokens=1))
            days = store.governance.spending(SPENT.day, ["open"])
        expected = {total(usd=0.004, calls=2, tokens=80), total(server="mail", at=later), waits}
        assert {*days} == expected | {spent("open", tool="", over=True)}
        assert len(days) == 4


def test_a_journal_that_is_never_empty_stays_small(tmp_path: Path, make: SimpleNamespace) -> None:
    journal, file = Journal(tmp_path / "db"), tmp_path / "db.journal"
    first = make.outcome(error="x" * 2000)
    journal.add(entry(first))
    sizes: list[int] = []
    for _ in range(3 * LARGEST_BYTES // 2300):
        journal.done([journal.add(entry(make.outcome(error="y" * 2000)))])
        sizes.append(file.stat().st_size)
    assert LARGEST_BYTES / 2 < max(sizes) <= LARGEST_BYTES
    journal.close()
    assert file.stat().st_mode & 0o777 == 0o600
    leftover = Journal(tmp_path / "db").left()
    assert leftover[0] == (first,)
    assert len(leftover) < len(sizes)


@pytest.mark.parametrize("text", ["", "née\u2028 \x00 \n 👩‍👩‍👧", '"\\'])
def test_any_text_comes_back_as_it_was(tmp_path: Path, make: SimpleNamespace, text: str) -> None:
    outcome = make.outcome(error=text, client=text, price_usd=None, latency_s=1 / 3)
    journal = Journal(tmp_path / "db")
    journal.add(entry(outcome), entry(statistics := make.statistics()))
    assert journal.left() == [(outcome, statistics)]
    assert json.loads((tmp_path / "db.journal").read_text())[0][1]["error"] == text
