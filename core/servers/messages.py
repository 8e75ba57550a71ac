"""A server's messages, and bodies of its HTTP responses, on their way to the SDK: bounded, and repaired if their meaning is plain, else
an error of the call that they answer.

The SDK drops a message that it cannot read, and the call would wait for its time limit. A message that is too large is not read at
all: Python parses an answer in one piece, and blocks all other threads meanwhile. The time depends more on the number of lists and
objects than on the bytes, so that number is limited, too. A request that was refused over HTTP gets an error with the server's words,
because the SDK has words of its own for most statuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, TypeVar, cast

import anyio.to_thread
import httpx2
from mcp.client.streamable_http import MCP_SESSION_ID
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic_core import from_json

from core.domain.settings import MAX_ANSWER_BYTES, MAX_ANSWER_MB
from core.domain.untrusted_text import one_line

READ_AT_ONCE_BYTES = 65_536
"""A longer message is read in a thread."""
END_BYTES = 4_096
UNREADABLE = "The answer cannot be read"
_OF_THE_SDK = {CONNECTION_CLOSED, REQUEST_TIMEOUT}
"""Codes by which the SDK says that an answer is missing. An error that a server sends gets another code on its way in."""
_BEGUN = re.compile(r'\{\s*"(jsonrpc|id|result|error)"\s*:')
_TOP_LEVEL = re.compile(rb"\s*\[?\s*\{[^\[{]*")
_ID = re.compile(rb'"id"\s*:\s*(\d+|"[^"\\]*")\s*[,}]')
_LAST_ID = re.compile(rb'[{,]\s*"id"\s*:\s*(\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
T = TypeVar("T")
BYTES_PER_CONTAINER = 20


@dataclass(frozen=True, slots=True)
class AnswerLimit:
    """The largest message of a server in bytes. One list or object is allowed for each 20 bytes of the limit."""

    max_bytes: int = MAX_ANSWER_BYTES

    def broken_by(self, size_bytes: int, containers: int) -> str:
        """Returns the broken limit, its value and advice, or "".

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
        return f"The answer has more than {most}, which is the limit: ask for less at once, or raise {MAX_ANSWER_MB}."


def containers(message: bytes) -> int:
    """Returns an upper bound of the lists and objects in a JSON text. Brackets inside texts count, too."""
    return message.count(b"{") + message.count(b"[")


async def read(work: Callable[[bytes], T], raw: bytes) -> T:
    if len(raw) <= READ_AT_ONCE_BYTES:
        return work(raw)
    return await anyio.to_thread.run_sync(work, raw, abandon_on_cancel=True)


def message_of(raw: bytes, asked: RequestId | None = None) -> JSONRPCMessage:
    r"""Returns a message; `asked` is the request that it answers, if the transport knows it. Raises ValueError for a text
    that is no message and answers no call.

    >>> message_of(b'{"jsonrpc": "2.0", "id": 7, "result": {"text": "half \\ud83d"}}').result
    {'text': 'half \ufffd'}
    >>> message_of(b'{"jsonrpc": "2.0", "id": 7, "result": null}').error.message
    'The answer cannot be read: its result is null.'
    >>> message_of(b'{"jsonrpc": "2.0", "id": 7, "error": {"code": "E_QUOTA", "message": "used up"}}').error.message
    'used up (E_QUOTA)'
    """
    try:
        document = _document(raw)
    except ValueError as error:
        head = raw[:END_BYTES]
        request_id = None if b'"method"' in top_level(head) else answered_id(head, raw[-END_BYTES:])
        if (request_id := request_id if asked is None else asked) is None:
            raise
        return failed(request_id, f"{UNREADABLE}: {error}.")
    return _message(document, asked)


