"""The entrance of `/mcp`: access tokens and host names, a bound on the requests inside, turns of clients, and uses of the console.

Access tokens are JWT (RFC 9068) of the authorization server that the operator trusts. A console in the background ends without any use.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import math
import os
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.request import urlopen

from cachetools import LRUCache
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from core.domain.errors import InsufficientScopeError, WayfareError
from core.domain.execution import TURN_ENDS
from core.domain.settings import Oidc, utc_now

if TYPE_CHECKING:
    import jwt

MOST_INSIDE, MOST_WAITING, AT_ONCE = 128, 40, min(4, max(2, os.cpu_count() or 2))
"""Requests that are not answered yet; requests that wait for a turn, less than a second at 60 a second; turns at a time, one a
processor, because more would only take the interpreter from the event loop."""
TURN_S = 1.0
"""A request that has its turn for longer waits for a person or a server."""
SHARE = 0.1
LONGEST_WAIT_S = 60.0
LARGE_BYTES = 1024 * 1024
WITHOUT_TURN = ("ping", "subscriptions/listen")
NAME_CHARS = 80
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
TOO_MANY, ENDING = -32029, -32028
PATH, COOKIE = "/mcp", "wayfare-client"
"""The cookie tells clients without a token and a session apart, because from 2026-07-28 on the protocol has no sessions."""
"""The two codes are from the range of JSON-RPC for server errors; the codes that MCP names mean something else."""
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]


class Entrance:
    """Gives turns, in one event loop. A client may have as many requests inside, and as many that wait, as there is room left for others, so
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
        head = None
        if scope["method"] == "POST":
            head, receive = await peeked(receive)
        if head is None or not head.needs_turn:
            await served(scope, receive, send)
            return
        session = Headers(scope=scope).get("mcp-session-id", "")
        client = f"token {known}" if known else f"session {session}" if session else f"name {head.name}"
        if wait_s := self.busy_s(client):
            note(known or head.name, wait_s)
            message = f"Wayfare is busy: try again in {wait_s} s."
            error = {"code": TOO_MANY, "message": message, "data": {"error": "busy"}}
            body, headers = {"jsonrpc": "2.0", "id": head.id, "error": error}, {"Retry-After": str(wait_s)}
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

    Notifications and answers of clients need no turn, so that a call that waits for them ends."""

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
    """Reads a request up to LARGE_BYTES. Returns it, and a function that gives its messages again. Both raise ClientDisconnect if the
    client leaves before its request is complete, because the protocol's package would log a traceback."""
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


BASE_PATH = "wayfare.base_path"  # key in the scope of a request: the path of the public address, which was taken off
OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")


def stranger(scope: Scope, other_names: frozenset[str] = frozenset()) -> str:
    """Returns why a request is refused, or "". `other_names` are hosts beside those of this machine, each `name` or
    `name:port`. The SDK's own check knows lists of hosts, not where a request comes from, and importing it takes longer than the first page.

    >>> ask = lambda **headers: {"type": "http", "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 8501),
    ...     "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    >>> stranger(ask(host="localhost:8501")), stranger(ask(host="localhost:8501", origin="http://localhost:8501"))
    ('', '')
    >>> behind_a_port = {**ask(host="localhost:8501"), "client": ("10.0.2.100", 5)}
    >>> stranger(behind_a_port), stranger(behind_a_port, frozenset({"localhost:8501"}))
    ('Only this machine may use the endpoint under that name.', '')
    >>> stranger(ask(host="evil.example:8501"))
    "The host 'evil.example:8501' is not one that this endpoint answers to."
    >>> stranger(ask(host="localhost:8501", origin="http://localhost:3000"))
    "Pages of 'http://localhost:3000' may not use this endpoint."
    """
    headers, port = Headers(scope=scope), (scope.get("server") or ("", None))[1]
    own_names = {f"{name}:{port}" for name in OWN_NAMES} | (set(OWN_NAMES) if port in {80, 443} else set[str]())
    hosts = headers.getlist("host")
    host = hosts[0].lower() if len(hosts) == 1 else ""
    if host not in own_names | other_names:
        return f"The host {host[:100]!r} is not one that this endpoint answers to."
    if host in own_names - other_names and not _is_loopback(scope):
        return "Only this machine may use the endpoint under that name."
    foreign = foreign_origin(headers)
    return "" if foreign is None else f"Pages of {foreign[:100]!r} may not use this endpoint."


def foreign_origin(headers: Headers) -> str | None:
    """Returns the site whose page sent a request, if it is another site or another port of this host."""
    host = headers.get("host", "").lower()
    own_origins = {f"http://{host}", f"https://{host}"}
    return next((origin for origin in headers.getlist("origin") if origin.lower() not in own_origins), None)


