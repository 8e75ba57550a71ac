"""Writing in the background: what comes close together is written in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event


class BackgroundWriter:
    """Calls `write` in a thread of its own, `gather_s` seconds after the first of the calls of `soon` that it serves.

    A transaction for each event costs more than the calls that the events tell of, and it would take the processor from the
    answer that is just being sent.

    >>> written = []
    >>> writer = BackgroundWriter(lambda: written.append("once"), gather_s=60.0, name="example")
    >>> writer.soon(), writer.soon(), writer.close(), written
    (None, None, None, ['once'])
    """

    def __init__(self, write: Callable[[], None], *, gather_s: float, name: str) -> None:
        self._write = write
        self._gather_s = gather_s
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._is_waiting, self._closing = False, Event()

    def soon(self) -> None:
        """Have everything written that was queued before. Raises RuntimeError once it is closed."""
        if not self._is_waiting:
            self._is_waiting = True
            self._thread.submit(self._gathered)

    def close(self) -> None:
        """Write at once what waits, and end the thread. A second call does nothing."""
        self._closing.set()
        self._thread.shutdown(wait=True)

    def _gathered(self) -> None:
        self._closing.wait(self._gather_s)
        self._is_waiting = False
        self._write()