def dumped(message: JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def failed(answered: RequestId, reason: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=answered, error=ErrorData(code=INTERNAL_ERROR, message=reason))


def top_level(head: bytes) -> bytes:
    """Returns the beginning of a message up to its first list or inner object."""
    match = _TOP_LEVEL.match(head)
    return b"" if match is None else match[0]


def answered_id(head: bytes, tail: bytes) -> RequestId | None:
    match = _ID.search(top_level(head)) or _LAST_ID.search(tail)
    return None if match is None or b'"jsonrpc"' not in head + tail else from_json(match[1])


def _document(raw: bytes) -> Any:
    """Returns a JSON document. Half pairs, bad UTF-8 and bare control characters are repaired, and other output around it is dropped.
    Raises ValueError with the cause."""
    try:
        return from_json(raw)
    except ValueError:
        pass
    try:
        text = raw.decode("utf-8-sig", "replace")
        match = None if text.lstrip().startswith(("{", "[{")) else _BEGUN.search(text)
        document, _ = json.JSONDecoder(strict=False).raw_decode(
            text.lstrip() if match is None else text[match.start() :]
        )
        text = json.dumps(document, ensure_ascii=False)
        return from_json(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError) or "recursion" in str(error)
        raise ValueError("it is nested too deep" if deep else f"it is not JSON ({error})") from None


def _message(document: Any, known_id: RequestId | None) -> JSONRPCMessage:
    if isinstance(document, list):  # a batch: the other messages in it are dropped
        batch = cast("list[dict[str, Any]]", [item for item in cast("list[Any]", document) if isinstance(item, dict)])
        document = next((item for item in batch if "method" not in item), batch[0] if len(batch) == 1 else None)
    fields = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    raw_id = fields.get("id") if known_id is None else known_id
    request_id = cast("RequestId | None", int(raw_id) if isinstance(raw_id, float) and raw_id.is_integer() else raw_id)
    is_answer = known_id is not None or "jsonrpc" in fields or fields.keys() in ({"id", "result"}, {"id", "error"})
    if "method" in fields or request_id is None or not is_answer:
        return jsonrpc_message_adapter.validate_python(document, by_name=False)
    result, error = fields.get("result"), fields.get("error")
    if isinstance(result, dict) and not error:
        return JSONRPCResponse(jsonrpc="2.0", id=request_id, result=cast("dict[str, Any]", result))
    if error is not None:
        return JSONRPCError(jsonrpc="2.0", id=request_id, error=_error(error))
    form = "null" if result is None else "a list" if isinstance(result, list) else "no object"
    lack = f"its result is {form}" if "result" in fields else "it has neither a result nor an error"
    return failed(request_id, f"{UNREADABLE}: {lack}.")


def _error(error: Any) -> ErrorData:
    fields = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": error}
    code, message = fields.get("code"), fields.get("message")
    if not isinstance(message, str) or not message:
        message = json.dumps(error, ensure_ascii=False)
    elif code is not None and type(code) is not int:
        message = f"{message} ({code})"
    if type(code) is not int or code in _OF_THE_SDK:
        code = INTERNAL_ERROR
    return ErrorData(code=code, message=message, data=fields.get("data"))


EVENTS = "text/event-stream"
PLAIN = "identity"
COMPRESSED = "The server compresses its answer although it was asked not to: a small answer could fill the memory."
Repair = Callable[[bytes], Awaitable[bytes]]
Tell = Callable[[SessionMessage], Awaitable[None]]
_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_EVENT_END = re.compile(rb"\r\n\r\n|\n\r?\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass
class Refused:
    """The latest 401, or 403 for lack of a scope. `challenged` is None without either. `for_now` means that the token could not be renewed.

    `status` is the status of the latest answer over HTTP, or 0. `session` is true if its request named a session. `retry_s`
    is the time that the server asks us to wait.
    """

    challenged: bool | None = None
    problem: str = ""
    for_now: bool = False
    status: int = 0
    session: bool = False
    retry_s: float | None = None


REFUSED: ContextVar[Refused | None] = ContextVar("REFUSED", default=None)
"""A request notes its refusal here. The transports send each message in the context of its sender."""


class TooLargeError(httpx2.SSEError, httpx2.StreamError):
    """Raised while an answer is read over HTTP. The SDK turns it into an error of this request: its event streams catch
    the first base class, its other bodies the second."""


async def unchanged(text: bytes) -> bytes:
    return text


class Body(httpx2.AsyncByteStream):
    """Replaces the body of a response that is about to be read. `repair` gets each event of a stream of events, else the whole text.

    The limit applies to each text. A longer text raises TooLargeError, or ends the call of the request `asked` with that error. A
    compressed body is refused.
    """

    def __init__(
        self, response: httpx2.Response, limit: AnswerLimit, repair: Repair = unchanged, asked: RequestId | None = None
    ) -> None:
        self._compressed = response.headers.pop("content-encoding", PLAIN) != PLAIN
        self._events = response.headers.get("content-type", "").lower().startswith(EVENTS)
        self._body: Any = response.stream
        self._limit = limit
        self._repair = repair
        self._asked = asked
        response.stream = self

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for text, event in self._texts():
                if event:
                    yield await self._repaired_event(text) + b"\n\n"
                else:
                    yield text if self._events else await self._repair(text)
        except TooLargeError as error:
            if self._asked is None:
                raise
            answer = dumped(failed(self._asked, str(error)))
            yield b"data: " + answer + b"\n\n" if self._events else answer

    async def aclose(self) -> None:
        await self._body.aclose()

    async def _texts(self) -> AsyncIterator[tuple[bytes, bool]]:
        """Yields each whole event, and the rest of the body. Raises TooLargeError."""
        if self._compressed:
            raise TooLargeError(COMPRESSED)
        pieces, seam, size, brackets = list[bytes](), b"", 0, 0
        async for piece in self._body:
            pieces.append(piece)
            seam = seam[-2:] + piece  # the end of an event may be cut in two
            size, brackets = size + len(piece), brackets + containers(piece)
            if self._events and any(end in seam for end in _ENDS):
                *events, seam = _EVENT_END.split(b"".join(pieces))
                for event in events:
                    self._check(len(event), containers(event))
                    yield event, True
                pieces, size, brackets = [seam], len(seam), containers(seam)
            self._check(size, brackets)
        yield b"".join(pieces), False

    def _check(self, size: int, brackets: int) -> None:
        if reason := self._limit.broken_by(size, brackets):
            raise TooLargeError(reason)

    async def _repaired_event(self, event: bytes) -> bytes:
        lines = _LINE_END.split(event)
        data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        others = [line for line in lines if not line.startswith(b"data:")]
        of_message = all(line[6:].strip() == b"message" for line in others if line.startswith(b"event:"))
        if not of_message or not any(data):
            return event
        return b"\n".join([*others, b"data: " + await self._repair(b"\n".join(data))])


async def heard(response: httpx2.Response, limit: AnswerLimit, tell: Tell | None = None) -> None:
    """Bounds and repairs the body of a response that is about to be read, and notes its status. The error of a refused
    request goes to `tell`, if the SDK would tell its call nothing."""
    await response.request.aread()  # the body of a redirected request is a stream
    request, status = response.request, response.status_code
    message: dict[str, Any] = from_json(request.content) if request.method == "POST" else {}
    request_id: RequestId | None = message.get("id") if "method" in message else None
    note = REFUSED.get()
    if note is not None and request_id is not None:
        note.status, note.session = status, MCP_SESSION_ID in request.headers
        note.retry_s = _retry_s(response.headers.get("retry-after", ""))
    readable = response.headers.get("content-type", "").lower().startswith(("application/json", EVENTS))
    other = tell is None and not readable and status < 300 and status != 202  # it answers, and not in JSON
    if request_id is None or (status < 400 and not other):

        async def repaired(text: bytes) -> bytes:
            with suppress(ValueError):  # the text answers no call
                return await read(lambda raw: dumped(message_of(raw, request_id)), text)
            return text

        Body(response, limit, repaired, request_id)
        return
    response.headers["content-type"] = "application/json"
    refusal = f"HTTP {status} {response.reason_phrase}{' without JSON' if other else ''}"
    Body(response, limit, partial(_refused, request_id, refusal), request_id)
    if tell is not None:
        await tell(SessionMessage(message_of(await response.aread())))
        response.status_code = 202  # the SDK would send no further message


def _retry_s(header: str) -> float | None:
    if re.fullmatch(r"\d{1,9}", header):
        return float(header)
    with suppress(ValueError, TypeError):  # the latter for a date without a zone
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    return None


async def _refused(request_id: RequestId, status: str, body: bytes) -> bytes:
    """Returns the server's own answer to a refused request, or an error with its status and words."""
    answer: JSONRPCMessage | None = None
    with suppress(ValueError):
        document: Any = from_json(body)
        if isinstance(document, dict) and "jsonrpc" in document and ("error" in document or "result" in document):
            answer = message_of(body, request_id)
    words = "" if body.lstrip().startswith(b"<") else one_line(body.decode(errors="replace"), 300)
    return dumped(answer or failed(request_id, f"{status}: {words}" if words else status))
