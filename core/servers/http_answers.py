"""Answers over HTTP on their way to the SDK: bounded, mended, and with the status of a refused request noted.

A refusal becomes an error of its request with the server's words, because the SDK has words of its own for most statuses.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, RequestId
from pydantic_core import from_json

from core.domain.untrusted_text import one_line
from core.servers.answer_limit import EVENT_ENDS, AnswerLimit, TooLargeError, limited
from core.servers.messages import dumped, failed, mended, message_of, read
from core.servers.oauth import REFUSED

JSON, EVENTS = "application/json", "text/event-stream"
SESSION_ID = "mcp-session-id"
WORDS_CHARS = 300
Tell = Callable[[SessionMessage], Awaitable[None]]
_EVENT_END = re.compile(rb"\r\n\r\n|\n\r?\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")


async def heard(response: httpx2.Response, limit: AnswerLimit, tell: Tell | None = None) -> None:
    """Bounds and mends the body of a response that is about to be read, and notes its status. The error of a refused
    request goes to `tell`, if the SDK would tell its call nothing."""
    limited(response, limit)
    await response.request.aread()  # that of a redirected request is a stream
    asked, status = _asked(response.request), response.status_code
    noted = REFUSED.get()
    if noted is not None and asked is not None:
        noted.status, noted.session = status, SESSION_ID in response.request.headers
        noted.retry_s = _retry_s(response.headers.get("retry-after", ""))
    kind = response.headers.get("content-type", "").lower()
    response.headers.pop("content-encoding", None)  # a compressed answer is refused
    readable = kind.startswith((JSON, EVENTS))
    other = tell is None and not readable and status < 300 and status != 202  # it answers, and not in JSON
    if asked is not None and (status >= 400 or other):
        refusal = f"HTTP {status} {response.reason_phrase}{' without JSON' if other else ''}"
        response.stream = AnswerBody(response.stream, asked, refusal=refusal)
        response.headers["content-type"] = JSON
        if tell is not None:
            await tell(SessionMessage(message_of(await response.aread())))
            response.status_code = 202  # the SDK would send no further message
    elif status < 400 and readable:
        response.stream = AnswerBody(response.stream, asked, events=kind.startswith(EVENTS))


def _asked(request: httpx2.Request) -> RequestId | None:
    """Returns the id of the request that was sent, or None if it wants no answer."""
    if request.method != "POST":
        return None
    sent: dict[str, Any] = from_json(request.content)
    return sent.get("id") if "method" in sent else None


def _retry_s(wanted: str) -> float | None:
    """Returns the seconds of a Retry-After, which has a number or a date (RFC 9110, 10.2.3)."""
    if re.fullmatch(r"\d{1,9}", wanted):
        return float(wanted)
    with suppress(ValueError, TypeError):  # the latter for a date without a zone
        return max(0.0, (parsedate_to_datetime(wanted) - datetime.now(UTC)).total_seconds())
    return None


class AnswerBody(httpx2.AsyncByteStream):
    """The body of a response with messages that the SDK can read. `asked` is the request that it answers; `events` says
    that it is a stream of events; a `refusal` is the status of a request that was refused."""

    def __init__(self, body: Any, asked: RequestId | None, *, events: bool = False, refusal: str = "") -> None:
        self._body = body
        self._asked = asked
        self._events = events
        self._refusal = refusal

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            if self._events:
                async for event in self._mended_events():
                    yield event
            else:
                whole = b"".join([piece async for piece in self._body])
                yield await self._answer(whole)
        except TooLargeError as error:
            if self._asked is None:
                raise
            answer = dumped(failed(self._asked, str(error)))
            yield b"data: " + answer + b"\n\n" if self._events else answer

    async def aclose(self) -> None:
        """Closes the body."""
        await self._body.aclose()

    async def _answer(self, raw: bytes) -> bytes:
        """Returns a message as the SDK reads it, or the text itself if it answers no call."""
        if self._asked is not None and self._refusal:
            return dumped(_refused(self._asked, self._refusal, raw))
        try:
            return await read(mended, raw, self._asked)
        except ValueError:
            return raw

    async def _mended_events(self) -> AsyncIterator[bytes]:
        pieces, seam = list[bytes](), b""
        async for piece in self._body:
            pieces.append(piece)
            seam = seam[-2:] + piece  # the end of an event may be cut in two
            if any(end in seam for end in EVENT_ENDS):
                *events, seam = _EVENT_END.split(b"".join(pieces))
                pieces = [seam]
                for event in events:
                    yield await self._event(event) + b"\n\n"
        yield b"".join(pieces)

    async def _event(self, event: bytes) -> bytes:
        lines = _LINE_END.split(event)
        data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        others = [line for line in lines if not line.startswith(b"data:")]
        of_message = all(line[6:].strip() == b"message" for line in others if line.startswith(b"event:"))
        if not of_message or not any(data):
            return event
        return b"\n".join([*others, b"data: " + await self._answer(b"\n".join(data))])


def _refused(asked: RequestId, status: str, whole: bytes) -> JSONRPCMessage:
    """Returns the answer to a request that was refused or answered in another form: the server's own, or an error with its status and words."""
    with suppress(ValueError):
        document: Any = from_json(whole)
        if isinstance(document, dict) and "jsonrpc" in document and ("error" in document or "result" in document):
            return message_of(whole, asked)
    words = "" if whole.lstrip().startswith(b"<") else one_line(whole.decode(errors="replace"), WORDS_CHARS)
    return failed(asked, f"{status}: {words}" if words else status)
