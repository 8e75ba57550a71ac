"""The newest lines of a server's standard error."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import TextIO

LINE_CHARS = 500


class StderrLog:
    """The newest lines of a server's standard error and of other output outside the protocol; bounded and redacted.

    `count` is how many lines came in total: a caller notes it to tell old lines from new ones.
    """

    def __init__(self, redact: Callable[[str], str], lines: int = 50) -> None:
        self._redact = redact
        self._lines: deque[str] = deque(maxlen=lines)
        self.count = 0

    def add(self, line: str) -> None:
        """Keep a line; empty ones are dropped, long ones cut."""
        text = self._redact(line.strip("\r\n"))
        if text.strip():
            self._lines.append(text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…")
            self.count += 1

    def lines(self) -> tuple[str, ...]:
        """The lines, oldest first."""
        return tuple(self._lines.copy())

    def last(self, since: int = 0) -> str:
        """The newest line, empty if none came after the first `since` lines."""
        return self._lines[-1] if self.count > since and self._lines else ""


class StderrReader:
    """A pipe that a child process writes to and a thread reads into a `StderrLog`.

    A thread, because it works alike on every platform; it ends when the last process with the pipe open has ended.
    """

    def __init__(self, stderr_log: StderrLog) -> None:
        self._stderr_log = stderr_log
        self._done = threading.Event()
        read_fd, write_fd = os.pipe()
        self._reader = os.fdopen(read_fd, "r", encoding="utf-8", errors="replace")
        self.errlog: TextIO = os.fdopen(write_fd, "w", encoding="utf-8")
        threading.Thread(target=self._run, name="mcp-stderr", daemon=True).start()

    async def drained(self) -> None:
        """Wait until everything is read, for at most 0.2 s: a left-over descendant may keep the pipe open."""
        for _ in range(20):
            if self._done.is_set():
                return
            await asyncio.sleep(0.01)

    def _run(self) -> None:
        with self._reader as reader:
            # bounded reads: a server may write for ever without a line break
            while line := reader.readline(16 * LINE_CHARS):
                self._stderr_log.add(line)
        self._done.set()
