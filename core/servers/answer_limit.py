"""The size limit of a server's answer. It is checked while the answer is read, so that no answer fills the memory.

Python parses an answer in one piece, and blocks all other threads meanwhile. The time depends more on the number of
lists and objects than on the bytes, so that number is limited, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import httpx2

from core.domain.settings import MAX_ANSWER_BYTES, MAX_ANSWER_MB
from core.servers.messages import END_BYTES

TOO_LARGE = "The answer has more than"
"""The beginning of each error sentence about a limit."""
BYTES_PER_CONTAINER = 20
SKIPPED_LIMITS = 100
"""A line beyond the limit is read to its end and dropped, up to this multiple of the limit."""
EVENT_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")


@dataclass(frozen=True, slots=True)
class AnswerLimit:
    """The largest message of a server in bytes. One list or object is allowed for each 20 bytes of the limit."""

    max_bytes: int = MAX_ANSWER_BYTES

    def broken_by(self, size_bytes: int, containers: int) -> str:
        """Returns which limit is broken, its value and what to do, or "".

        >>> AnswerLimit(5_000_000).broken_by(5_000_001, 0)
        'The answer has more than 5 MB, which is the limit: ask for less at once, or raise WAYFARE_MAX_ANSWER_MB.'
        >>> AnswerLimit(5_000_000).broken_by(5_000_000, 250_000)
        ''
        """
        if size_bytes > self.max_bytes:
            most = f"{self.max_bytes / 1e6:g} MB"
        elif containers > self.max_bytes // BYTES_PER_CONTAINER:
            most = f"{self.max_bytes // BYTES_PER_CONTAINER:,} lists and objects"
        else:
            return ""
        return f"{TOO_LARGE} {most}, which is the limit: ask for less at once, or raise {MAX_ANSWER_MB}."


def containers(message: bytes) -> int:
    """Returns an upper bound of the lists and objects in a JSON text: brackets inside texts count, too."""
    return message.count(b"{") + message.count(b"[")


@dataclass(frozen=True, slots=True)
class TooLargeLine:
    """The two ends of a line that was too large, and the reason."""

    head: bytes
    tail: bytes
    reason: str


class EndlessLineError(Exception):
    """A line goes on far beyond the limit."""


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
        found: list[bytes | TooLargeLine] = []
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._keep(end)
            found.append(self._taken())
        self._keep(rest)
        return found

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


class TooLargeError(httpx2.SSEError, httpx2.StreamError):
    """Raised while an answer is read over HTTP. The SDK turns it into an error of this request: its event streams catch
    the first base class, its other bodies the second."""


PLAIN = "identity"
COMPRESSED = "The server compresses its answer although it was asked not to: a small answer could fill the memory."


def limited(response: httpx2.Response, limit: AnswerLimit) -> None:
    """Bounds the body of a response that is about to be read."""
    compressed = response.headers.get("content-encoding", PLAIN) != PLAIN
    events = response.headers.get("content-type", "").startswith("text/event-stream")
    body = cast(httpx2.AsyncByteStream, response.stream)
    response.stream = LimitedBody(body, limit, events=events, refusal=COMPRESSED if compressed else "")


class LimitedBody(httpx2.AsyncByteStream):
    """The body of a response up to the limit; in a stream of events the limit applies to each event. Raises
    TooLargeError beyond it, and at once if there is a `refusal`."""

    def __init__(self, body: httpx2.AsyncByteStream, limit: AnswerLimit, *, events: bool, refusal: str = "") -> None:
        self._body = body
        self._limit = limit
        self._event_ends = EVENT_ENDS if events else ()
        self._refusal = refusal

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._refusal:
            raise TooLargeError(self._refusal)
        size, found, seam = 0, 0, b""
        async for piece in self._body:
            fresh, seam = piece, seam + piece  # the end of an event may be cut in two
            if ends := [seam.rfind(end) + len(end) for end in self._event_ends if end in seam]:
                size, found, fresh = 0, 0, seam[max(ends) :]
            seam = seam[-2:]
            size, found = size + len(fresh), found + containers(fresh)
            if reason := self._limit.broken_by(size, found):
                raise TooLargeError(reason)
            yield piece

    async def aclose(self) -> None:
        """Closes the body."""
        await self._body.aclose()
