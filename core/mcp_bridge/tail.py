"""The last lines that a server wrote where nobody listens."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import TextIO

LINE_CHARS = 500


class Tail:
    """The last lines of a server's standard error, and of what else it said outside the protocol; bounded, redacted.

    `count` is how many lines came in all: remembering it tells old lines from new ones.
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
        """What is kept, oldest first."""
        return tuple(self._lines.copy())

    def last(self, since: int = 0) -> str:
        """The newest line, empty if none came after the first `since` lines."""
        return self._lines[-1] if self.count > since and self._lines else ""


class StderrPump:
    """A pipe whose one end a child process writes to and whose other end a thread reads into a tail.

    A thread, because it works alike on every platform; it ends when the last process that holds the pipe has ended.
    """

    def __init__(self, tail: Tail) -> None:
        self._tail = tail
        self._done = threading.Event()
        read_fd, write_fd = os.pipe()
        self._reader = os.fdopen(read_fd, "r", encoding="utf-8", errors="replace")
        self.errlog: TextIO = os.fdopen(write_fd, "w", encoding="utf-8")
        threading.Thread(target=self._run, name="mcp-stderr", daemon=True).start()

    async def drained(self) -> None:
        """Wait until everything is read, for at most 0.2 s: a left-over descendant may hold the pipe."""
        for _ in range(20):
            if self._done.is_set():
                return
            await asyncio.sleep(0.01)

    def _run(self) -> None:
        with self._reader as reader:
            # bounded reads: a server may write for ever without a line break
            while line := reader.readline(16 * LINE_CHARS):
                self._tail.add(line)
        self._done.set()
