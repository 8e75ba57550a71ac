"""The fast lane: while a knob is turned, the page asks the console for the parts under the new values, past the page host.

A page opens a lane with a function from values to parts of the page, and gives its secret token to the knobs in the visitor's
browser. `dashboard.sign_in.SignInGate` in front of it decides who may ask. Nothing is stored here: the final values come back
through the page host.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
from cachetools import LRUCache
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from core.domain.errors import WayfareError
from core.domain.people import person
from core.domain.untrusted_text import one_line

PATH = "/turn"
LIMIT_BYTES = 65_536
LANES_KEPT = 1024
LOOKS = frozenset({"score", "strips"})  # a page asks for them by itself, the others are for a turned knob
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


class Turn(BaseModel):
    """The body of a request: the token of a page, the kind of the answer, and values of knobs."""

    model_config = ConfigDict(strict=True)

    token: str
    kind: str
    values: dict[str, object]


class FastLanes:
    """The lanes of all open pages. Thread-safe. The least recently used page is dropped first."""

    def __init__(self) -> None:
        self._lanes: LRUCache[str, Lane] = LRUCache(LANES_KEPT)
        self._guard = threading.Lock()

    def open(self, token: str, answers: Mapping[str, Answer]) -> None:
        """Set the answers for the page with this token."""
        with self._guard:
            self._lanes[token] = Lane(answers, {kind: threading.Lock() for kind in answers})

    async def serve(self, request: Request) -> Response:
        """Answer with the parts of the page under the values in the body, `{"token", "kind", "values"}`, or with an error."""
        try:
            turn = await _turn(request)
            if turn.kind not in LOOKS and (reason := person().refusal("tune")):
                return _sentence(403, reason)
            with self._guard:
                lane = self._lanes.get(turn.token)
            if lane is None or turn.kind not in lane.answers:
                raise HTTPException(404, UNKNOWN)
            return _json(200, await anyio.to_thread.run_sync(lane.answer, turn.kind, turn.values))
        except HTTPException as refusal:
            return _sentence(refusal.status_code, refusal.detail)
        except WayfareError as error:
            return _sentence(422, str(error))
        except ClientDisconnect:
            raise
        except Exception:  # noqa: BLE001 - a released knob asks the page host, which shows the error
            _log.exception("A turned knob was not answered.")
            return _sentence(500, "The page could not be updated while the knob was turned. Release the knob.")


async def _turn(request: Request) -> Turn:
    """Returns the body. Pages of other sites cannot send this type without a preflight."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "Send application/json.")
    try:
        return Turn.model_validate_json(await read_body(request, LIMIT_BYTES))
    except ValidationError:
        raise HTTPException(400, 'The body is not {"token": text, "kind": text, "values": {name: value}}.') from None


async def read_body(request: Request, most_bytes: int) -> bytes:
    """Returns the body of a request. Raises HTTPException 413 if it is too large."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise HTTPException(413, f"A request may have {most_bytes:,} bytes.")
    return bytes(body)


def _json(status: int, body: bytes) -> Response:
    return Response(body, status, headers=HEADERS, media_type="application/json")


def _sentence(status: int, text: str) -> Response:
    return _json(status, json.dumps({"error": one_line(text, 600)}).encode())


lanes = FastLanes()
