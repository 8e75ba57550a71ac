"""How a calling thread waits for the event loop: callbacks run in it meanwhile, and it can cancel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from queue import Empty, SimpleQueue
from typing import TypeVar

from core.mcp_bridge.errors import CancelledCallError

POLL_S = 0.05
MAX_QUEUED = 1000
T = TypeVar("T")


class ThreadInbox:
    """Callbacks from the event loop to the calling thread. Bounded: a flood of progress is thinned out."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def post(self, message: Callable[[], None]) -> None:
        """Have the calling thread run this while it waits."""
        if self._queue.qsize() < MAX_QUEUED:
            self._queue.put(message)

    def wait_for(self, future: Future[T], cancel: threading.Event | None) -> T:
        """Run what is posted until the future is done, then give its result or raise its error.

        Raises CancelledCallError where `cancel` is set first or the pool ends; the task behind the future is cancelled
        then, and also where a posted message raises.
        """
        future.add_done_callback(lambda _: self._queue.put(None))
        try:
            while (message := self._next(cancel)) is not None:
                message()
            return future.result()
        except CancelledError:
            raise CancelledCallError("the pool of sessions was closed") from None
        finally:
            future.cancel()

    def _next(self, cancel: threading.Event | None) -> Callable[[], None] | None:
        while True:
            if cancel is not None and cancel.is_set():
                raise CancelledCallError("cancelled by the operator")
            try:
                return self._queue.get(timeout=None if cancel is None else POLL_S)
            except Empty:
                continue
