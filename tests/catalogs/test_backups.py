"""A store in one file and back: everything that it had, as it was at one moment, or nothing."""

from __future__ import annotations

import os
import threading
import zipfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from core.app import App
from core.catalogs.backups import STORE, Backups, ScheduledBackups, restore
from core.catalogs.decision_log import AGENT
from core.domain.catalog import ServerId
from core.domain.errors import StoreBusyError, WayfareError
from core.domain.feedback import By
from core.domain.outcome import OutcomeKind
from core.domain.settings import Settings
from core.governance.budgets import Budget
from core.governance.policy import Policy, Scope
from core.governance.refusals import Wanted
from core.servers.secret_file import SecretFile
from core.store import Store
from tests.world import NOON, Scripted, call, figures, open_test_app, open_world

SECRET = ServerId("world", "raw"), "raw/KEY"


def lived_in(folder: Path) -> App:
    """A world in which something of every kind has happened."""
    open_world(folder / "wayfare.duckdb").close()
    app = open_test_app(folder / "wayfare.duckdb", caller=lambda: Scripted(OutcomeKind.OK, OutcomeKind.TOOL_ERROR))
    decision = app.routing.route("echo my words", catalog="world")
    for tool in ("echo", "nap"):
        app.calls.run(call(tool, decision_id=decision.id))
    app.feedback.label("echo my words", "files::read", right=False, catalog="world")
    app.requests.add_by_hand("world", "mail::send", ["write to my aunt"], By())
    app.wordings.put("world", "mail", "Letters by post.")
    app.governance.set_policy(Policy(budgets=(Budget(client="*", usd=0.5),)), origin="cli")
    app.governance.clients.make("ann", Scope(servers=("raw",)), origin="cli")
    app.vault.put(*SECRET, "hunter2")
    app.settings.networks_folder.mkdir()
    (app.settings.networks_folder / "slow.json").write_text("{}")
    return app


def state(app: App) -> list[Any]:
    """The visible state of a store, with a new decision."""
    traced = app.routing.route("send a letter to somebody", catalog="world", record=False).trace()
    teaching = app.feedback.labels("world"), app.requests.rows("world"), app.wordings.list("world")
    governed = app.governance.policy, [client.name for client in app.governance.clients.all()]
    audit, secrets = app.store.events.audit(), app.settings.secrets_path
    assert secrets is not None
    secret = SecretFile(secrets).read()[SECRET].value
    return [figures(app), traced["tools"], teaching, governed, secret, audit.records, audit.hash]


def test_a_restore_after_the_store_was_deleted_brings_everything_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, file = tmp_path / "store", tmp_path / "a.backup"
    folder.mkdir()
    with lived_in(folder) as app:
        before, settings = state(app), app.settings
        app.backups.make(file)
        assert sorted(entry.name for entry in folder.iterdir() if "copies" in entry.name) == []
        with pytest.raises(WayfareError, match="--force"):
            app.backups.make(file)
        with pytest.raises(WayfareError, match="part of the store"):
            app.backups.make(settings.db, replace=True)
    assert file.stat().st_mode & 0o777 == 0o600
    for entry in [*folder.rglob("*.*")]:
        entry.unlink()
    restore(file, settings)
    assert (settings.networks_folder / "slow.json").read_text() == "{}"
    with open_test_app(folder / "wayfare.duckdb") as app:
        assert state(app) == before
        app.feedback.label("echo my words", "raw::echo", right=True, catalog="world")
        with pytest.raises(StoreBusyError):
            restore(file, settings, replace=True)
    with pytest.raises(WayfareError, match="--force"):
        restore(file, settings)
    rename = Path.replace

    def killed_before_the_last(path: Path, target: Path) -> Path:
        if target == settings.db:
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed_before_the_last)
        with pytest.raises(KeyboardInterrupt):
            restore(file, settings, replace=True)
    assert Path(settings.db).exists()
    result = restore(file, settings, replace=True)
    assert result.before is not None
    with open_test_app(folder / "wayfare.duckdb") as app:
        assert state(app) == before
    with Store(result.before / "wayfare.duckdb") as previous:
        assert len(previous.labels.history("world")) == 2


