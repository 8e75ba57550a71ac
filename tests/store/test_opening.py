"""Opening, refusing to open, closing, settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pytest

from core.domain.errors import StoreError
from core.store import Store
from core.store.connection import Database
from tests.store.conftest import SPENT


def refusal(path: Path) -> str:
    with pytest.raises(StoreError) as error:
        Store(path)
    message = str(error.value)
    assert str(path) in message
    assert "--db" in message
    assert "\n" not in message
    return message


def test_parent_folders_are_made_and_only_the_owner_may_read(tmp_path: Path, make: SimpleNamespace) -> None:
    path = tmp_path / "a" / "b" / "wayfare.duckdb"
    with Store(path) as store:
        store.events.append(make.decision())
        log = path.with_name(f"{path.name}.wal")
        assert log.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_directory(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)


def test_a_path_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "cannot be made" in refusal(tmp_path / "file" / "db")


def test_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "db"
    Store(path).close()
    content_before = path.read_bytes()
    for content in (b"", b"x" * 100_000, content_before[:4096] + b"\xff" * 64 + content_before[4160:]):
        path.write_bytes(content)
        assert "cannot be opened" in refusal(path)
        assert path.read_bytes() == content


def test_a_full_disk_leaves_no_file_of_a_new_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(file: str, **_: object) -> None:
        Path(file).touch()
        raise duckdb.IOException("No space left on device")

    monkeypatch.setattr(duckdb, "connect", connect)
    (tmp_path / "old").touch()
    for name in ("new", "old"):
        assert "make room" in refusal(tmp_path / name)
    assert [file.name for file in tmp_path.iterdir()] == ["old"]


def test_a_copy_has_everything_that_the_store_has_and_lives_on_its_own() -> None:
    with Store() as store:
        store.set_setting("here", {"there": 1})
        tables = store.tables()
        with Store.of_tables(tables) as copy:
            assert copy.tables() == tables
            copy.set_setting("here", 2)
        assert store.get_setting("here") == {"there": 1}


def test_another_programs_database(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE decisions (x INTEGER)")
    assert "another program" in refusal(path)


def test_open_in_this_process(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with Store(path):
        assert "already open in this process" in refusal(path)
    Store(path).close()


def test_open_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "db"
    code = "import sys; from core.store import Store; from core.domain.errors import StoreError\n"
    code += "try: Store(sys.argv[1])\nexcept StoreError as error: print(error)"
    with Store(path):
        run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"The store {path} is in use by another process (PID ")
    assert "--db" in run.stdout
    assert not run.stderr


def test_close_twice_and_use_after_close(tmp_path: Path, make: SimpleNamespace) -> None:
    store = Store(tmp_path / "db")
    store.close()
    store.close()
    for use in (
        lambda: store.events.append(make.decision()),
        *[lambda: store.events.append_later(make.decision())] * 3,
        *[lambda: store.events.append_later(make.outcome())] * 3,
        *[lambda: store.governance.keep(SPENT)] * 3,
        store.activity.decisions,
        store.catalogs.list_catalogs,
        lambda: store.set_setting("a", 1),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()
    store.close()
    assert not (tmp_path / "db.journal").exists()
    with Store(tmp_path / "db") as reopened:
        assert (reopened.activity.latest_sequence(), reopened.governance.spending(SPENT.day)) == (0, ())


def test_sql_reaches_no_file_and_no_extension(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    database = Database()
    for sql in (f"SELECT * FROM '{tmp_path}/secret.csv'", f"SELECT * FROM read_text('{tmp_path}/secret.csv')"):
        with pytest.raises(StoreError, match="disabled by configuration"):
            database.read(sql)
    for sql in (
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        "SET GLOBAL enable_external_access = true",
        "INSTALL httpfs",
    ):
        with pytest.raises(StoreError), database.transaction() as connection:
            connection.execute(sql)
    assert not (tmp_path / "out.csv").exists()
    settings = database.read("SELECT value FROM duckdb_settings() WHERE name LIKE 'auto%_known_extensions'")
    assert settings[0].to_pylist() == ["false", "false"]
    database.close()


def test_an_exception_within_a_transaction_undoes_it() -> None:
    database = Database()

    def stopped() -> None:
        with database.transaction() as connection:
            connection.execute("INSERT INTO settings VALUES ('a', '1')")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stopped()
    assert database.read("SELECT * FROM settings").num_rows == 0
    with database.transaction() as connection:
        connection.execute("INSERT INTO settings VALUES ('a', '2')")
    assert database.read("SELECT * FROM settings").num_rows == 1
    database.close()


def test_settings_keep_json_values_over_a_restart(tmp_path: Path) -> None:
    with Store(tmp_path / "db") as store:
        assert store.get_setting("catalog") is None
        assert store.get_setting("catalog", "none yet") == "none yet"
        store.set_setting("catalog", "first")
        store.set_setting("catalog", {"name": "demo", "list": [1, None, 2.5, "ü"]})
        with pytest.raises(StoreError, match="setting bad"):
            store.set_setting("bad", float("nan"))
        with pytest.raises(StoreError, match="setting bad"):
            store.set_setting("bad", {1, 2})
    with Store(tmp_path / "db") as store:
        assert store.get_setting("catalog") == {"name": "demo", "list": [1, None, 2.5, "ü"]}
        assert store.get_setting("bad") is None