def _is_loopback(scope: Scope) -> bool:
    try:
        return ipaddress.ip_address((scope.get("client") or ("", 0))[0]).is_loopback
    except ValueError:
        return False


def own_address(scope: Scope) -> str:
    return f"{scope.get('scheme', 'http')}://{Headers(scope=scope).get('host', '')}{scope.get(BASE_PATH, '')}"


ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a private key. A shared secret, or no signature, proves nothing here."""
TYPES = {"at+jwt", "application/at+jwt", "jwt", ""}
TIMEOUT_S, LEEWAY_S, MOST_BYTES = 10, 30, 1_000_000


class AccessTokens:
    """Verifies tokens with the keys that the issuer publishes. Thread-safe."""

    def __init__(self, oidc: Oidc) -> None:
        self.oidc = oidc
        self._lock = threading.Lock()
        self._keys: jwt.PyJWKClient | None = None

    def client(self, token: str) -> str:
        """Returns the name of the client that a token is for. Raises InsufficientScopeError, or WayfareError for another token."""
        import jwt

        oidc = self.oidc
        try:
            if str(jwt.get_unverified_header(token).get("typ", "")).lower() not in TYPES:
                raise WayfareError("The token is no access token.")
            claims = jwt.decode(
                token, self._published().get_signing_key_from_jwt(token), ALGORITHMS, audience=oidc.audience, issuer=oidc.issuer,
                leeway=LEEWAY_S, options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except jwt.PyJWTError as error:
            raise WayfareError(f"The token is not accepted: {type(error).__name__}.") from None
        scopes = claims.get("scope", claims.get("scp", ""))
        if oidc.mcp_scope not in (scopes.split() if isinstance(scopes, str) else scopes):
            raise InsufficientScopeError(f"The token lacks the scope {oidc.mcp_scope}.")
        name = claims.get(oidc.client_claim)
        if not isinstance(name, str) or not name:
            raise WayfareError(f"The token names no client: it has no claim {oidc.client_claim}.")
        return name

    def _published(self) -> jwt.PyJWKClient:
        import jwt

        with self._lock:
            if self._keys is None:
                try:
                    with urlopen(self.oidc.metadata_url, timeout=TIMEOUT_S) as answer:  # noqa: S310 - https, as the settings ask
                        metadata: dict[str, Any] = json.loads(answer.read(MOST_BYTES))
                    if metadata["issuer"] != self.oidc.issuer:
                        raise ValueError("another issuer")
                    self._keys = jwt.PyJWKClient(metadata["jwks_uri"], timeout=TIMEOUT_S)
                except (OSError, ValueError, KeyError, TypeError) as error:
                    message = f"The keys of the issuer cannot be read: {type(error).__name__}."
                    raise WayfareError(message) from None
            return self._keys


Kind = Literal["agent", "page", "command"]
MOST_USERS = 256


@dataclass
class _User:
    active: int = 0
    uses: int = 0
    last: datetime | None = None


@dataclass(eq=False)
class Uses:
    """Thread-safe. `clock` is monotonic, `now` the time of day."""

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = utc_now
    ending: bool = False
    """The console ends: it takes no further request of an agent."""
    _users: LRUCache[tuple[Kind, str], _User] = field(default_factory=lambda: LRUCache(MOST_USERS))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _active: int = 0
    _ended_s: float = 0.0

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        with self._lock:
            self._ended_s = self.clock()

    @contextmanager
    def use(self, kind: Kind, name: str) -> Generator[None]:
        """Counts a use until the block ends."""
        with self._lock:
            user = self._users.setdefault((kind, name), _User())
            user.active, user.uses, user.last = user.active + 1, user.uses + 1, self.now()
            self._active += 1
        try:
            yield
        finally:
            with self._lock:
                user.active, user.last = user.active - 1, self.now()
                self._active -= 1
                self._ended_s = self.clock()

    @property
    def idle_s(self) -> float:
        with self._lock:
            return 0.0 if self._active else self.clock() - self._ended_s

    def active(self, kind: Kind) -> int:
        with self._lock:
            return sum(user.active for (user_kind, _), user in self._users.items() if user_kind == kind)

    def users(self) -> list[dict[str, Any]]:
        with self._lock:
            users = [
                {"kind": kind, "name": name, "active": user.active, "uses": user.uses, "last": user.last.isoformat()}
                for (kind, name), user in self._users.items()
                if user.last is not None
            ]
        return sorted(users, key=lambda user: str(user["last"]), reverse=True)