def test_a_backup_under_writes_is_the_store_of_one_moment(tmp_path: Path) -> None:
    db, file, other_db = tmp_path / "wayfare.duckdb", tmp_path / "a.backup", tmp_path / "other" / "wayfare.duckdb"
    open_world(db).close()
    records: list[str] = []
    with open_test_app(db, caller=Scripted) as app:
        tool = app.catalogs.catalog("world").find("raw", "echo")[1]
        running, enough = threading.Event(), threading.Event()

        def write() -> None:
            number = 0
            while not (enough.is_set() and number >= 100):  # each is an outcome with its statistics
                request = Wanted("ann", call("echo"), tool, 100)
                app.governed.start(request, origin=AGENT, counted=lambda _outcome, limit: limit).handle.report()
                number += 1
                if number == 20:
                    running.set()

        thread = threading.Thread(target=write)
        thread.start()
        assert running.wait(60)
        app.backups.make(file)
        enough.set()
        thread.join()
        app.store.events.audit(records.append)
    restore(file, replace(app.settings, db=other_db))
    copied: list[str] = []
    with Store(other_db) as store:
        audit, tables = store.events.audit(copied.append), store.tables()
    assert audit.problem == ""
    assert len(copied) < len(records)
    assert copied == records[: len(copied)]
    assert tables["outcomes"]["id"].to_pylist() == tables["statistics"]["outcome_id"].to_pylist()
    assert len(tables["outcomes"]) >= 20
    assert tables["spending"]["settled"].to_pylist().count(True) >= len(tables["outcomes"]) - 1


def test_a_damaged_backup_is_refused_whole(tmp_path: Path) -> None:
    folder, file, bad = tmp_path / "store", tmp_path / "a.backup", tmp_path / "bad.backup"
    folder.mkdir()
    with lived_in(folder) as app:
        app.backups.make(file)
        settings = app.settings
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    good = file.read_bytes()

    def rezipped(name: str, data: bytes) -> bytes:
        with zipfile.ZipFile(file) as archive, zipfile.ZipFile(bad, "w") as target:
            for entry in archive.namelist():
                target.writestr(entry, data if entry == name else archive.read(entry))
        return bad.read_bytes()

    manifest, middle = zipfile.ZipFile(file).read("backup.json"), len(good) // 2
    flipped = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1 :]
    outside = manifest.replace(b'"networks/slow.json"', b'"networks/../../x.json"')
    more = manifest.replace(b'"records": ', b'"records": 1')
    changed = [rezipped("backup.json", text) for text in (b"{}", outside, more)]
    for data in (b"", b"PK", good[:middle], flipped, rezipped("store.secrets", b"{}"), *changed):
        bad.write_bytes(data)
        with pytest.raises(WayfareError, match=r"[Nn]othing was changed") as error:
            restore(bad, settings, replace=True)
        assert "\n" not in str(error.value)
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path in before} == before
    assert [path for path in folder.iterdir() if "restored" in path.name or "before" in path.name] == []


def test_two_processes_back_up_by_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(db=tmp_path / "w.duckdb")
    with Store(settings.db) as store:
        copy = store.copy

        def during(file: Path) -> None:
            with pytest.raises(Timeout):
                FileLock(f"{settings.db}.backup.lock", timeout=0).acquire()
            copy(file)

        monkeypatch.setattr(store, "copy", during)
        Backups(store, settings).make(tmp_path / "a.backup")
        monkeypatch.setattr("core.catalogs.backups.TURN_S", 0.05)
        with FileLock(f"{settings.db}.backup.lock"), pytest.raises(WayfareError, match="has been making a backup"):
            Backups(store, settings).make(tmp_path / "b.backup")  # the other process is stopped


def test_scheduled_backups_are_made_when_due_and_old_ones_go(tmp_path: Path) -> None:
    clock = [NOON]
    settings = Settings(
        db=tmp_path / "w.duckdb", backups=tmp_path / "kept", backup_hours=6, backup_days=1, now=lambda: clock[0]
    )
    with Store(settings.db) as store:
        rounds = ScheduledBackups(Backups(store, settings), settings)

        def made(hours: float) -> list[float]:
            clock[0] += timedelta(hours=hours)
            rounds.round()
            return [(moment - NOON) / timedelta(hours=1) for moment, _ in rounds.made()]

        assert made(0) == [0]
        (tmp_path / "kept" / "mine.backup").write_text("not ours")
        left = tmp_path / "kept" / ".w-20260301T110000Z.backup.new"
        left.write_text("of a process that was killed")
        os.utime(left, (0, 0))
        assert made(5) == [0]
        assert made(1) == [6, 0]
        assert not left.exists()
        assert made(19) == [25, 6, 0]
        assert made(100_000) == [100_025, 25, 6]  # the clock is ahead for a moment
        assert made(-99_993) == [32, 25, 6]
        assert made(93) == [125, 32, 25]
        assert made(6) == [131, 125]
        small = ScheduledBackups(Backups(store, settings), replace(settings, backup_mb=0.001))
        clock[0] += timedelta(hours=7)
        small.round()
        assert [moment - NOON for moment, _ in small.made()] == [timedelta(hours=138)]
        (tmp_path / "kept").rename(tmp_path / "other")
        (tmp_path / "kept").write_text("a file")
        clock[0] += timedelta(hours=7)
        rounds.round()
        assert rounds.problem
    assert (tmp_path / "other" / "mine.backup").exists()
    assert STORE in zipfile.ZipFile(next((tmp_path / "other").glob("w-*"))).namelist()
