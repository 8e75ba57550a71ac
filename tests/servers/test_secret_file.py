"""Values of servers outlive the process, encrypted, and nothing that goes wrong loses one."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend

from core.domain.catalog import Connection, ServerId
from core.servers.secret_file import Secret, SecretFile, SecretFileError
from core.servers.secrets import MissingReferenceError, SecretVault

SERVER, VALUE = ServerId("work", "mail"), "hunter2-PLANTED"
REFERRING = Connection("http", url="https://x.org/${secret:mail/KEY}")
PHRASE = {"WAYFARE_KEY": "correct horse"}


def vault(folder: Path, environ: dict[str, str] | None = None) -> SecretVault:
    return SecretVault(environ or {}, SecretFile(folder / "w.duckdb.secrets", environ or {}))


class Keychain(KeyringBackend):
    """A keychain in memory."""

    priority = -1  # never chosen by itself  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


def test_a_value_is_there_after_a_restart_and_its_text_is_in_no_file(tmp_path: Path) -> None:
    for environ in ({}, PHRASE):
        folder = tmp_path / str(len(environ))
        vault(folder, environ).put(SERVER, "mail/KEY", VALUE)
        assert vault(folder, environ).resolve(SERVER, REFERRING).url == f"https://x.org/{VALUE}"
        for file in folder.iterdir():
            assert VALUE.encode() not in file.read_bytes()
            if os.name == "posix":
                assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert (folder / "w.duckdb.secrets.key").exists() is not bool(environ)


def test_the_key_is_in_the_keychain_where_there_is_one(tmp_path: Path) -> None:
    previous, ring = keyring.get_keyring(), Keychain()
    keyring.set_keyring(ring)
    try:
        vault(tmp_path).put(SERVER, "mail/KEY", VALUE)
        assert vault(tmp_path).missing(SERVER, REFERRING) == ()
        assert not (tmp_path / "w.duckdb.secrets.key").exists()
        assert VALUE not in str(ring.kept)
        assert "keychain" in vault(tmp_path).where
        portable = SecretFile(tmp_path / "w.duckdb.secrets").portable()
    finally:
        keyring.set_keyring(previous)
    gone = vault(tmp_path)
    assert gone.missing(SERVER, REFERRING) == ("${secret:mail/KEY}",)
    assert "keychain" in gone.note
    for ending, data in portable.items():  # a backup opens where there is no keychain
        (tmp_path / f"w.duckdb.secrets{ending}").write_bytes(data)
    assert vault(tmp_path).missing(SERVER, REFERRING) == ()


def test_another_key_or_a_broken_file_loses_nothing_and_says_so(tmp_path: Path) -> None:
    vault(tmp_path, PHRASE).put(SERVER, "mail/KEY", VALUE)
    file = tmp_path / "w.duckdb.secrets"
    original = file.read_bytes()
    for environ in ({"WAYFARE_KEY": "wrong"}, {}):
        other = vault(tmp_path, environ)
        assert other.missing(SERVER, REFERRING) == ("${secret:mail/KEY}",)
        assert "WAYFARE_KEY" in other.note
        other.put(SERVER, "mail/KEY", "typed-again")  # for this process alone
        assert other.resolve(SERVER, REFERRING).url.endswith("typed-again")
        assert "in memory" in other.where
        assert file.read_bytes() == original
    for text in ("", "{}", "[]", json.dumps({"key": "x", "salt": "", "values": ""}), original.decode()[:-9]):
        file.write_text(text)
        broken = vault(tmp_path, PHRASE)
        with pytest.raises(MissingReferenceError):
            broken.resolve(SERVER, REFERRING)
        assert str(file) in broken.note


def test_what_could_not_be_written_is_written_with_the_next_value(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.write_text("a file is in the way")
    secrets = vault(folder)
    secrets.put(SERVER, "mail/KEY", VALUE)
    assert secrets.note
    folder.unlink()
    secrets.put(SERVER, "OTHER", "second")
    assert {name for _, name in vault(folder).names()} == {"mail/KEY", "OTHER"}


def test_a_running_process_sees_what_another_one_sets_and_removes(tmp_path: Path) -> None:
    running, other = vault(tmp_path), vault(tmp_path)
    assert running.missing(SERVER, REFERRING)
    other.put(SERVER, "mail/KEY", "first-value")
    assert running.resolve(SERVER, REFERRING).url.endswith("first-value")
    other.put(SERVER, "mail/KEY", "second-value")
    assert running.resolve(SERVER, REFERRING).url.endswith("second-value")
    assert other.remove(SERVER, "mail/KEY")
    assert not other.remove(SERVER, "mail/KEY")
    assert running.missing(SERVER, REFERRING)
    assert running.redact("first-value and second-value") == "••• and •••"


def test_a_passphrase_given_later_replaces_the_key_file(tmp_path: Path) -> None:
    vault(tmp_path).put(SERVER, "mail/KEY", VALUE)
    vault(tmp_path, PHRASE).put(SERVER, "OTHER", "second")
    assert not (tmp_path / "w.duckdb.secrets.key").exists()
    assert vault(tmp_path, PHRASE).resolve(SERVER, REFERRING).url.endswith(VALUE)
    assert "WAYFARE_KEY" in vault(tmp_path).note


def test_no_server_gets_the_passphrase(tmp_path: Path) -> None:
    connection = Connection("stdio", command="x", env={"A": "${env:WAYFARE_KEY}"})
    assert vault(tmp_path, PHRASE).missing(SERVER, connection) == ("${env:WAYFARE_KEY}",)


WRITER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from core.domain.catalog import ServerId
from core.servers.secret_file import Secret, SecretFile
file, who = SecretFile(Path(sys.argv[1]), {"WAYFARE_KEY": "x"}), sys.argv[2]
for number in range(5):
    file.change(lambda known: known.update({(ServerId(who, "s"), str(number)): Secret("v", datetime.now(UTC))}))
"""


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "values"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), who]) for who in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(SecretFile(path, {"WAYFARE_KEY": "x"}).read()) == 10


def test_a_locked_file_is_said_and_a_representation_shows_no_value(tmp_path: Path) -> None:
    from filelock import FileLock

    file = SecretFile(tmp_path / "values", PHRASE, lock_limit_s=0.1)
    secret = Secret(VALUE, datetime.now(UTC))
    assert VALUE not in repr(secret)
    with FileLock(str(tmp_path / "values.lock")), pytest.raises(SecretFileError, match="locked by another process"):
        file.change(lambda values: values.update({(SERVER, "K"): secret}))
