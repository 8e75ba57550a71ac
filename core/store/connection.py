"""The connection to the DuckDB file: opening, the write lock, transactions and reads, and the turns of several processes.

DuckDB lets one process at a time open a file. A console keeps the file, and lends it to a command that asks for it. A command has the
file only while it reads or writes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Condition, Event, RLock, Thread, current_thread
from time import monotonic, sleep
from typing import Any, TypeAlias
from uuid import uuid4

import duckdb
import pyarrow  # pyright: ignore[reportMissingTypeStubs]

from core.domain.console import CONNECT_S, announced_owner, asked
from core.domain.errors import StoreBusyError, StoreError, WayfareError
from core.store.migrations import Migration, all_migrations, migrate

# The only import of pyarrow. It has no type hints, so its modules and classes become `Any` here.
# Its file modules are imported when a file is read or written.

Table: TypeAlias = Any
Array: TypeAlias = Any
Schema: TypeAlias = Any

pa: Any = pyarrow


def pa_parquet() -> Any:
    return import_module("pyarrow.parquet")


MEMORY = ":memory:"
MEMORY_LIMIT = "128MB"
"""DuckDB's default is 80 % of the machine's memory. Beyond this limit pages are read again, and queries use files."""
LEAST_MEMORY = "16MB"
AT_A_TIME = 10_000
NO_ROOM = ("No space left on device", "Disk quota exceeded", "File too large")
NOT_WRITABLE = ("Permission denied", "Read-only file system", "Operation not permitted")  # the system's words

LOOK_S = 0.05
"""Time between two checks for the end of a use."""
PAUSE_S = 0.1
"""A pause of this length ends a use, so that a command that reads and writes at once is not interrupted."""
LONGEST_S = 1.0
"""A command that uses the store without a pause gives the file away after this time."""
BREATH_S, RETRY_S = 0.03, 0.01
"""A command that gave the file away may take it again after BREATH_S. Waiting processes try every RETRY_S."""
LENT_S = 0.3
"""The time for which a console lends the file."""
LOST_S = 60.0
"""The wait of a command that had the file. It is longer, because the console that took the file may be starting."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How a process shares the store. A console `stays`: it keeps the file, and a journal. `patience_s` limits the wait for the file."""

    stays: bool
    patience_s: float = 5.0


CONSOLE = Sharing(stays=True)
COMMAND = Sharing(stays=False)


