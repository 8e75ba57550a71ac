"""Bodies of HTTP responses on their way to the SDK: bounded while they are read, so that none fills the memory, and mended."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2
from mcp_types import RequestId

from core.servers.messages import AnswerLimit, containers, dumped, failed

EVENTS = "text/event-stream"
PLAIN = "identity"
COMPRESSED = "The server compresses its answer although it was asked not to: a small answer could fill the memory."
Mend = Callable[[bytes], Awaitable[bytes]]
_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_EVENT_END = re.compile(rb"\r\n\r\n|\n\r?\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")


class TooLargeError(httpx2.SSEError, httpx2.StreamError):
    """Raised while an answer is read over HTTP. The SDK turns it into an error of this request: its event streams catch
    the first base class, its other bodies the second."""


async def unchanged(text: bytes) -> bytes:
    """Returns a text as it is."""
    return text


class Body(httpx2.AsyncByteStream):
    """Replaces the body of a response that is about to be read. Texts go through `mend`: each event of a stream of events, else the whole.

    The limit applies to each text. Beyond it TooLargeError is raised, or, if it is known which request was `asked`, its call ends with that
    error. A compressed body is refused.
    """

    def __init__(
        self, response: httpx2.Response, limit: AnswerLimit, mend: Mend = unchanged, asked: RequestId | None = None
    ) -> None:
        self._compressed = response.headers.pop("content-encoding", PLAIN) != PLAIN
        self._events = response.headers.get("content-type", "").lower().startswith(EVENTS)
        self._body: Any = response.stream
        self._limit = limit
        self._mend = mend
        self._asked = asked
        response.stream = self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for text, event in self._texts():
                if event:
                    yield await self._mended_event(text) + b"\n\n"
                else:
                    yield text if self._events else await self._mend(text)
        except TooLargeError as error:
            if self._asked is None:
                raise
            answer = dumped(failed(self._asked, str(error)))
            yield b"data: " + answer + b"\n\n" if self._events else answer

    async def aclose(self) -> None:
        """Closes the body."""
        await self._body.aclose()

    async def _texts(self) -> AsyncIterator[tuple[bytes, bool]]:
        """Yields each whole event, and what the body ends with. Raises TooLargeError."""
        if self._compressed:
            raise TooLargeError(COMPRESSED)
        pieces, seam, size, found = list[bytes](), b"", 0, 0
        async for piece in self._body:
            pieces.append(piece)
            seam = seam[-2:] + piece  # the end of an event may be cut in two
            size, found = size + len(piece), found + containers(piece)
            if self._events and any(end in seam for end in _ENDS):
                *events, seam = _EVENT_END.split(b"".join(pieces))
                for event in events:
                    self._check(len(event), containers(event))
                    yield event, True
                pieces, size, found = [seam], len(seam), containers(seam)
            self._check(size, found)
        yield b"".join(pieces), False

    def _check(self, size: int, found: int) -> None:
        if reason := self._limit.broken_by(size, found):
            raise TooLargeError(reason)

    async def _mended_event(self, event: bytes) -> bytes:
        lines = _LINE_END.split(event)
        data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        others = [line for line in lines if not line.startswith(b"data:")]
        of_message = all(line[6:].strip() == b"message" for line in others if line.startswith(b"event:"))
        if not of_message or not any(data):
            return event
        return b"\n".join([*others, b"data: " + await self._mend(b"\n".join(data))])
