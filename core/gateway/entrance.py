"""The entrance of `/mcp`: a bound on the requests inside, turns that go round between clients, and "busy" for what is beyond."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from core.domain.execution import TURN_ENDS

MOST_INSIDE, MOST_WAITING, AT_ONCE = 128, 80, 4
"""Requests that are not answered yet; those of them that wait for a turn, less than a second at 100 a second; turns at a time, more of
which would only take the interpreter from the event loop."""
TURN_S = 1.0
"""A request that has its turn for longer waits for a person or a server."""
SHARE = 0.1
LONGEST_WAIT_S = 60.0
LARGE_BYTES = 1024 * 1024
WITHOUT_TURN = ("ping", "subscriptions/listen")
NAME_CHARS = 80
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
TOO_MANY = -32029
"""A code from the range of JSON-RPC for server errors; the codes that MCP names mean something else."""
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]


class Entrance:
    """For one event loop. A client may have as many requests inside, and as many that wait, as there is room left for others, so
    that each new client finds room (dynamic thresholds, Choudhury and Hahne, 1998)."""

    def __init__(
        self,
        *,
        most_inside: int = MOST_INSIDE,
        most_waiting: int = MOST_WAITING,
        at_once: int = AT_ONCE,
        turn_s: float = TURN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most_inside, self._most_waiting, self._free = most_inside, most_waiting, at_once
        self._turn_s, self._clock = turn_s, clock
        self._inside = Counter[str]()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the first client is next
        self._mean_s = 0.0  # from entry to answer

    async def serve(
        self, served: Asgi, scope: Scope, receive: Receive, send: Send, known: str, note: Callable[[str, int], None]
    ) -> None:
        """Serves a request when it is its client's turn, or answers "busy" at once and notes it. A client is `known` by its token;
        without one it is a session or a name."""
        asked = None
        if scope["method"] == "POST":
            asked, receive = await peeked(receive)
        if asked is None or not asked.needs_turn:
            await served(scope, receive, send)
            return
        session = Headers(scope=scope).get("mcp-session-id", "")
        client = f"token {known}" if known else f"session {session}" if session else f"name {asked.name}"
        if wait_s := self.busy_s(client):
            note(known or asked.name, wait_s)
            message = f"Wayfare is busy: try again in {wait_s} s."
            error = {"code": TOO_MANY, "message": message, "data": {"error": "busy"}}
            body, headers = {"jsonrpc": "2.0", "id": asked.id, "error": error}, {"Retry-After": str(wait_s)}
            await JSONResponse(body, status_code=429, headers=headers)(scope, receive, send)
            return
        async with self.entered(client):
            await served(scope, receive, send)

    def busy_s(self, client: str) -> int:
        """Returns the seconds after which a client may try again, or 0 if it may enter."""
        room = self._free > 0 or len(self._waiting.get(client, ())) < self._most_waiting - self.waiting
        if room and self._inside[client] < self._most_inside - self._inside.total():
            return 0
        return math.ceil(min(max(self._mean_s, 1.0), LONGEST_WAIT_S))

    @property
    def waiting(self) -> int:
        return sum(map(len, tuple(self._waiting.values())))

    @asynccontextmanager
    async def entered(self, client: str) -> AsyncGenerator[None]:
        """Begins the block when it is the client's turn. The turn ends with the block, or before by `TURN_ENDS`."""
        began, loop = self._clock(), asyncio.get_running_loop()
        self._inside[client] += 1
        try:
            await self._turn(client)
            left = [self._pass_on]

            def end() -> None:
                if left:
                    left.pop()()

            timer = loop.call_later(self._turn_s, end)
            token = TURN_ENDS.set(lambda: loop.call_soon_threadsafe(end))
            try:
                yield
            finally:
                TURN_ENDS.reset(token)
                timer.cancel()
                end()
        finally:
            self._inside.subtract([client])
            if not self._inside[client]:
                del self._inside[client]
            self._mean_s += SHARE * (self._clock() - began - self._mean_s)

    async def _turn(self, client: str) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it has just been given its turn
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Gives a turn to the client that has waited longest since its last one."""
        while self._waiting:
            client = next(iter(self._waiting))
            turns = self._waiting.pop(client)
            turn = turns.popleft()
            if turns:
                self._waiting[client] = turns
            if not turn.cancelled():
                turn.set_result(None)
                return
        self._free += 1


class Peeked:
    """A request before it enters: its JSON-RPC id, whether it needs a turn, and the name that its client gives itself.

    Notifications and answers of clients need none, so that a call that waits for them ends."""

    def __init__(self, body: bytes) -> None:
        try:
            document: object = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        method = _at(document, "method")
        self.id: object = _at(document, "id")
        self.needs_turn = document is None or (
            method is not None and self.id is not None and method not in WITHOUT_TURN
        )
        params = _at(document, "params")
        info = _at(_at(params, "_meta"), CLIENT_INFO) or _at(params, "clientInfo")
        self.name = str(_at(info, "name") or "")[:NAME_CHARS]


def _at(value: object, key: str) -> object:
    return cast("Mapping[str, Any]", value).get(key) if isinstance(value, Mapping) else None


async def peeked(receive: Receive) -> tuple[Peeked, Receive]:
    """Reads a request up to LARGE_BYTES. Returns it, and a function that gives the same messages again. Both raise ClientDisconnect if
    the client leaves before its request is complete, where the protocol's package would log a traceback."""
    messages, size, complete = deque[Message](), 0, False

    async def following() -> Message:
        nonlocal complete
        message = await receive()
        if message["type"] == "http.disconnect" and not complete:
            raise ClientDisconnect
        complete = complete or not message.get("more_body", False)
        return message

    async def again() -> Message:
        return messages.popleft() if messages else await following()

    while size <= LARGE_BYTES and not complete:
        messages.append(await following())
        size += len(messages[-1].get("body", b""))
    return Peeked(b"".join(message.get("body", b"") for message in messages)), again