class Database:
    """A DuckDB file that this process owns, or memory if `path` is None.

    Any thread may read. Each read has its own cursor and sees committed rows. One thread at a time writes. A finished
    `transaction` is on the disk, and a killed process loses nothing of it. SQL cannot reach the network, extensions, or files
    outside `copies`. Only the owner can read the file and its write-ahead log.

    With `sharing` a command closes the file between uses, and a console lends it to a command that asks. The next use opens it
    again. `openings` counts the openings. Before each, another process may have written.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        migrations: Sequence[Migration] | None = None,
        *,
        sharing: Sharing | None = None,
    ) -> None:
        self.path = None if path is None else Path(path).expanduser().absolute()
        self.where = "in memory" if self.path is None else str(self.path)
        self.lock = RLock()
        self.openings = 0
        self.on_return: Callable[[], None] = lambda: None
        """Called in its own thread after a console has lent the file."""
        self._migrations = all_migrations() if migrations is None else migrations
        self._sharing = None if self.path is None else sharing
        self._users: list[Thread] = []  # the thread of each read and each transaction under way
        self._readers = Condition()  # guards the users, the making of cursors, and the opening
        self._leaving = False
        self._ended = Event()
        self._opened_s = self._used_s = self._free_until_s = 0.0
        self._open: _Open | None = None
        self._writing: duckdb.DuckDBPyConnection | None = None
        self._sharer: Thread | None = None
        self._make_open()
        if self._sharing is not None and not self._sharing.stays:
            self._sharer = Thread(target=self._share, name="wayfare-sharing", daemon=True)
            self._sharer.start()

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    @contextmanager
    def transaction(self) -> Generator[duckdb.DuckDBPyConnection]:
        """Commits all writes inside together, or none. A transaction within another transaction of this thread is part of it.

        Raises StoreError if the database refuses it. Any exception inside undoes the transaction.
        """
        with self.lock:
            if self._writing is not None:
                yield self._writing
                return
            with self._readers:
                writer = self._required_open().writer
                self._users.append(current_thread())
            try:
                writer.begin()
                self._writing = writer
                yield writer
                writer.commit()
            except BaseException as error:
                with suppress(duckdb.Error):
                    writer.rollback()
                self.openings += 1  # the log must read its newest record again
                if isinstance(error, duckdb.FatalException):  # the disk is full, and all fails until the next opening
                    self._leave()
                if isinstance(error, duckdb.Error | pa.ArrowException):
                    raise _error_class(error)(
                        f"The store {self.where} refused a write, nothing of it was kept: {_first_line(error)}."
                    ) from error
                raise
            finally:
                self._writing = None
                self._end_use()
            self._keep_private()

    def read(self, sql: str, parameters: Sequence[object] = ()) -> Table:
        """The rows of a SELECT as an Arrow table. Raises StoreError if the store is closed or its file cannot be read."""
        return self.read_together(sql, parameters=parameters)[0]

    def in_order(
        self, table: str, condition: str, parameters: Sequence[object], *, by: str, rows: int = AT_A_TIME
    ) -> Iterator[Array]:
        """The rows of a table that meet a condition as Arrow batches, in the order of a column of unique numbers. Each batch is read in
        turn, because a sort of whole rows, or a long read, needs memory for all of them. Raises StoreError as `read`."""
        numbers = self.read(f"SELECT {by} FROM {table} WHERE {condition} ORDER BY {by}", parameters)[0]  # noqa: S608
        for first in range(0, len(numbers), rows):
            ends = [numbers[place].as_py() for place in (first, min(first + rows, len(numbers)) - 1)]
            query = f"SELECT * FROM {table} WHERE ({condition}) AND {by} BETWEEN ? AND ? ORDER BY {by}"  # noqa: S608
            yield from self.read(query, [*parameters, *ends]).combine_chunks().to_batches()

    def read_together(self, *statements: str, parameters: Sequence[object] = ()) -> tuple[Table, ...]:
        """The rows of several SELECTs with shared parameters, at one moment. Raises StoreError as `read`."""
        try:
            with self.cursor() as cursor:
                cursor.begin()
                return tuple(cursor.sql(sql, params=list(parameters)).to_arrow_table() for sql in statements)
        except duckdb.Error as error:
            raise StoreError(f"The store {self.where} cannot be read: {_first_line(error)}.") from error

    def release_pages(self) -> None:
        """Frees the memory of read pages, except a few MB, unless the store is being read or written."""
        with self._readers:
            if self.path is not None and self._open is not None and not self._users:
                with suppress(duckdb.Error):  # pages in use stay
                    self._open.root.execute(f"SET memory_limit = '{LEAST_MEMORY}'")
                self._open.root.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")

    @contextmanager
    def cursor(self) -> Generator[duckdb.DuckDBPyConnection]:
        with self._readers:
            self._readers.wait_for(lambda: not self._leaving or current_thread() in self._users)
            cursor = self._required_open().root.cursor()
            self._users.append(current_thread())
        try:
            with cursor:
                yield cursor
        finally:
            self._end_use()

    def _end_use(self) -> None:
        with self._readers:
            self._users.remove(current_thread())
            self._used_s = monotonic()
            self._readers.notify_all()

    @property
    def copies(self) -> Path | None:
        return None if self.path is None else copies_of(self.path)

    def copy(self, file: Path) -> None:
        """Writes the committed rows of one moment to a new file in `copies`. Others may read and write meanwhile. Raises
        StoreError."""
        name = str(file).replace("'", "''")
        try:
            with self.cursor() as cursor:
                cursor.execute(f"ATTACH '{name}' AS copied")
                try:
                    [(database,)] = cursor.execute("SELECT current_database()").fetchall()
                    cursor.execute(f'COPY FROM DATABASE "{database}" TO copied')
                finally:
                    cursor.execute("DETACH copied")
        except duckdb.Error as error:
            raise StoreError(f"The store {self.where} cannot be copied: {_first_line(error)}.") from error

    def close(self) -> None:
        """Releases the file when the running reads and transactions have ended. A second call does nothing."""
        with self._readers:  # not the lock, because a user may wait for it
            self._ended.set()
            self._readers.wait_for(lambda: not self._users)  # DuckDB does not close during a read
            self._make_closed()
        if self._sharer is not None and self._sharer is not current_thread():
            self._sharer.join(timeout=1)  # at the end of a process a running thread leaks DuckDB's types

    def _required_open(self, most_s: float = LOST_S) -> _Open:
        if self.closed and current_thread() not in self._users:
            raise StoreError(f"The store {self.where} is closed; open it again.")
        return self._open or self._make_open(most_s)

    def _make_open(self, most_s: float = LOST_S) -> _Open:
        """Opens the file, and waits for it if it is shared. Raises StoreError, StoreBusyError."""
        if self._sharing is None or self.path is None:
            root = connect(self.path, self.where)
        else:
            sleep(max(0.0, self._free_until_s - monotonic()))
            patience_s = LOST_S if self.openings and not self._sharing.stays else self._sharing.patience_s
            root = _awaited(self.path, self.where, min(patience_s, most_s), asks=not self._sharing.stays)
        try:
            root.execute("SET GLOBAL TimeZone = 'UTC'")
            migrate(root, self.where, self._migrations)  # before the limit, because a step may need more memory
            if self.path is not None:
                root.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        except BaseException as error:
            root.close()
            if isinstance(error, duckdb.Error):
                raise _unopened(self.path, self.where, error) from error
            raise
        self._open = _Open(root, root.cursor())
        self._opened_s = self._used_s = monotonic()
        self.openings += 1
        self._keep_private()
        return self._open

    def _make_closed(self) -> None:
        if self._open is not None:
            self._open.writer.close()
            self._open.root.close()
            self._open = None

    def lend(self) -> None:
        """Closes the file for a command that asks for it, and opens it again a little later."""
        if self._sharing is not None and not self.closed:
            self._leave(LENT_S)
            sharer = self._sharer = Thread(target=self._take_back, name="wayfare-sharing", daemon=True)
            sharer.start()

    def _take_back(self) -> None:
        while not self._ended.wait(LENT_S) and self._sharer is current_thread():  # else it was lent again
            with suppress(StoreError):  # another process still has it
                with self._readers:
                    self._required_open(LENT_S)  # not longer, because pages wait meanwhile
                self.on_return()
                return

    def _share(self) -> None:
        """Closes the file for others at every pause, until the store is closed."""
        while not self._ended.wait(LOOK_S):
            now_s = monotonic()
            is_pause = now_s - self._used_s >= PAUSE_S
            due = not self._users if is_pause else now_s - self._opened_s >= LONGEST_S
            if due and self._open is not None:
                self._leave(BREATH_S)
                self._opened_s = monotonic()  # else the next try would follow at once

    def _leave(self, free_s: float = 0.0) -> None:
        """Closes the file, unless another thread uses it for long, and leaves it to others for a time."""
        with self._readers:
            self._leaving = True
            try:
                if self._readers.wait_for(lambda: {*self._users} <= {current_thread()}, LONGEST_S):
                    self._make_closed()
                    self._free_until_s = monotonic() + free_s
            finally:
                self._leaving = False
                self._readers.notify_all()

    def _keep_private(self) -> None:
        """Sets mode 0600. Runs after every commit (10 microseconds), because every checkpoint makes a new write-ahead log."""
        if self.path is not None:
            for file in (self.path, self.path.with_name(f"{self.path.name}.wal")):
                with suppress(OSError):
                    file.chmod(0o600)


@dataclass(frozen=True, slots=True)
class _Open:
    root: duckdb.DuckDBPyConnection
    writer: duckdb.DuckDBPyConnection


class NoRoomError(StoreError):
    """The disk is full. The write may succeed later."""


class _LockedError(StoreBusyError):
    pass


def _awaited(path: Path, where: str, patience_s: float, *, asks: bool) -> duckdb.DuckDBPyConnection:
    """Opens a shared file. A command `asks` a console for it. Raises StoreBusyError if no process releases it in time."""
    start_s = asked_s = monotonic()
    while True:
        try:
            return connect(path, where)
        except _LockedError:
            if monotonic() - start_s > patience_s:
                raise
            if asks and monotonic() - asked_s >= LOOK_S:
                if (owner := announced_owner(path)) is not None:
                    with suppress(WayfareError):
                        asked(owner, "PUT", answers_s=CONNECT_S)
                asked_s = monotonic()
            sleep(RETRY_S)


def copies_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.copies")


def connect(path: Path | None, where: str) -> duckdb.DuckDBPyConnection:
    """Opens a file, or memory if `path` is None. Raises StoreError, StoreBusyError."""
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        # Within a process DuckDB shares one database per file and configuration. A second Store on it would count events
        # apart from the first Store. A unique configuration makes DuckDB refuse the second Store.
        "custom_user_agent": uuid4().hex,
    }
    is_new = path is not None and not os.path.exists(path)  # noqa: PTH110 - as in `_unopened`
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        root = duckdb.connect(MEMORY if path is None else str(path), config=config)
        if path is not None:
            folder = str(copies_of(path)).replace("'", "''")
            root.execute(f"SET GLOBAL allowed_directories = ['{folder}']")
        root.execute("SET GLOBAL enable_external_access = false")
        return root
    except (OSError, duckdb.Error) as error:
        if path is not None and is_new and _error_class(error) is NoRoomError:
            path.unlink(missing_ok=True)  # it is no database yet
        raise _unopened(path, where, error) from error


def _unopened(path: Path | None, where: str, error: Exception) -> StoreError:
    text, reason = str(error), _first_line(error)
    if path is not None and os.path.isdir(path):  # noqa: PTH112 - unlike Path.is_dir, False for a name that is too long
        return StoreError(f"The store {where} is a directory; name a file with --db.")
    if "different configuration" in text:
        return StoreBusyError(
            f"The store {where} is already open in this process; close it first, or name another file with --db."
        )
    if "set lock" in text:
        owner = re.search(r"\(PID \d+\)", text)
        process = f"another process {owner.group()}" if owner else "another process"
        return _LockedError(f"The store {where} is in use by {process}; stop it, or name another file with --db.")
    if isinstance(error, OSError):
        return StoreError(
            f"The folder of the store {where} cannot be made ({error.strerror}); name another file with --db."
        )
    if any(words in text for words in NOT_WRITABLE):
        return StoreBusyError(f"The store {where} may not be written ({reason}); name another file with --db.")
    error_class = _error_class(error)
    remedy = "make room for it" if error_class is NoRoomError else "restore it from a copy"
    return error_class(f"The store {where} cannot be opened ({reason}); {remedy}, or name another file with --db.")


def _error_class(error: BaseException) -> type[StoreError]:
    return NoRoomError if any(words in str(error) for words in NO_ROOM) else StoreError


def _first_line(error: BaseException) -> str:
    """The database's own words, one line, without the full stop."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".! ")
