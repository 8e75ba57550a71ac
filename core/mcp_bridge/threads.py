"""A background thread with an event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from core.mcp_bridge.errors import CancelledCallError

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for other threads. Started with the first one, ended with `stop`, not restarted."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def started(self) -> bool:
        """Whether anything ran yet."""
        return self._loop is not None

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine in the loop; the future belongs to the calling thread, and cancelling it cancels the task."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def stop(self, limit_s: float) -> None:
        """Cancel what still runs, end the loop and wait for the thread, at most `limit_s`."""
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(limit_s)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            return self._loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
            asyncio.set_event_loop(None)
            loop.close()


def kill_group(pid: int) -> None:
    """Kill the process group that a child leads, if any of it is left. On Windows the SDK's job object does it."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


# ----------------------------------------------------------------------------------------------------------------------
# How a calling thread waits for the event loop: callbacks run in it meanwhile, and it can cancel.

POLL_S = 0.05
MAX_QUEUED = 1000


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
