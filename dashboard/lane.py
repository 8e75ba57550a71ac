"""The fast lane: while a knob is turned, the page asks the console for the parts under the new values, past the page host.

A page opens a lane with a function from values to parts of the page, and gives its secret token to the knobs in the visitor's
browser. Access is decided as for `/mcp` (`core.gateway.http_app.stranger`). Nothing is stored here: the final values
come back through the page host.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio.to_thread
from cachetools import LRUCache
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from core.domain.errors import WayfareError
from core.domain.untrusted_text import one_line
from core.gateway.http_app import stranger

PATH = "/turn"
LIMIT_BYTES = 65_536
LANES_KEPT = 1024
Values = Mapping[str, object]
Answer = Callable[[Values], Mapping[str, Any]]  # from values of the knobs to parts of the page, as JSON
HEADERS = {"Cache-Control": "no-store", "Content-Encoding": "identity"}  # compressing takes longer than sending
_log = logging.getLogger(__name__)
UNKNOWN = "This page is no longer known here. Reload it."


@dataclass(frozen=True, slots=True)
class Lane:
    """The answers for one visitor's page by name, one of each kind at a time."""

    answers: Mapping[str, Answer]
    turns: Mapping[str, threading.Lock]

    def answer(self, kind: str, values: Values) -> bytes:
        """Returns JSON. Raises KeyError for an unknown kind, and the WayfareError of the answer."""
        with self.turns[kind]:
            return json.dumps(self.answers[kind](values), allow_nan=False).encode()


class Refused(Exception):
    """A request is refused, with a sentence and the HTTP status."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class FastLanes:
    """The lanes of all open pages. Thread-safe. The least recently used page is dropped first."""

    def __init__(self) -> None:
        self._lanes: LRUCache[str, Lane] = LRUCache(LANES_KEPT)
        self._guard = threading.Lock()

    def open(self, token: str, answers: Mapping[str, Answer]) -> None:
        """Set the answers for the page with this token."""
        with self._guard:
            self._lanes[token] = Lane(answers, {kind: threading.Lock() for kind in answers})

    async def serve(self, request: Request, other_names: frozenset[str] = frozenset()) -> Response:
        """Answer with the parts of the page under the values in the body, `{"token", "kind", "values"}`, or with an error."""
        try:
            if reason := stranger(request.scope, other_names):
                raise Refused(403, reason)
            token, kind, values = _asked(request, await _body(request))
            with self._guard:
                lane = self._lanes.get(token)
            if lane is None or kind not in lane.answers:
                raise Refused(404, UNKNOWN)
            return _json(200, await anyio.to_thread.run_sync(lane.answer, kind, values))
        except Refused as refused:
            return _sentence(refused.status, str(refused))
        except WayfareError as error:
            return _sentence(422, str(error))
        except ClientDisconnect:
            raise
        except Exception:  # noqa: BLE001 - a released knob asks the page host, which shows the error
            _log.exception("A turned knob was not answered.")
            return _sentence(500, "The page could not be updated while the knob was turned. Release the knob.")


async def _body(request: Request) -> bytes:
    """Returns the body. Raises Refused if it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT_BYTES:
            raise Refused(413, f"A request may have {LIMIT_BYTES:,} bytes.")
    return bytes(body)


def _asked(request: Request, body: bytes) -> tuple[str, str, Values]:
    """Returns token, kind and values. Raises Refused. Pages of other sites cannot send this type without a preflight."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused(415, "Send application/json.")
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "The body is not JSON.") from None
    fields: dict[str, Any] = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    token, kind, values = fields.get("token"), fields.get("kind"), fields.get("values")
    if not (isinstance(token, str) and isinstance(kind, str) and isinstance(values, dict)):
        raise Refused(400, 'The body is not {"token": text, "kind": text, "values": {name: value}}.')
    return token, kind, cast("dict[str, object]", values)


def _json(status: int, body: bytes) -> Response:
    return Response(body, status, headers=HEADERS, media_type="application/json")


def _sentence(status: int, text: str) -> Response:
    return _json(status, json.dumps({"error": one_line(text, 600)}).encode())


lanes = FastLanes()
