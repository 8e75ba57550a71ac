"""The fast lane: while a knob is turned, the page asks the console itself for what the new values give, past the page host.

A page opens a lane with a function from values to parts of the page and gives the lane's token to the knobs in its visitor's
browser; nobody else has it. Who may ask is decided as for `/mcp` (`core.endpoint.http_app.stranger`). Nothing is stored here:
what a visitor settles on comes back through the page host.
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

from core.endpoint.http_app import stranger
from core.shared.errors import WayfareError
from core.shared.untrusted_text import one_line

PATH = "/turn"
LIMIT_BYTES = 65_536
LANES_KEPT = 1024
Values = Mapping[str, object]
Answer = Callable[[Values], Mapping[str, Any]]  # values of the knobs to what is drawn, as JSON
HEADERS = {"Cache-Control": "no-store", "Content-Encoding": "identity"}  # compressing takes longer than sending
_log = logging.getLogger(__name__)
UNKNOWN = "This page is not known here any more; reload it."


@dataclass(frozen=True, slots=True)
class Lane:
    """What one visitor's page can ask for, by name. One answer of each kind at a time."""

    answers: Mapping[str, Answer]
    turns: Mapping[str, threading.Lock]

    def answer(self, kind: str, values: Values) -> bytes:
        """JSON. Raises WayfareError, KeyError where there is no answer of that kind."""
        with self.turns[kind]:
            return json.dumps(self.answers[kind](values), allow_nan=False).encode()


class Refused(Exception):
    """Why a request is not answered, in a sentence, and the HTTP status that says so."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class FastLanes:
    """The lanes of all open pages. Thread-safe; the page that was not used for longest is forgotten first."""

    def __init__(self) -> None:
        self._lanes: LRUCache[str, Lane] = LRUCache(LANES_KEPT)
        self._guard = threading.Lock()

    def open(self, token: str, answers: Mapping[str, Answer]) -> None:
        """Let the page with this token ask; what it could ask before is replaced."""
        with self._guard:
            self._lanes[token] = Lane(answers, {kind: threading.Lock() for kind in answers})

    async def serve(self, request: Request, other_names: frozenset[str] = frozenset()) -> Response:
        """The parts of the page under the values in the body, `{"token", "kind", "values"}`; or one sentence."""
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
        except Exception:  # noqa: BLE001 - a knob that is let go does the same through the page host, which shows what is wrong
            _log.exception("A turned knob was not answered.")
            return _sentence(500, "This could not be worked out while the knob was turned; let it go.")


async def _body(request: Request) -> bytes:
    """The body, which is small. Raises Refused as soon as it is not."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT_BYTES:
            raise Refused(413, f"A request may have {LIMIT_BYTES:,} bytes.")
    return bytes(body)


def _asked(request: Request, body: bytes) -> tuple[str, str, Values]:
    """Token, kind and values. Raises Refused. A page of another site cannot send this type without being asked first."""
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
