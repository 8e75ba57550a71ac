"""The connection to the DuckDB file: opening, the write lock, transactions, reads, and tables of typed rows."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from importlib import import_module
from io import BytesIO
from itertools import chain
from pathlib import Path
from threading import Condition, Event, RLock, Thread, current_thread
from time import monotonic, sleep
from typing import Any, BinaryIO, Generic, Literal, TypeAlias, TypeVar
from uuid import uuid4

import duckdb
import pyarrow  # pyright: ignore[reportMissingTypeStubs]

from core.shared.errors import StoreBusyError, StoreError
from core.store.migrations import Migration, all_migrations, migrate
from core.store.sharing import LONGEST_S, LOOK_S, PAUSE_S, RETRY_S, Sharing, Wanted

# ----------------------------------------------------------------------------------------------------------------------
# The only import of pyarrow, which has no type hints: here its modules and classes become `Any`, so that nothing is unknown.
# The modules of files are imported when a file is read or written.

Table: TypeAlias = Any
Array: TypeAlias = Any
Schema: TypeAlias = Any

pa: Any = pyarrow


def pa_parquet() -> Any:
    """pyarrow's module of Parquet files."""
    return import_module("pyarrow.parquet")


MEMORY = ":memory:"
MEMORY_LIMIT = (
    "512MB"  # DuckDB would take up to 80 % of the machine's; beyond it pages are read again, and queries use files
)
LEAST_MEMORY = "16MB"
STREAMED = 1_000
NOT_WRITABLE = ("Permission denied", "Read-only file system", "Operation not permitted")  # as the system says it


