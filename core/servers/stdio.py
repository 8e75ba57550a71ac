"""A server as a child process that speaks one JSON message a line.

It replaces the SDK's transport, which rejoins a long line at each piece, without a limit, and parses it on the event
loop: the time of an answer grew with the square of its size, and all other servers waited.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TextIO, cast

import anyio
from anyio.abc import AsyncResource, ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from core.servers.messages import END_BYTES, AnswerLimit, answered_id, containers, failed, message_of, read, top_level
from core.servers.sdk import (
    FallbackProcess,
    close_pipes,
    close_process_job,
    create_windows_process,
    get_windows_executable_command,
    terminate_posix_process_tree,
    terminate_windows_process_tree,
)
from core.servers.secrets import Launch
from core.servers.threads import kill_group

ON_SPAWN: ContextVar[Callable[[int], None] | None] = ContextVar("on_spawn", default=None)
"""Called with the process id of each child that the current task starts."""
FLUSH_S, EXIT_S, TERMINATE_S, KILL_S, POLL_S = 0.5, 2.0, 2.0, 2.0, 0.01
"""Time for a server to read the last message, to end after its input is closed, to end after a signal, and to disappear."""
_ENDED = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)
Incoming = SessionMessage | Exception
LINE_CHARS = 500
SKIPPED_LIMITS = 100
"""A line beyond the limit is read to its end and dropped, up to this multiple of the limit."""
_ADVICE = re.compile(
    r"(?i)npm (?:error|err!)\s+(?:a complete log|\S+\.log$)|node\.js v|\s+at |for (?:more|further) information"
    r"|(?:run|see) 'docker\b|.*\bunsatisfiable\.$"
)
"""The last line of npx, node, docker or uvx, after the line that names the error."""
_NAMES_ERROR = re.compile(
    r"(?i)(?!\s*(?:at|file|raise|throw)\b|.*\bwarn|npm (?:error|err!) (?:code|a complete))"  # of a stack, or about a log
    r".*(?:error\b|\bexception\b|\bcannot\b|not found|fail|denied|refused|missing|required|invalid)"
)


class StderrLog:
    """The newest lines of a server's standard error and of other output outside the protocol, bounded and redacted.

    `count` is the total number of lines. A caller notes it to tell old lines from new ones.
    """

    def __init__(self, redact: Callable[[str], str], lines: int = 50) -> None:
        self._redact = redact
        self._lines: deque[str] = deque(maxlen=lines)
        self.count = 0

    def add(self, line: str) -> None:
        text = self._redact(line.strip("\r\n"))
        if text.strip():
            self._lines.append(text if len(text) <= LINE_CHARS else f"{text[:LINE_CHARS]}…")
            self.count += 1

    def forget(self, since: int) -> None:
        """Drops the lines after the first `since`."""
        while self.count > since and self._lines:
            self._lines.pop()
            self.count -= 1

    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines.copy())

    def last(self, since: int = 0) -> str:
        """Returns the newest line, or "" if none came after the first `since` lines."""
        return self._lines[-1] if self.count > since and self._lines else ""

    def cause(self, since: int = 0) -> str:
        """Returns the newest line or, if it is only advice, the first that names an error."""
        lines, last = self.lines(), self.last(since)
        new = lines[max(0, len(lines) - (self.count - since)) :]
        return next(filter(_NAMES_ERROR.match, new), last) if _ADVICE.match(last) else last


@dataclass(frozen=True, slots=True)
class TooLargeLine:
    """The two ends of a line that was too large, and the reason."""

    head: bytes
    tail: bytes
    reason: str


class EndlessLineError(Exception):
    """A line goes on far beyond the limit, or is too large and does not name its call. The session and all its calls end."""


@dataclass
class Lines:
    r"""The lines of a stream that comes in pieces, in linear time: each piece is searched and joined once.

    >>> lines = Lines(AnswerLimit(10))
    >>> lines.add(b"one\ntw"), lines.add(b"o\n123456"), lines.add(b"7890")
    ([b'one'], [b'two'], [])
    >>> [(line.head, line.tail) for line in lines.add(b"1\n")]
    [(b'1234567890', b'12345678901')]
    """

    limit: AnswerLimit
    _pieces: list[bytes] = field(default_factory=list[bytes])
    _size: int = 0
    _tail: bytes = b""

    def add(self, piece: bytes) -> list[bytes | TooLargeLine]:
        """Returns the lines that end in this piece. Raises EndlessLineError."""
        lines: list[bytes | TooLargeLine] = []
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._keep(end)
            lines.append(self._taken())
        self._keep(rest)
        return lines

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self.limit.max_bytes:
            self._pieces.append(piece)
        elif self._size > SKIPPED_LIMITS * self.limit.max_bytes:
            raise EndlessLineError(self.limit.broken_by(self._size, 0))
        self._tail = piece[-END_BYTES:] if len(piece) >= END_BYTES else (self._tail + piece)[-END_BYTES:]

    def _taken(self) -> bytes | TooLargeLine:
        line, tail, size = b"".join(self._pieces), self._tail, self._size
        self._pieces, self._tail, self._size = [], b"", 0
        reason = self.limit.broken_by(size, containers(line))
        return TooLargeLine(line[:END_BYTES], tail, reason) if reason else line


Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def stdio_transport(
    launch: Launch, errlog: TextIO, stderr_log: StderrLog, limit: AnswerLimit
) -> AsyncGenerator[Streams]:
    """Starts the server and yields the streams from it and to it. At the end the server is stopped with all its
    descendants. Its standard error goes to `errlog`, which is closed here. Raises OSError if the server cannot be
    started."""
    process = await _started(launch, errlog)
    # there is no await from here to the task group, so that a child is never left behind
    errlog.close()  # the child has its own copy: when the child ends, so does the reader
    stdin, stdout = cast(ByteSendStream, process.stdin), cast(ByteReceiveStream, process.stdout)
    if (on_spawn := ON_SPAWN.get()) is not None:
        on_spawn(process.pid)
    incoming, reader = anyio.create_memory_object_stream[Incoming](0)
    writer, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, stdout, incoming, stderr_log, limit)
        tasks.start_soon(_write, stdin, outgoing, incoming, written)
        try:
            yield reader, writer
        finally:
            with anyio.CancelScope(shield=True):
                reader.close()
                writer.close()
                with anyio.move_on_after(FLUSH_S):
                    await written.wait()
                await _stop(process, stdin, stdout)
                incoming.close()
                outgoing.close()
            tasks.cancel_scope.cancel()


async def _started(launch: Launch, errlog: TextIO) -> Process | FallbackProcess:
    environment, cwd = dict(launch.env), launch.cwd or None
    if sys.platform == "win32":
        command = await anyio.to_thread.run_sync(get_windows_executable_command, launch.command)
        return await create_windows_process(command, list(launch.args), environment, errlog, cwd)
    words = [launch.command, *launch.args]
    return await anyio.open_process(words, env=environment, stderr=errlog, cwd=cwd, start_new_session=True)


async def _read(
    stdout: ByteReceiveStream, incoming: MemoryObjectSendStream[Incoming], stderr_log: StderrLog, limit: AnswerLimit
) -> None:
    lines = Lines(limit)
    try:
        async with incoming:
            async for piece in stdout:
                for line in lines.add(piece):
                    await _pass_on(line, incoming, stderr_log)
    except EndlessLineError as error:
        stderr_log.add(str(error))
    except _ENDED:
        pass
    finally:
        with anyio.CancelScope(shield=True), suppress(*_ENDED):
            while True:  # a server that is blocked in a write would not notice its closed input
                await stdout.receive()


async def _write(
    stdin: ByteSendStream,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[Incoming],
    written: anyio.Event,
) -> None:
    try:
        async with outgoing:
            async for message in outgoing:
                await stdin.send(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
    except _ENDED:
        await incoming.aclose()  # the server may live on; waiting calls learn that no answer will come
    finally:
        written.set()


async def _pass_on(
    line: bytes | TooLargeLine, incoming: MemoryObjectSendStream[Incoming], stderr_log: StderrLog
) -> None:
    if isinstance(line, TooLargeLine):
        stderr_log.add(line.reason)
        if b'"method"' in top_level(line.head):  # it answers no call
            return
        request_id = answered_id(line.head, line.tail)
        if request_id is None:
            raise EndlessLineError(line.reason)
        await incoming.send(SessionMessage(failed(request_id, line.reason)))
    elif line.strip():
        try:
            message = SessionMessage(await read(message_of, line))
        except ValueError:  # not for a call: it is logged
            message = ValueError(line[:END_BYTES].decode(errors="replace"))
        await incoming.send(message)


async def _stop(process: Process | FallbackProcess, stdin: ByteSendStream, stdout: ByteReceiveStream) -> None:
    """Ends the server as the protocol says: closes its input, waits, signals it and its descendants, kills the rest."""
    await _close(stdin)
    if not await _ended(process, EXIT_S):
        if sys.platform == "win32":
            await terminate_windows_process_tree(process)
        else:
            await terminate_posix_process_tree(cast(Process, process), TERMINATE_S)
        await _ended(process, KILL_S)
    close_process_job(process)  # of Windows
    kill_group(process.pid)  # a descendant that is left over would keep the reader of standard error waiting
    await _close(stdout)
    close_pipes(process)


async def _ended(process: Process | FallbackProcess, limit_s: float) -> bool:
    """Whether the process ends in time. It polls, because a wait would include descendants that hold its pipes."""
    with anyio.move_on_after(limit_s):
        while process.returncode is None:
            await anyio.sleep(POLL_S)
    return process.returncode is not None


async def _close(stream: AsyncResource) -> None:
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await stream.aclose()
