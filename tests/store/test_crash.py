"""A process that is killed: its decision stays, there is no half outcome, and every call that it answered is found."""

from __future__ import annotations

import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

from core.app import App
from core.domain.outcome import OutcomeKind
from core.store import Store
from tests.forking import FORKS
from tests.store.victim import changed, large
from tests.world import ROOT, call, figures, open_test_app


def test_killed(app: App, path: Path) -> None:
    assert app.calls.run(call("echo")).outcome.kind is OutcomeKind.OK
    before = figures(app)
    app.close()

    line = [FORKS.python, "-m", "tests.store.victim", str(path), "call"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        decision_id, server_pid = victim.stdout.readline().split()
        FORKS.kill(victim)

    with open_test_app(path) as again:
        activity = again.store.activity
        kept = activity.decision(decision_id)
        assert (kept.subtask, kept.catalog) == ("swallow words", "world")
        assert activity.decision_outcomes(decision_id) == ()
        assert (activity.decision_count(), activity.call_count()) == (1, 1)
        assert len(activity.statistics_history("world", "raw")) == 1
        assert figures(again) == before
        assert again.routing.route("swallow words", catalog="world").winner is not None
        assert again.calls.run(call("echo")).server_before.calls == 1
        again.store.events.flush()
        assert activity.decision_count() == 2
    assert_gone(int(server_pid))


def test_a_catalog_that_was_being_edited_is_that_of_the_last_edit_or_the_next(tmp_path: Path) -> None:
    path = tmp_path / "db"
    line = [FORKS.python, "-m", "tests.store.victim", str(path), "edit"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        said = [victim.stdout.readline()]
        while "2\n" not in said or said[-1] != "saving\n":  # in the middle of an edit
            said.append(victim.stdout.readline())
        FORKS.kill(victim)
        said += victim.stdout.readlines()
    saved = max(int(one) for one in said if one.endswith("\n") and one != "saving\n")
    with Store(path) as store:
        found = store.catalogs.load_catalog("large")
        assert found in (changed(large("old"), saved), changed(large("old"), saved + 1))
        store.catalogs.save_catalog(changed(found, 5), "")
        assert store.catalogs.load_catalog("large") == changed(large("old"), 5)


def test_every_answered_call_is_found_after_kills(app: App, path: Path) -> None:
    app.close()
    line = [FORKS.python, "-m", "tests.store.victim", str(path), "answer"]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as victim:
        said = [victim.stdout.readline() for _ in range(40)]
        FORKS.kill(victim)
        said += victim.stdout.readlines()
    answered = [one.split() for one in said if one.endswith("\n")]
    assert len(answered) >= 40

    with open_test_app(path) as again:
        outcomes = [one.id for one in again.store.events.outcomes("world")]
        spent = [one.id for one in again.store.governance.spending(datetime.now(UTC).date().isoformat())]
        assert {outcome for outcome, _ in answered} <= set(outcomes)
        assert {spending for _, spending in answered} <= set(spent)
        assert len(outcomes) <= len(answered) + 3  # answered, killed before it was printed
        assert len(set(outcomes)) == len(outcomes)
        history = again.store.activity.statistics_history("world", "raw")
        assert list(history["outcome_id"]) == outcomes
        assert list(history["server_calls"]) == list(range(1, len(outcomes) + 1))
        assert not again.store.events.audit().problem


def assert_gone(pid: int) -> None:
    """A server whose client was killed sees the end of its input and leaves."""
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline, f"process {pid} was left behind"
        time.sleep(0.02)
