"""Processes that are killed, many threads, a full disk: what was answered is found, and there is no half outcome."""

from __future__ import annotations

import errno
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from pyarrow import parquet

from core.app import App
from core.catalogs.decision_log import AGENT
from core.domain.catalog import Catalog, Server
from core.domain.errors import StoreError
from core.domain.outcome import OutcomeKind, ToolCall
from core.governance.refusals import Wanted
from core.store import Store, journal
from core.store.connection import Database
from tests.forking import FORKS
from tests.store.victim import changed, large
from tests.world import ROOT, Scripted, call, figures, open_test_app, spending


def test_killed(app: App, path: Path) -> None:
    assert app.calls.run(call("echo")).outcome.kind is OutcomeKind.OK
    before = figures(app)
    app.close()

    line = [FORKS.python, "-m", "tests.store.victim", str(path), "call"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        decision_id, server_pid = victim.stdout.readline().split()
        FORKS.kill(victim)

    with open_test_app(path) as reopened:
        activity = reopened.store.activity
        decision = activity.decision(decision_id)
        assert (decision.subtask, decision.catalog) == ("swallow words", "world")
        assert activity.decision_outcomes(decision_id) == ()
        assert (activity.decision_count(), activity.call_count()) == (1, 1)
        assert len(activity.statistics_history("world", "raw")) == 1
        assert figures(reopened) == before
        assert reopened.routing.route("swallow words", catalog="world").winner is not None
        assert reopened.calls.run(call("echo")).server_before.calls == 1
        reopened.store.events.flush()
        assert activity.decision_count() == 2
    assert_gone(int(server_pid))


def test_a_catalog_that_was_being_edited_is_that_of_the_last_edit_or_the_next(tmp_path: Path) -> None:
    path = tmp_path / "db"
    line = [FORKS.python, "-m", "tests.store.victim", str(path), "edit"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        lines = [victim.stdout.readline()]
        while "2\n" not in lines or lines[-1] != "saving\n":  # in the middle of an edit
            lines.append(victim.stdout.readline())
        FORKS.kill(victim)
        lines += victim.stdout.readlines()
    saved = max(int(text) for text in lines if text.endswith("\n") and text != "saving\n")
    with Store(path) as store:
        catalog = store.catalogs.load_catalog("large")
        assert catalog in (changed(large("old"), saved), changed(large("old"), saved + 1))
        store.catalogs.save_catalog(changed(catalog, 5), "")
        assert store.catalogs.load_catalog("large") == changed(large("old"), 5)


def test_every_answered_call_is_found_after_kills(app: App, path: Path) -> None:
    app.close()
    line = [FORKS.python, "-m", "tests.store.victim", str(path), "answer"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        lines = [victim.stdout.readline() for _ in range(40)]
        FORKS.kill(victim)
        lines += victim.stdout.readlines()
    answered = [text.split() for text in lines if text.endswith("\n")]
    assert len(answered) >= 40

    with open_test_app(path) as reopened:
        outcomes = [event.id for event in reopened.store.events.outcomes("world")]
        spent = [row.id for row in spending(reopened.store)]
        assert {outcome for outcome, _ in answered} <= set(outcomes)
        assert {id_ for _, id_ in answered} <= set(spent)
        assert len(outcomes) <= len(answered) + 3  # answered, killed before it was printed
        assert len(set(outcomes)) == len(outcomes)
        history = reopened.store.activity.statistics_history("world", "raw")
        assert list(history["outcome_id"]) == outcomes
        assert list(history["server_calls"]) == list(range(1, len(outcomes) + 1))
        assert not reopened.store.events.audit().problem


def test_an_agent_gets_its_answer_though_the_disk_fills_during_its_call(
    app: App, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.close()

    def fill(_: ToolCall) -> None:
        monkeypatch.setattr(journal, "_written", Mock(side_effect=OSError(errno.ENOSPC, "full")))

    with open_test_app(path, caller=lambda: Scripted(meanwhile=fill)) as reopened:
        _, tool = reopened.catalogs.catalog("world").find("raw", "echo")
        made = reopened.governed.start(Wanted("ann", call("echo"), tool, 100), origin=AGENT, counted=lambda *_: 1)
        assert made.handle.report().outcome.kind is OutcomeKind.OK
        reopened.store.events.flush()
        assert reopened.store.activity.call_count() == 1
        assert [(row.id, row.tokens) for row in spending(reopened.store)] == [(made.permit.reserved.id, 1)]


def assert_gone(pid: int) -> None:
    """A server whose client was killed sees the end of its input and leaves."""
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline, f"process {pid} was left behind"
        time.sleep(0.02)


WRITER = """
import sys
from datetime import UTC, datetime
from core.domain.events import OutcomeEvent
from core.store import Store

store = Store(sys.argv[1])
number = 0
while True:
    ids = [f"{number}.{part}" for part in range(1 + number % 3)]
    now, text = datetime.now(UTC), "x" * 5000
    events = [OutcomeEvent(i, now, None, "demo", "s", "t", "ok", 0.1, None, 1, None, False, text, "cli") for i in ids]
    if number % 4:
        store.events.append(*events)
    else:
        store.events.append_later(*events)
        store.events.flush()
    print(*ids, flush=True)
    number += 1
"""


def test_a_killed_process_loses_no_committed_event(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with subprocess.Popen([FORKS.python, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(60)]
        FORKS.kill(process)
        lines += process.stdout.readlines()
    printed = [id_ for line in lines if line.endswith("\n") for id_ in line.split()]
    with Store(path) as store:
        stored = [event.id for event in store.events.outcomes("demo")]
        assert stored[: len(printed)] == printed
        assert len(stored) - len(printed) in (0, 1, 2, 3)  # committed, killed before it was printed
        assert store.activity.latest_sequence() == len(stored)


def sequences(store: Store, table: str) -> list[int]:
    return parquet.read_table(BytesIO(store.activity.export(table, "parquet")))["sequence"].to_pylist()


def test_eight_writers(tmp_path: Path, make: SimpleNamespace) -> None:
    batches = [[make.outcome(server=f"s{w}") for _ in range(4)] for w in range(8)]
    with Store(tmp_path / "db") as store, ThreadPoolExecutor(8) as threads:

        def write(events: list[object]) -> None:
            for n, event in enumerate(events):
                (store.events.append if n % 2 else store.events.append_later)(event)
                store.catalogs.save_catalog(Catalog("c", (Server("s"),)), "test")
                store.catalogs.set_override(make.override())
            store.events.flush()

        list(threads.map(write, batches))
        stored = list(store.events.outcomes("demo"))
        assert len(stored) == 32
        assert sorted(sequences(store, "outcomes") + sequences(store, "overrides")) == list(range(1, 65))
        assert store.activity.latest_sequence() == 64
        for number, batch in enumerate(batches):
            assert [event for event in stored if event.server == f"s{number}"] == batch
    with Store(tmp_path / "db") as store:
        assert list(store.events.outcomes("demo")) == stored


def test_a_close_waits_for_the_reads_under_way() -> None:
    def read(database: Database) -> str:
        try:
            while True:
                database.read("SELECT 1")
        except StoreError as error:
            return str(error)

    with ThreadPoolExecutor(4) as threads:
        for _ in range(20):
            database = Database()
            readers = [threads.submit(read, database) for _ in range(4)]
            database.read("SELECT 2")
            database.close()
            assert {reader.result() for reader in readers} == {"The store in memory is closed; open it again."}


FULL_DISK = """
import logging, resource, sys, time
from pathlib import Path

from core.store import Store
from tests.store.conftest import DECISION, OUTCOME, maker

sys.dont_write_bytecode = True  # a limit of the size would cut it
path, decision, outcome, most = Path(sys.argv[1]), maker(DECISION), maker(OUTCOME), resource.RLIM_INFINITY
logging.basicConfig(stream=sys.stdout, level=logging.ERROR, format="%(message)s")


def until(is_storing):
    deadline = time.monotonic() + 30
    while (not store.problem) != is_storing:  # as /readyz asks
        assert time.monotonic() < deadline
    return store.problem


with Store(path) as store:
    store.events.append(outcome())
    made = Store.of_tables(store.tables())
    made.events.append(outcome())
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.with_name(f"{path.name}.wal").stat().st_size, most))
    store.events.append_later(decision(id="waits"))
    store.events.append_later(outcome(id="waits, too", decision_id="waits"))
    print(until(False))
    for use in (store.events.flush, lambda: store.merge(made, 1, catalogs=[], settings=[])):
        try:
            use()
        except Exception as error:
            print("refused:", error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    until(True)
    store.events.flush()
    print(store.activity.decision("waits").id, [event.id for event in store.activity.decision_outcomes("waits")])
    print(store.events.audit().records, store.events.audit().problem)
"""


def test_what_a_full_disk_refuses_is_said_and_written_when_there_is_room(tmp_path: Path) -> None:
    line = [FORKS.python, "-c", FULL_DISK, str(tmp_path / "db")]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    logged, reason, flushed, merged, waiting, audited = ended.stdout.splitlines()
    assert "File too large" in reason
    assert reason in logged
    assert reason in flushed
    assert "nothing of it was kept" in merged
    assert (waiting, audited) == ("waits ['waits, too']", "3 ")
