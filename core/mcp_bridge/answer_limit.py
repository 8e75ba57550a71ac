"""How large an answer of a server may be. It is checked while the answer is read, so that none fills the memory.

Python parses an answer in one piece, and no other thread runs meanwhile. How long that takes depends on the lists and objects in it
more than on its bytes, so they are limited, too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx2

from core.shared.settings import MAX_ANSWER_BYTES, MAX_ANSWER_MB

TOO_LARGE = "The answer has more than"
"""How each sentence begins that says so."""
BYTES_PER_CONTAINER = 20
END_BYTES = 4_096
SKIPPED_LIMITS = 100
"""A line beyond the limit is read to its end, and left out, up to so many times the limit."""
EVENT_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")


@dataclass(frozen=True, slots=True)
class AnswerLimit:
    """The most bytes of one message of a server; of lists and objects one for each 20 of them."""

    max_bytes: int = MAX_ANSWER_BYTES

    def broken_by(self, size_bytes: int, containers: int) -> str:
        """What is too large, what the limit is and what to do; "" where nothing is.

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
    """The lists and objects in a JSON text, at most: brackets inside texts count, too."""
    return message.count(b"{") + message.count(b"[")


@dataclass(frozen=True, slots=True)
class TooLargeLine:
    """A line of which only the two ends are kept, and why."""

    head: bytes
    tail: bytes
    reason: str


class EndlessLineError(Exception):
    """A line goes on far beyond the limit."""


class Lines:
    r"""The lines of a stream that comes in pieces, in linear time: a piece is searched once, and joined with others once.

    >>> lines = Lines(AnswerLimit(10))
    >>> lines.add(b"one\ntw"), lines.add(b"o\n123456"), lines.add(b"7890")
    ([b'one'], [b'two'], [])
    >>> [(line.head, line.tail) for line in lines.add(b"1\n")]
    [(b'1234567890', b'12345678901')]
    """

    def __init__(self, limit: AnswerLimit) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0
        self._tail = b""

    def add(self, piece: bytes) -> list[bytes | TooLargeLine]:
        """The lines that end in this piece. Raises EndlessLineError."""
        found: list[bytes | TooLargeLine] = []
        *ends, rest = piece.split(b"\n")
        for end in ends:
            self._keep(end)
            found.append(self._taken())
        self._keep(rest)
        return found

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit.max_bytes:
            self._pieces.append(piece)
        elif self._size > SKIPPED_LIMITS * self._limit.max_bytes:
            raise EndlessLineError(self._limit.broken_by(self._size, 0))
        self._tail = piece[-END_BYTES:] if len(piece) >= END_BYTES else (self._tail + piece)[-END_BYTES:]

    def _taken(self) -> bytes | TooLargeLine:
        line, tail, size = b"".join(self._pieces), self._tail, self._size
        self._pieces, self._tail, self._size = [], b"", 0
        reason = self._limit.broken_by(size, containers(line))
        return TooLargeLine(line[:END_BYTES], tail, reason) if reason else line


class TooLargeError(httpx2.SSEError, httpx2.StreamError):
    """Raised while an answer is read over HTTP. The SDK turns it into an error of this request: for a stream of events it looks
    for the first kind, for other bodies for the second."""


class LimitedBody(httpx2.AsyncByteStream):
    """The body of a response up to the limit, which is one for each event in a stream of events. Raises TooLargeError beyond it, and
    at once where there is a `refusal`."""

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
            fresh, seam = piece, seam + piece  # what ends an event may be cut in two
            if ends := [seam.rfind(end) + len(end) for end in self._event_ends if end in seam]:
                size, found, fresh = 0, 0, seam[max(ends) :]
            seam = seam[-2:]
            size, found = size + len(fresh), found + containers(fresh)
            if reason := self._limit.broken_by(size, found):
                raise TooLargeError(reason)
            yield piece

    async def aclose(self) -> None:
        """Close the body."""
        await self._body.aclose()
