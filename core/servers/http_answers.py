"""Answers over HTTP on their way to the SDK: mended, and with the status of a refused request noted.

A refusal becomes an error of its request with the server's words, because the SDK has words of its own for most statuses.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, RequestId
from pydantic_core import from_json

from core.domain.untrusted_text import one_line
from core.servers.messages import EVENTS, AnswerLimit, Body, dumped, failed, mended, message_of, read
from core.servers.oauth import REFUSED

JSON = "application/json"
SESSION_ID = "mcp-session-id"
WORDS_CHARS = 300
Tell = Callable[[SessionMessage], Awaitable[None]]


async def heard(response: httpx2.Response, limit: AnswerLimit, tell: Tell | None = None) -> None:
    """Bounds and mends the body of a response that is about to be read, and notes its status. The error of a refused
    request goes to `tell`, if the SDK would tell its call nothing."""
    await response.request.aread()  # that of a redirected request is a stream
    asked, status = _asked(response.request), response.status_code
    noted = REFUSED.get()
    if noted is not None and asked is not None:
        noted.status, noted.session = status, SESSION_ID in response.request.headers
        noted.retry_s = _retry_s(response.headers.get("retry-after", ""))
    readable = response.headers.get("content-type", "").lower().startswith((JSON, EVENTS))
    other = tell is None and not readable and status < 300 and status != 202  # it answers, and not in JSON
    if asked is None or (status < 400 and not other):
        Body(response, limit, partial(_message, asked), asked)
        return
    response.headers["content-type"] = JSON
    refusal = f"HTTP {status} {response.reason_phrase}{' without JSON' if other else ''}"
    Body(response, limit, partial(_refused, asked, refusal), asked)
    if tell is not None:
        await tell(SessionMessage(message_of(await response.aread())))
        response.status_code = 202  # the SDK would send no further message


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


async def _message(asked: RequestId | None, text: bytes) -> bytes:
    """Returns a message as the SDK reads it, or the text itself if it answers no call."""
    try:
        return await read(mended, text, asked)
    except ValueError:
        return text


async def _refused(asked: RequestId, status: str, whole: bytes) -> bytes:
    """Returns the answer to a request that was refused or answered in another form: the server's own, or an error with its status and words."""
    answer: JSONRPCMessage | None = None
    with suppress(ValueError):
        document: Any = from_json(whole)
        if isinstance(document, dict) and "jsonrpc" in document and ("error" in document or "result" in document):
            answer = message_of(whole, asked)
    words = "" if whole.lstrip().startswith(b"<") else one_line(whole.decode(errors="replace"), WORDS_CHARS)
    return dumped(answer or failed(asked, f"{status}: {words}" if words else status))
