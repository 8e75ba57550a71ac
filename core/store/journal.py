"""The journal: records of answered calls, on the disk before the answer and until they are in the database.

A transaction takes milliseconds, a line at the end of a file takes microseconds. The system keeps the written lines of a
killed process, so nothing here waits for the disk itself. A power failure may lose the last moments before it.
"""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from core.domain.errors import StoreError
from core.domain.events import Spent
from core.store.connection import NoRoomError
from core.store.log import TABLES, Record, checked

Kept = Record | Spent
KINDS: Mapping[str, type[Kept]] = {kind.__name__: kind for kind in (*TABLES, Spent)}
LARGEST_BYTES = 1 << 20
"""A longer file is rewritten with only its needed lines."""
_TO_JSON = json.JSONEncoder(default=datetime.isoformat).encode

_log = logging.getLogger(__name__)


class Journal:
    """Lines beside the database, each with the records of a write. None if the database is in memory. Thread-safe.

    The file has mode 0600. The first line creates it. Closing removes it if no line is needed.
    """

    def __init__(self, database: Path | None) -> None:
        self.path = None if database is None else database.with_name(f"{database.name}.journal")
        self._lock = Lock()
        self._file: int | None = None
        self._closed = False
        self._size, self._limit = 0, LARGEST_BYTES
        self._last = 0
        self._needed: dict[int, bytes] = {}

    def add(self, *rows: tuple[type[Any], Sequence[object]]) -> int:
        """Writes records, each as its kind and the values of its fields. A killed process does not lose them. Returns their
        number for `done`. Raises StoreError if the disk refuses them."""
        line = _line(rows)
        with self._lock:
            self._last += 1
            if self.path is not None:
                self._append(self.path, line)
                self._needed[self._last] = line
            return self._last

    def add_if_room(self, *rows: tuple[type[Any], Sequence[object]]) -> int:
        """`add` for what has happened already. Returns 0 if the disk is full."""
        with suppress(NoRoomError):
            return self.add(*rows)
        return 0

    def done(self, numbers: Iterable[int]) -> None:
        """Drops lines whose records are in the database."""
        with self._lock:
            for number in numbers:
                self._needed.pop(number, None)
            if self._file is None or self.path is None or not self._size:
                return
            if not self._needed:
                os.ftruncate(self._file, 0)
                self._size = 0
            elif self._size > self._limit:
                with suppress(OSError):  # the long file stays in use
                    self._make_anew(self.path)

    def left(self) -> list[tuple[Kept, ...]]:
        """The records of each line that an earlier process left, in order. Skips unreadable lines, as a full disk or a power
        failure may leave them."""
        if self.path is None or not self.path.exists():
            return []
        *lines, torn = self.path.read_bytes().split(b"\n")
        batches = [records for line in lines if (records := _records(line)) is not None]
        if len(batches) < len(lines) or torn:
            _log.warning("%d lines of %s cannot be read", len(lines) - len(batches) + bool(torn), self.path)
        return batches

    def clear(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the file, and removes it if no line is needed. A second call does nothing."""
        with self._lock:
            self._closed = True
            if self._file is not None:
                os.close(self._file)
                self._file = None
                if not self._needed:
                    with suppress(OSError):  # it is empty
                        self.clear()

    def _append(self, path: Path, line: bytes) -> None:
        if self._closed:
            raise StoreError(f"The journal {path} is closed; open its store again.")
        try:
            if self._file is None:
                self._file = _opened(path)
            self._size += _written(self._file, line)
        except OSError as error:
            if self._file is not None:
                with suppress(OSError):
                    os.ftruncate(self._file, self._size)  # no half line before the next
            raise NoRoomError(f"The journal {path} cannot be written ({error.strerror}); make room for it.") from error

    def _make_anew(self, path: Path) -> None:
        new_path = path.with_name(f"{path.name}.new")
        new_path.unlink(missing_ok=True)
        file = _opened(new_path)
        try:
            size = _written(file, b"".join(self._needed.values()))
            new_path.replace(path)
        except OSError:
            os.close(file)
            raise
        if self._file is not None:
            os.close(self._file)
        self._file, self._size, self._limit = file, size, max(LARGEST_BYTES, 2 * size)


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _written(file: int, data: bytes) -> int:
    if os.write(file, data) < len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return len(data)


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _line(rows: Iterable[tuple[type[Any], Sequence[object]]]) -> bytes:
    """Records as one line.

    >>> _line([(Spent, ("7", datetime(2026, 3, 1), "", "ann", "", "", "", 0.5, 1, 0, False, True))])[:60]
    b'[["Spent", {"id": "7", "at": "2026-03-01T00:00:00", "day": "'
    """
    document = [(kind.__name__, dict(zip(_names(kind), values, strict=True))) for kind, values in rows]
    return f"{_TO_JSON(document)}\n".encode()


def _record(kind: type[Any], document: Mapping[str, Any]) -> Kept:
    times = [field.name for field in fields(kind) if field.type == "datetime"]
    return kind(**{**document, **{name: datetime.fromisoformat(document[name]) for name in times}})


def _records(line: bytes) -> tuple[Kept, ...] | None:
    try:
        records = tuple(_record(KINDS[name], document) for name, document in json.loads(line))
        for record in records:
            checked(record)
    except (ValueError, TypeError, KeyError, StoreError):
        return None
    return records
