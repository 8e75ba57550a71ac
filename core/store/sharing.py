"""Sharing of a store's file by several processes, which DuckDB lets only one at a time open.

A process that waits for the file says so with a small file beside it. The process that has the store looks for it, closes the file
as soon as no read or write is under way, and opens it again at its next use.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.05
"""Time between two looks for a waiting process."""
PAUSE_S = 0.1
"""A pause of this length is the end of a use: a command that reads and writes at once is not interrupted."""
LONGEST_S = 0.5
"""A process that uses the store without a pause gives it away after this time."""
RETRY_S = 0.01
FRESH_S = 2.0
"""A waiting process renews its file. An older one was left by a process that was killed."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How a process shares the store. A console `stays`: it keeps the file until another process wants it, and a journal. A
    command keeps the file only while it reads or writes. `patience_s` is how long either waits for the file."""

    stays: bool
    patience_s: float = 5.0


CONSOLE = Sharing(stays=True)
COMMAND = Sharing(stays=False)


class Wanted:
    """The file beside a database by which a process says that it waits."""

    def __init__(self, database: Path) -> None:
        self._file = database.with_name(f"{database.name}.wanted")

    def say(self) -> None:
        """Say that this process waits. In a folder that is not writable it waits unheard."""
        with suppress(OSError):
            self._file.touch(mode=0o600)

    def clear(self) -> None:
        """The wait is over. Others that wait say so again."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)

    @property
    def said(self) -> bool:
        try:
            return time.time() - self._file.stat().st_mtime < FRESH_S
        except OSError:
            return False
