"""The background thread of all sessions, the wait of a calling thread for it, and the errors that end a wait. A tool call turns each of
them into an outcome."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, TypeVar

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult
from pydantic import ValidationError

from core.domain.errors import WayfareError
from core.domain.outcome import OutcomeKind
from core.domain.untrusted_text import one_line
from core.servers.secrets import Launch

T = TypeVar("T")

MOST_FAULTS, PLACE_CHARS = 3, 100


def said(error: Exception) -> str:
    """Returns the text of an exception. For an answer that breaks the protocol it names the places, without the invalid
    values, which may be long, and without the validation library's links.

    >>> from mcp_types import CallToolResult
    >>> try:
    ...     CallToolResult.model_validate({"content": "a text", "isError": "perhaps"})
    ... except ValidationError as error:
    ...     said(error)
    'The answer does not fit the protocol: content: Input should be a valid list; isError: Input should be a valid boolean, unable to interpret input.'
    """
    if isinstance(error, httpx2.HTTPStatusError):  # its own text has the address
        return f"HTTP {error.response.status_code} {error.response.reason_phrase}"
    if not isinstance(error, ValidationError):
        return str(error) or type(error).__name__
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    places = (one_line(".".join(map(str, fault["loc"])), PLACE_CHARS) for fault in faults[:MOST_FAULTS])
    entries = [f"{place or 'it'}: {fault['msg']}" for place, fault in zip(places, faults, strict=False)]
    rest = [f"{len(faults) - MOST_FAULTS} more"] if len(faults) > MOST_FAULTS else []
    return f"The answer does not fit the protocol: {'; '.join([*entries, *rest])}."


class CallEndedError(WayfareError):
    """A call that ended without an answer of its tool: the kind of its outcome, and the words about it."""

    kind: ClassVar[OutcomeKind]
    words: ClassVar[str] = "{error}"


class NotConnectedError(CallEndedError):
    """No session: the server cannot be reached or started, or a value for it is missing.

    `connect_s` is the time of the attempt in s; None without an attempt.
    """

    kind = OutcomeKind.NOT_CONNECTED

    def __init__(self, message: str, connect_s: float | None = None) -> None:
        super().__init__(message)
        self.connect_s = connect_s


class NotSentError(NotConnectedError):
    """The session ended before the call was sent."""


class UnauthorizedError(NotConnectedError):
    """The server answered 401, so no tool was tried. With `challenged` it asks for a sign-in."""

    kind = OutcomeKind.NOT_TRIED

    def __init__(self, message: str, *, challenged: bool) -> None:
        super().__init__(message)
        self.challenged = challenged


class BusyError(NotConnectedError):
    """The server asks to be called later, so no tool was tried."""

    kind = OutcomeKind.BUSY


class ConnectionLostError(CallEndedError):
    """The session ended during the call. Whether the tool ran is unknown."""

    kind, words = OutcomeKind.CRASH, "{tool}: the connection was lost ({error})"


class CallTimeoutError(CallEndedError):
    """No response within the call's time limit."""

    kind, words = OutcomeKind.TIMEOUT, "{tool}: {error}"


class InvalidResponseError(CallEndedError):
    """The response breaks the protocol, or only the tool's own output schema: then there is a `result`."""

    kind = OutcomeKind.TOOL_ERROR

    def __init__(self, message: str, result: CallToolResult | None = None) -> None:
        super().__init__(message)
        self.result = result


class CancelledCallError(CallEndedError):
    """The operator cancelled the call or closed its connection."""

    kind, words = OutcomeKind.CANCELLED, "{tool}: {error}"


async def bounded(work: Awaitable[T], limit_s: float) -> T:
    """Awaits the work for at most `limit_s`.

    Raises CallTimeoutError at the limit, even if the work cannot be interrupted at once (a write to a stopped process).
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(retrieved)
    try:
        done, _ = await asyncio.wait({task}, timeout=limit_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        raise CallTimeoutError(f"no answer within {limit_s:g} s")
    return task.result()


def retrieved(task: asyncio.Future[Any]) -> None:
    """Retrieves the exception of an abandoned task, so that asyncio logs no warning."""
    if not task.cancelled():
        task.exception()


def first_leaf(error: BaseException) -> Exception:
    """Returns the first real exception inside nested groups."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    if inner:
        return first_leaf(inner[0])
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)


def sentence(error: Exception, launch: Launch) -> str:
    """Returns why a session could not be opened, for the operator."""
    if isinstance(error, FileNotFoundError):
        return f"the command {launch.command} was not found"
    if isinstance(error, OSError) and launch.transport == "stdio":
        return f"the command {launch.command} cannot be started: {error.strerror or error}"
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "it closed the connection before it answered"
    odd = [name for name, value in launch.headers.items() if not (value.isascii() and value.isprintable())]
    if odd and isinstance(error, (httpx2.LocalProtocolError, UnicodeEncodeError)):
        return f"the value of the header {' and '.join(odd)} has a character that HTTP does not allow"
    return said(error)


class LoopThread:
    """Runs coroutines for other threads, until `stop`."""

    def __init__(self, name: str) -> None:
        runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)  # sets no loop of this thread
        self._loop = runner.get_loop()
        self._thread = threading.Thread(target=self._run, args=(runner,), name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs a coroutine in the loop. The future belongs to the calling thread; cancelling it cancels the task."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self, limit_s: float) -> None:
        """Cancels running tasks, ends the loop and waits for the thread, at most `limit_s`."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(limit_s)

    @staticmethod
    def _run(runner: asyncio.Runner) -> None:
        with runner:
            runner.get_loop().run_forever()


def kill_group(pid: int) -> None:
    """Kills the process group that a child leads, if any of it is left. On Windows the SDK's job object does it."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


POLL_S = 0.05
MAX_QUEUED = 1000


class ThreadInbox:
    """Callbacks from the event loop to the calling thread. Bounded: excess progress is dropped."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def post(self, message: Callable[[], None]) -> None:
        if self._queue.qsize() < MAX_QUEUED:
            self._queue.put(message)

    def wait_for(self, future: Future[T], cancel: threading.Event | None) -> T:
        """Runs queued callbacks until the future is done, then returns its result or raises its error.

        Raises CancelledCallError if `cancel` is set first or the pool ends. The task behind the future is cancelled
        then, and also if a callback raises.
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