class Database:
    """A DuckDB file that this process owns, or memory where `path` is None.

    Any thread may read: each read has a cursor of its own and sees committed rows. One thread at a time writes.
    A finished `transaction` is on the disk: a killed process loses nothing of it. SQL cannot reach files, the network
    or extensions. File and write-ahead log are readable by their owner alone.

    With `sharing` the file is closed between uses if another process wants it, and opened again at the next use. `openings` counts
    how often it was opened: after each, another process may have written.
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
        """Called in a thread of its own after a console has opened the file again."""
        self._migrations = all_migrations() if migrations is None else migrations
        self._sharing = None if self.path is None else sharing
        self._reading = 0
        self._readers = Condition()  # guards the count, the making of cursors, and the opening
        self._leaving = False
        self._ended = Event()
        self._opened_s = self._used_s = self._left_s = 0.0
        self._open: _Open | None = None
        self._sharer: Thread | None = None
        self._make_open()
        if self._sharing is not None:
            self._sharer = Thread(target=self._share, args=(self._sharing,), name="wayfare-sharing", daemon=True)
            self._sharer.start()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._ended.is_set()

    @contextmanager
    def transaction(self) -> Generator[duckdb.DuckDBPyConnection]:
        """Write: everything inside is committed together, or nothing. Not to be nested.

        Raises StoreError where the database refuses it; any exception inside undoes the transaction.
        """
        with self.lock:
            with self._readers:
                writer = self._required_open().writer
            try:
                writer.begin()
                yield writer
                writer.commit()
            except BaseException as error:
                with suppress(duckdb.Error):
                    writer.rollback()
                if isinstance(
                    error, duckdb.FatalException
                ):  # as of a full disk: until it is opened again all else fails, too
                    self._leave()
                if isinstance(error, duckdb.Error | pa.ArrowException):
                    raise StoreError(
                        f"The store {self.where} refused a write, nothing of it was kept: {_first_line(error)}."
                    ) from error
                raise
            finally:
                self._used_s = monotonic()
            self._keep_private()

    def read(self, sql: str, parameters: Sequence[object] = ()) -> Table:
        """The rows of one SELECT as an Arrow table.

        Raises StoreError where the store is closed or the file can no longer be read.
        """
        try:
            with self._cursor() as cursor:
                return cursor.sql(sql, params=list(parameters)).to_arrow_table()
        except duckdb.Error as error:
            raise StoreError(f"The store {self.where} cannot be read: {_first_line(error)}.") from error

    def stream(self, sql: str, parameters: Sequence[object] = (), *, rows: int = STREAMED) -> Generator[Any]:
        """The rows of one SELECT, without ORDER BY as they stand in their table, in Arrow batches of `rows`. Raises StoreError as
        `read`. The file stays open until the last batch, or until the generator is closed."""
        try:
            with self._cursor() as cursor:
                for batch in cursor.sql(sql, params=list(parameters)).to_arrow_reader(rows):
                    if self.closed:
                        raise StoreError(f"The store {self.where} is closed; open it again.")
                    yield batch
        except (duckdb.Error, pa.ArrowException) as error:
            raise StoreError(f"The store {self.where} cannot be read: {_first_line(error)}.") from error

    def read_together(self, *statements: str, parameters: Sequence[object] = ()) -> tuple[Table, ...]:
        """The rows of several SELECTs with the same parameters, as they are at one time. Raises StoreError as `read` does."""
        try:
            with self._cursor() as cursor:
                cursor.begin()
                return tuple(cursor.sql(sql, params=list(parameters)).to_arrow_table() for sql in statements)
        except duckdb.Error as error:
            raise StoreError(f"The store {self.where} cannot be read: {_first_line(error)}.") from error

    def release_pages(self) -> None:
        """Give back the memory of pages that were read, up to a few MB, unless something is read or written at this time."""
        if self.path is None or not self.lock.acquire(blocking=False):
            return
        try:
            with self._readers:
                if self._open is not None and not self._reading:
                    with suppress(duckdb.Error):  # what is in use stays
                        self._open.root.execute(f"SET memory_limit = '{LEAST_MEMORY}'")
                    self._open.root.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        finally:
            self.lock.release()

    @contextmanager
    def _cursor(self) -> Generator[duckdb.DuckDBPyConnection]:
        with self._readers:
            self._readers.wait_for(lambda: not self._leaving)
            cursor = self._required_open().root.cursor()
            self._reading += 1
        try:
            with cursor:
                yield cursor
        finally:
            with self._readers:
                self._reading -= 1
                self._used_s = monotonic()
                self._readers.notify_all()

    def close(self) -> None:
        """Release the file once the reads under way have ended. A second call does nothing."""
        with self.lock, self._readers:
            self._ended.set()
            self._readers.wait_for(lambda: self._reading == 0)  # DuckDB refuses to close what is read
            self._make_closed()
        if self._sharer is not None and self._sharer is not current_thread():
            self._sharer.join(timeout=1)  # at the end of a process a running thread leaks DuckDB's types

    def _required_open(self) -> _Open:
        if self.closed:
            raise StoreError(f"The store {self.where} is closed; open it again.")
        return self._open or self._make_open()

    def _make_open(self) -> _Open:
        """Opens the file, and waits for it if it is shared. Raises StoreError, StoreBusyError."""
        if self._sharing is None or self.path is None:
            root = _connect(self.path, self.where)
        else:
            root = _awaited(self.path, self.where, self._sharing.patience_s, self._left_s)
        try:
            root.execute("SET GLOBAL TimeZone = 'UTC'")
            migrate(root, self.where, self._migrations)  # a step may need more memory than what follows
            if self.path is not None:
                root.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        except duckdb.Error as error:
            root.close()
            raise StoreError(_unreadable(self.where, error)) from error
        except StoreError:
            root.close()
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

    def _share(self, sharing: Sharing) -> None:
        """Closes the file for others until this process ends its use of the store. A console opens it again when no other process
        wants it any more."""
        wanted, seen = Wanted(Path(self.where)), 1
        while not self._ended.wait(LOOK_S):
            now, others = monotonic(), wanted.said
            paused, long = now - self._used_s >= PAUSE_S, now - self._opened_s >= LONGEST_S
            if self._open is not None and (paused or long) and (others or (paused and not sharing.stays)):
                self._leave()
            elif sharing.stays and not others:
                with suppress(StoreError):  # the next use says it
                    with self._readers:
                        self._required_open()
                    if self.openings > seen:
                        seen = self.openings
                        self.on_return()

    def _leave(self) -> None:
        with self.lock, self._readers:
            self._leaving = True
            try:
                if self._readers.wait_for(lambda: self._reading == 0, LONGEST_S):
                    self._make_closed()
                    self._left_s = monotonic()
            finally:
                self._leaving = False
                self._readers.notify_all()

    def _keep_private(self) -> None:
        """Mode 0600; the log is made anew after every checkpoint, so this runs after every commit (10 microseconds)."""
        if self.path is not None:
            for file in (self.path, self.path.with_name(f"{self.path.name}.wal")):
                with suppress(OSError):
                    file.chmod(0o600)


@dataclass(frozen=True, slots=True)
class _Open:
    """The connection to an open file, and the one that writes."""

    root: duckdb.DuckDBPyConnection
    writer: duckdb.DuckDBPyConnection


class _LockedError(StoreBusyError):
    """Another process has the file open."""


def _awaited(path: Path, where: str, patience_s: float, left_s: float) -> duckdb.DuckDBPyConnection:
    """Opens a file that others use, too. Whoever waits already goes first after this process has left it. Raises StoreBusyError
    if no process lets go of it in time."""
    wanted, began = Wanted(path), monotonic()
    while wanted.said and monotonic() - left_s < LONGEST_S:
        sleep(RETRY_S)
    while True:
        try:
            found = _connect(path, where)
        except _LockedError:
            if monotonic() - began > patience_s:
                raise
            wanted.say()
            sleep(RETRY_S)
        else:
            wanted.clear()
            return found


def insert_arrow(connection: duckdb.DuckDBPyConnection, statement: str, rows: Table) -> None:
    """Run `INSERT ... SELECT ... FROM incoming` over an Arrow table; far faster than one INSERT for each row.

    Only within a transaction: where the statement fails, the rollback takes the name `incoming` back as well.
    """
    connection.register("incoming", rows)
    connection.execute(statement)
    connection.unregister("incoming")


def _connect(path: Path | None, where: str) -> duckdb.DuckDBPyConnection:
    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "enable_external_access": False,
        # DuckDB hands out one shared database per file and configuration within a process. A second Store on it would
        # count events apart from the first: a configuration of its own makes DuckDB refuse it.
        "custom_user_agent": uuid4().hex,
    }
    try:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return duckdb.connect(MEMORY if path is None else str(path), config=config)
    except (OSError, duckdb.Error) as error:
        raise _unopened(path, where, error) from error


def _unopened(path: Path | None, where: str, error: Exception) -> StoreError:
    text = str(error)
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
        return StoreBusyError(
            f"The store {where} may not be written ({_first_line(error)}); name another file with --db."
        )
    return StoreError(_unreadable(where, error))


def _unreadable(where: str, error: Exception) -> str:
    return (
        f"The store {where} cannot be opened ({_first_line(error)}); restore it from a copy, or name another file "
        "with --db."
    )


def _first_line(error: BaseException) -> str:
    """The database's own words, one line, without the full stop."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".! ")


