"""Backups: one file with the store, the values of its servers and the files beside it. Made while the store is in use, kept for a time,
and restored after it was verified.

The file is a zip archive with `backup.json`, which has the SHA-256 of each other member and the result of the log's audit.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from glob import escape
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from core.catalogs.background_jobs import Rounds
from core.domain import documents
from core.domain.console import console_lock, owner_of
from core.domain.errors import StoreBusyError, StoreError, WayfareError
from core.domain.settings import Settings
from core.servers.secret_file import SecretFile
from core.store import Store
from core.store.audit import Audit
from core.store.connection import connect

ABOUT, STORE = "backup.json", "store"
FORMAT = 1
LOOK_S = 60.0
TURN_S = 600.0
"""How long a backup waits for another backup of its store, whose process may be stopped."""
LEFT_OVER_S = 86_400.0
"""An unfinished backup of this age is that of a process that was killed."""
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    WayfareError,
)
"""The errors of reading a damaged backup."""
OF_A_STORE = ("", ".wal", ".journal", ".secrets", ".secrets.key")
"""Endings of the files that are one store."""
DATED = f"{'[0-9]' * 8}T{'[0-9]' * 6}Z.backup"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Contents:
    """The description in a backup: its time and version, the SHA-256 of each member, and the log's audit."""

    format: int
    at: str
    version: str
    files: dict[str, str]
    records: int
    hash: str
    problem: str


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made or restored. `before` is the folder of the store that it replaced."""

    file: Path
    contents: Contents
    before: Path | None = None


class Backups:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings

    def make(self, file: Path, *, replace: bool = False) -> Backup:
        """Make a backup. For a folder, make a new file in it. Its mode is 0600. Raises WayfareError, and leaves no file then."""
        copies, db = self._store.copies, self._store.path
        if copies is None or db is None:
            raise WayfareError("A store in memory has no backup; start Wayfare with a file.")
        time = self._settings.now()
        file = file / f"{db.stem}-{time.astimezone(UTC):%Y%m%dT%H%M%SZ}.backup" if file.is_dir() else file
        if file.exists() and not replace:
            raise WayfareError(f"{file} is there already; name another file, or give --force to replace it.")
        if file.exists() and any(own.exists() and own.samefile(file) for own in _of_store(db)):
            raise WayfareError(f"{file} is part of the store itself; name another file.")
        with _turn(db), _emptied(copies):
            copy = copies / STORE
            self._store.copy(copy)
            audit, members = _audited(copy), {STORE: copy, **_beside(self._settings)}
            digests = {name: _digest(member) for name, member in members.items()}
            contents = Contents(
                FORMAT, time.isoformat(), version("wayfare"), digests, audit.records, audit.hash, audit.problem
            )
            for left in file.parent.glob(f".{escape(db.stem)}-{DATED}.new"):
                if time.timestamp() - left.stat().st_mtime > LEFT_OVER_S:  # a newer file may be that of another store
                    left.unlink()
            _write(file, contents, members)
        return Backup(file, contents)


@contextmanager
def _turn(db: Path) -> Generator[None]:
    """Makes one backup of a store at a time. Raises WayfareError."""
    from filelock import FileLock, Timeout

    lock = FileLock(f"{db}.backup.lock", timeout=TURN_S, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise WayfareError(
            f"Another process has been making a backup of {db} for {TURN_S:g} s; end it, or try again later."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _of_store(db: Path) -> list[Path]:
    return [db.with_name(db.name + ending) for ending in OF_A_STORE]


@contextmanager
def _emptied(folder: Path) -> Generator[None]:
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    folder.mkdir(mode=0o700)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _beside(settings: Settings) -> dict[str, Path | bytes]:
    """The files and values that a store needs beside its file. Raises SecretFileError if the key to the values is gone."""
    db, secrets = Path(settings.db).expanduser().absolute(), settings.secrets_path
    portable = {} if secrets is None else SecretFile(secrets, settings.environment).portable()
    files = [*settings.networks_folder.glob("*.json"), *db.parent.glob(settings.tuned_encoder.name)]
    values = {f"{STORE}.secrets{ending}": data for ending, data in portable.items()}
    return {**values, **{file.relative_to(db.parent).as_posix(): file for file in sorted(files)}}


def _place(member: str, db: Path) -> Path:
    """Raises ValueError for a member that no backup has, such as a name with a path."""
    if not re.fullmatch(rf"{STORE}(\.secrets(\.key)?)?|encoder-difference\.npz|networks/[^/\\]+\.json", member):
        raise ValueError(f"{member} is no part of a backup")
    return db.with_name(db.name + member.removeprefix(STORE)) if member.startswith(STORE) else db.parent / member


def _audited(file: Path) -> Audit:
    with Store(file) as store:
        return store.events.audit()


def _digest(member: Path | bytes) -> str:
    if isinstance(member, bytes):
        return hashlib.sha256(member).hexdigest()
    with member.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(file: Path, contents: Contents, members: dict[str, Path | bytes]) -> None:
    new = file.with_name(f".{file.name}.new")
    new.unlink(missing_ok=True)
    try:
        with (
            os.fdopen(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as stream,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        ):
            for name, member in members.items():
                archive.writestr(name, member) if isinstance(member, bytes) else archive.write(member, name)
            archive.writestr(ABOUT, json.dumps(asdict(contents), indent=1))
            archive.close()
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


# Restoring: everything is unpacked and verified beside the store before a file of it is touched.


def restore(file: Path, settings: Settings, *, replace: bool = False) -> Backup:
    """Put a backup in the place of the store. An existing store is moved into a folder beside it. Raises WayfareError for a damaged
    backup and for a store in use, and changes nothing then."""
    if settings.secrets_path is None:
        raise WayfareError("A store in memory cannot be restored; name a file with --db.")
    db = Path(settings.db).expanduser().absolute()
    if db.exists() and not replace:
        raise WayfareError(
            f"There is a store {db} already. Give --force to put the backup in its place; the store is kept beside it."
        )
    db.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with TemporaryDirectory(dir=db.parent, prefix=f".{db.name}.restored-") as folder, _alone(db):
        contents = _unpacked(file, Path(folder), db)
        _verify(file, Path(folder) / STORE, contents)
        new = {Path(folder) / name: _place(name, db) for name in contents.files}
        old_folder = db.with_name(f"{db.name}.before-{settings.now():%Y%m%dT%H%M%S%f}")
        for path in {*_of_store(db), *new.values()}:
            if path.exists():
                old_folder.mkdir(mode=0o700, exist_ok=True)
                _put_aside(path, old_folder / path.name, stays=path == db)
        for source, place in sorted(new.items(), key=lambda pair: pair[1] == db):  # the store itself comes last
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            source.replace(place)
        return Backup(file, contents, old_folder if old_folder.exists() else None)


def _put_aside(path: Path, place: Path, *, stays: bool) -> None:
    """A file that `stays` keeps its name too, so that there is a store at every moment."""
    if stays:
        with suppress(OSError):  # a file system without links
            os.link(path, place)
            return
    path.replace(place)


@contextmanager
def _alone(db: Path) -> Generator[None]:
    """Keeps consoles from starting. Raises StoreBusyError if one runs, or another process has the file."""
    lock = console_lock(db)
    if (owner := owner_of(db)) is not None:
        raise StoreBusyError(f"The console on {owner.url} serves {db}; end it with `wayfare stop`, then restore.")
    if lock is None:
        return
    try:
        with lock.acquire(timeout=0):
            if db.exists():
                try:
                    connect(db, str(db)).close()
                except StoreError as error:
                    if isinstance(error, StoreBusyError):  # else it is damaged: a reason to restore
                        raise
            yield
    except TimeoutError:
        raise StoreBusyError(f"A console serves {db}; end it with `wayfare stop`, then restore.") from None


def _unpacked(file: Path, folder: Path, db: Path) -> Contents:
    """The members of a backup in a folder, each verified by its checksum. Raises WayfareError, OSError."""
    try:
        with zipfile.ZipFile(file) as archive:
            contents = documents.read(Contents, json.loads(archive.read(ABOUT)), str(file))
            for name in contents.files:
                _place(name, db)
                path = Path(archive.extract(name, folder))
                path.chmod(0o600)
                if _digest(path) != contents.files[name]:
                    raise ValueError(f"{name} has another checksum")
            if contents.format != FORMAT:
                raise ValueError("it has another format")
            return contents
    except DAMAGED as error:
        raise WayfareError(
            f"{file} is no backup, or it is damaged ({str(error).rstrip('.')}). Nothing was changed; take another one."
        ) from None


def _verify(file: Path, store: Path, contents: Contents) -> None:
    try:
        audit = _audited(store)
    except StoreError as error:
        raise WayfareError(f"The store in {file} cannot be opened, nothing was changed: {error}") from None
    if (audit.records, audit.hash, audit.problem) != (contents.records, contents.hash, contents.problem):
        raise WayfareError(
            f"The log in {file} is not the one that was backed up. Nothing was changed; take another backup."
        )


# Scheduled: a new backup if the newest is old enough. Old backups go.


class ScheduledBackups(Rounds):
    """Makes a backup in `settings.backups` every `backup_hours`, and removes its own that were older than `backup_days` at the backup
    before, or are beyond `backup_mb` together. The newest stays. `problem` is the reason why the last backup failed, or ""."""

    def __init__(self, backups: Backups, settings: Settings) -> None:
        super().__init__(pause_s=LOOK_S, name="wayfare-backups")
        self._backups, self._settings = backups, settings
        self.problem = ""

    def made(self) -> list[tuple[datetime, Path]]:
        """The backups of this store in the folder with their times, the newest first. Those of a clock that was ahead are left out."""
        folder, stem, now = self._settings.backups, escape(Path(self._settings.db).stem), self._settings.now()
        files = () if folder is None else folder.glob(f"{stem}-{DATED}")
        times = ((datetime.strptime(file.name[-23:-7], "%Y%m%dT%H%M%S%z"), file) for file in files)
        return sorted(((time, file) for time, file in times if time <= now), reverse=True)

    @property
    def age_s(self) -> float | None:
        """The age of the newest backup, s, or None."""
        return (self._settings.now() - backups[0][0]).total_seconds() if (backups := self.made()) else None

    def round(self) -> None:
        now, past = self._settings.now(), self.made()
        if self._settings.backups is None or (past and now - past[0][0] < timedelta(hours=self._settings.backup_hours)):
            return
        try:
            self._settings.backups.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._backups.make(self._settings.backups)
            self._remove_old(past[0][0] if past else now)  # not of a clock that is ahead for a moment
            self.problem = ""
        except (WayfareError, OSError) as error:
            self.problem = str(error)
            _log.error("The backup failed: %s", error)

    def _remove_old(self, last: datetime) -> None:
        total = 0
        for number, (time, file) in enumerate(self.made()):
            total += file.stat().st_size
            old = last - time > timedelta(days=self._settings.backup_days)
            if number and (old or total > self._settings.backup_mb * 1e6):
                file.unlink()
