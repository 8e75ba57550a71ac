"""One store, several processes at once: each gets its turn, the log stays one chain, and a journal belongs to its console."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from core.domain.console import Owner, announced
from core.domain.errors import StoreBusyError
from core.domain.events import Spent
from core.domain.tasks import RequestChange
from core.store import Store, connection
from core.store.connection import COMMAND, CONSOLE
from core.store.log import checked
from tests.cli.conftest import wait_for
from tests.store.conftest import SPENT
from tests.world import NOON, open_world, spending

ROOT = Path(__file__).parents[2]
WRITES = """
import sys, time
from datetime import UTC, datetime
from core.domain.events import ParameterEvent
from core.store import Store
from core.store.connection import COMMAND
with Store(sys.argv[1], sharing=COMMAND) as store:
    for number in range(12):
        store.events.append(ParameterEvent(datetime.now(UTC), "ehrr", sys.argv[2], "", str(number), "test"))
        time.sleep(0.15 if number % 4 == 0 else 0)
    print("done", flush=True)
    store.activity.latest_sequence()
    sys.stdin.read()
"""


def writer(path: Path, name: str) -> subprocess.Popen[str]:
    """A process that writes with pauses, and goes on after its last write until its input ends."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", WRITES, str(path), name], cwd=ROOT, **pipes)


@contextmanager
def door(path: Path, store: Store) -> Generator[None]:
    """A console's door that lends the file."""

    class Door(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            store.lend()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as served:
        Thread(target=served.serve_forever, daemon=True).start()
        with announced(path, Owner(f"http://127.0.0.1:{served.server_port}", "key")):
            yield
        served.shutdown()


def test_a_console_and_two_commands_write_by_turns_and_one_is_killed(tmp_path: Path, make: SimpleNamespace) -> None:
    path, sequences = tmp_path / "db", list[int]()
    with Store(path, sharing=CONSOLE) as store, door(path, store):
        store.on_return = lambda: sequences.append(store.activity.latest_sequence())
        journal = store._journal
        journal.add((Spent, checked(SPENT)))  # as a call that is under way
        children = [writer(path, name) for name in ("one", "two")]
        for _ in range(12):
            store.events.append(make.parameter())
        for child in children:
            assert child.stdout.readline() == "done\n"
        children[0].kill()
        wait_for(lambda: bool(sequences) and sequences[-1] == 36)
        assert journal.left() == [(SPENT,)]  # no command took it over
        assert not store.events.audit().problem
        names = [
            row["name"] for row in store._database.read("SELECT name FROM parameters ORDER BY sequence").to_pylist()
        ]
        assert (len(names), names.count("one"), names.count("two")) == (36, 12, 12)
        children[1].communicate(timeout=60)
        assert children[1].returncode == 0
        children[0].communicate()


def test_a_console_reads_anew_also_when_its_file_comes_back_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_read, waits_s, busy = Event(), list[float](), iter([StoreBusyError("in use")])

    def awaited(path: Path, where: str, patience_s: float, *, asks: bool) -> Any:
        waits_s.append(patience_s)
        for error in busy:
            raise error
        return connection.connect(path, where)

    with Store(tmp_path / "db", sharing=CONSOLE) as store:
        store.on_return = is_read.set
        monkeypatch.setattr(connection, "LENT_S", 0.01)
        monkeypatch.setattr(connection, "_awaited", awaited)
        store.lend()
        assert is_read.wait(5)
        assert waits_s == [0.01, 0.01]  # a page waits meanwhile


@pytest.mark.parametrize("release", [Store.close, lambda store: store._database._leave()])
def test_a_release_of_the_file_waits_for_a_thread_that_keeps_it_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: Callable[[Store], None]
) -> None:
    monkeypatch.setattr(connection, "LONGEST_S", 60)
    store, is_kept = Store(tmp_path / "db", sharing=COMMAND), Event()
    database = store._database

    def write() -> None:
        with store.kept():
            is_kept.set()
            wait_for(lambda: database.closed or database._leaving)
            store.set_setting("catalog", "demo")

    Thread(target=write, daemon=True).start()
    assert is_kept.wait(5)
    releasing = Thread(target=release, args=(store,), daemon=True)
    releasing.start()
    releasing.join(5)
    assert not releasing.is_alive()
    store.close()
    with Store(tmp_path / "db") as store:
        assert store.get_setting("catalog") == "demo"


def test_a_command_takes_over_the_journal_of_a_killed_console(tmp_path: Path) -> None:
    Store(tmp_path / "db").close()
    console = Store(tmp_path / "db", sharing=CONSOLE)
    console._journal.add((Spent, checked(SPENT)))
    console._release()  # as the system does for a killed process
    with Store(tmp_path / "db", sharing=COMMAND) as store:
        assert spending(store) == (SPENT,)
    assert not (tmp_path / "db.journal").exists()


def test_a_console_takes_over_the_judgments_and_requests_of_a_command(tmp_path: Path) -> None:
    with open_world(tmp_path / "db", in_memory=True) as app:
        judged = app.judgments.judge("read", "files::read", 3, judge="ann", set_name="trip", catalog="world")
        assert not app.requests.of_catalog("world")
        app.store.judgments.append(replace(judged, judge="bob"))
        app.store.requests.append(
            RequestChange("1", NOON, "world", "b", "files::read", '["open my notes"]', "operator", "", False, "", "cli")
        )
        app.store.on_return()
        assert app.judgments.sets("world") == {"trip": 2}
        assert [*app.requests.of_catalog("world")] == ["files::read"]