# ----------------------------------------------------------------------------------------------------------------------
# Tables of typed rows: each field of a dataclass is the column of the same name.

R = TypeVar("R")


@dataclass(frozen=True)
class TypedTable(Generic[R]):
    """Rows are put in place of those of the same key. Conditions are SQL with a `?` for each value."""

    database: Database
    kind: type[R]
    name: str

    @property
    def columns(self) -> str:
        """The columns as SQL."""
        return ", ".join(f'"{field.name}"' for field in fields(self.kind))  # type: ignore[arg-type]

    def select(self, condition: str = "true", values: Sequence[object] = ()) -> tuple[R, ...]:
        """The rows that meet a condition, which may end with an order and a limit."""
        found = self.database.read(f"SELECT {self.columns} FROM {self.name} WHERE {condition}", values)  # noqa: S608
        return tuple(self.kind(**row) for row in found.to_pylist())

    def first(self, condition: str = "true", values: Sequence[object] = ()) -> R | None:
        """The first of these rows. Returns None without one."""
        return next(iter(self.select(condition, values)), None)

    def count(self, what: str = "*", condition: str = "true") -> int:
        """The number of rows that meet a condition, or of values of a column."""
        return self.database.read(f"SELECT count({what}) FROM {self.name} WHERE {condition}")[0][0].as_py()  # noqa: S608

    def put(self, *rows: R) -> None:
        """Write rows, all or none. Raises StoreError."""
        with self.database.transaction() as connection:
            self.write(connection, rows)

    def put_distinct(self, rows: Collection[R]) -> None:
        """`put` for rows of which no two have the same key: one statement for all, where `put` takes 2 ms for each."""
        if rows:
            table, names = self.name, [field.name for field in fields(self.kind)]  # type: ignore[arg-type]
            incoming = pa.table({name: [getattr(row, name) for row in rows] for name in names})
            with self.database.transaction() as connection:
                insert_arrow(connection, f"INSERT OR REPLACE INTO {table} BY NAME SELECT * FROM incoming", incoming)  # noqa: S608

    def remove(self, condition: str, values: Sequence[object]) -> int:
        """Delete rows. Returns their number."""
        with self.database.transaction() as connection:
            return self.delete(connection, condition, values)

    def write(self, connection: duckdb.DuckDBPyConnection, rows: Collection[R], *, replace: bool = True) -> None:
        """`put` within a transaction. Without `replace`, rows whose key is there already are left out."""
        names = [field.name for field in fields(self.kind)]  # type: ignore[arg-type]
        values: list[Any] = [[getattr(row, name) for name in names] for row in rows]
        if values:
            table, marks, verb = self.name, ", ".join("?" * len(names)), "REPLACE" if replace else "IGNORE"
            connection.executemany(f"INSERT OR {verb} INTO {table} ({self.columns}) VALUES ({marks})", values)  # noqa: S608

    def delete(self, connection: duckdb.DuckDBPyConnection, condition: str, values: Sequence[object]) -> int:
        """`remove` within a transaction."""
        table = self.name
        deleted = connection.execute(f"DELETE FROM {table} WHERE {condition} RETURNING 1", values)  # noqa: S608
        return len(deleted.fetchall())


# ----------------------------------------------------------------------------------------------------------------------
# A store as plain tables, and a store in memory made of them: what another machine needs to decide as this one does.

_NAMES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_oid"


def all_tables(database: Database) -> dict[str, Table]:
    """Every table by name, in the order in which they were made. Raises StoreError."""
    names = [str(row.as_py()) for row in database.read(_NAMES)[0]]
    return {name: database.read(f'SELECT * FROM "{name}"') for name in names}  # noqa: S608 - names of our own tables


def fill(database: Database, tables: Mapping[str, Table]) -> None:
    """Give a new database these rows in place of its own. Raises StoreError."""
    with database.transaction() as connection:
        for name in reversed(list(tables)):
            connection.execute(f'DELETE FROM "{name}"')  # noqa: S608
        for name, rows in tables.items():
            insert_arrow(connection, f'INSERT INTO "{name}" BY NAME SELECT * FROM incoming', rows)  # noqa: S608


# ----------------------------------------------------------------------------------------------------------------------
# Tables as files: Parquet for programs, CSV for spreadsheets.

Format = Literal["csv", "parquet"]
FORMULA = r"^([=+\-@\t\r\n])"


def encode(table: Table, format_: Format) -> bytes:
    r"""A table as the bytes of a CSV (UTF-8, header, missing values as empty fields) or Parquet file.

    Texts come from strangers, and a spreadsheet runs a cell that begins with = + - @, a tab or a line break as a
    formula: in CSV such a text gets a leading apostrophe. Numbers keep their sign. Parquet is exact.

    Raises StoreError for another format.

    >>> encode(pa.table({"text": ["=1+1", "plain", "", None], "value": [-1.5, None, 2.0, 0.0]}), "csv").decode()
    '"text","value"\n"\'=1+1",-1.5\n"plain",\n"",2\n,0\n'
    """
    buffer = BytesIO()
    write_parts(iter([table]), format_, buffer)
    return buffer.getvalue()


def write_parts(parts: Iterator[Table], format_: Format, file: BinaryIO) -> None:
    """The same into a file, of a table in one or more parts. One part is in memory at a time."""
    writers = {"csv": ("pyarrow.csv", "CSVWriter"), "parquet": ("pyarrow.parquet", "ParquetWriter")}
    if format_ not in writers:
        raise StoreError(f"There is no export format {format_!r}; choose csv or parquet.")
    module, name = writers[format_]
    first = next(parts)
    with getattr(import_module(module), name)(file, first.schema) as writer:
        for part in chain([first], parts):
            writer.write_table(_disarmed(part) if format_ == "csv" else part)


def _disarmed(table: Table) -> Table:
    compute: Any = import_module("pyarrow.compute")
    columns = [
        compute.replace_substring_regex(column, pattern=FORMULA, replacement=r"'\1")
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
