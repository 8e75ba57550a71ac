"""Clients of the endpoint, and people at the pages: their names, the hashes of their tokens, and what each may use."""

from __future__ import annotations

import ipaddress
import math
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast

from cachetools import LRUCache
from itsdangerous import BadData, URLSafeSerializer

from core.domain.documents import digest
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.events import OPERATOR, ClientChange, PersonAction
from core.domain.execution import ANONYMOUS
from core.domain.limits import Breaker, BreakerRules
from core.domain.people import Person, Role, actions
from core.domain.untrusted_text import one_line
from core.governance.policy import People, Scope
from core.store import Store

MOST_NAME_CHARS = 80
TOKEN_START = "wf_"  # noqa: S105 - how tokens begin, so that people and scanners know one
MADE, CHANGED, REVOKED = "made", "changed", "revoked"
AGENT_LOOP = "wayfare agent"
OWN_NAMES = {OPERATOR: "the person at its pages", AGENT_LOOP: "its agent loop"}
"""The names under which calls of a person and of the agent loop are governed. A client cannot have them."""


@dataclass(frozen=True, slots=True)
class Client:
    """One client with a token, in force or revoked; `seen` is when it was here last since Wayfare started."""

    name: str
    scope: Scope
    since: datetime
    revoked: bool = False
    seen: datetime | None = field(default=None, compare=False)


@actions("administer", make="make a token", change="change what a client may", revoke="revoke a token")
@dataclass(eq=False)
class ClientRegister:
    """All clients, also revoked ones. Thread-safe. A revocation counts from the next request on."""

    store: Store
    now: Callable[[], datetime]
    gone: Callable[[str], None] = lambda _: None
    """Removes the values and sign-ins of a person or client that is revoked."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, Client] = {}
        self._by_hash: dict[str, str] = {}
        self.read_anew()

    def read_anew(self) -> None:
        with self._lock:
            for change in self.store.governance.clients():
                self._take(change)

    def all(self) -> tuple[Client, ...]:
        return tuple(sorted(self._clients.values(), key=lambda client: (client.revoked, client.name)))

    def in_force(self, name: str) -> Client | None:
        """Returns the client of a name, or None if it is unknown, revoked or expired."""
        client = self._clients.get(name)
        return None if client is None or client.revoked or client.scope.expired(self.now()) else client

    @property
    def any_in_force(self) -> bool:
        return any(self.in_force(name) is not None for name in tuple(self._by_hash.values()))

    @property
    def any_client(self) -> bool:
        """Whether a client of the endpoint is in force. Operators do not count."""
        return any(not client.scope.pages for client in self._in_force())

    @property
    def without_token(self) -> Scope | None:
        """The scope of a request without a token, or None if it may use nothing. It is the scope of the client `ANONYMOUS`, if there
        is one. Else it is everything, if every client may use everything, so that omitting the token gives no advantage."""
        anonymous = self.in_force(ANONYMOUS)
        if anonymous is not None and not anonymous.scope.pages:
            return anonymous.scope
        scopes = {replace(client.scope, improve=False) for client in self._in_force() if not client.scope.pages}
        return Scope() if scopes <= {Scope()} else None

    @property
    def any_operator(self) -> bool:
        return any(client.scope.pages for client in self._in_force())

    def make(self, name: str, scope: Scope | None = None, *, origin: str, tokenless: bool = False) -> str:
        """Makes a client. Returns its token, which is shown only once, or "" for `ANONYMOUS`. A `tokenless` client gets its token when it
        is made again, and keeps its scope then. Raises WayfareError for an unusable name."""
        if not name.strip() or name != one_line(name, MOST_NAME_CHARS):
            raise WayfareError(f"A client's name is one line of at most {MOST_NAME_CHARS} characters.")
        if name in OWN_NAMES:
            raise WayfareError(f"{name!r} is Wayfare's own name for {OWN_NAMES[name]}; choose another.")
        if name == ANONYMOUS and scope is not None and scope.pages:
            raise WayfareError(
                f"{name!r} is whoever has no token, and cannot sign in to the pages; choose another name."
            )
        token = "" if tokenless or name == ANONYMOUS else f"{TOKEN_START}{secrets.token_urlsafe(32)}"
        with self._lock:
            client = self._clients.get(name)
            if client is not None and not client.revoked and token and name not in self._by_hash.values():
                if scope not in {None, Scope(), client.scope}:
                    raise WayfareError(
                        f"The client {name!r} has a scope already; give it its token first, then change it."
                    )
                scope = client.scope
            elif client is not None and not client.revoked:
                raise WayfareError(f"There is a client {name!r} already; revoke it first, or choose another name.")
            self._write(name, MADE, digest(token) if token else "", scope or Scope(), origin)
        return token

    def change(self, name: str, scope: Scope, *, origin: str) -> None:
        """Gives a client another scope from its next request on. Its token stays. Raises UnknownNameError, WayfareError."""
        with self._lock:
            client = self._known(name)
            if client.scope.pages is not scope.pages:
                raise WayfareError(f"{name!r} cannot change between the pages and the endpoint; make another client.")
            hash_ = next((hash_ for hash_, owner in self._by_hash.items() if owner == name), "")
            self._write(name, CHANGED, hash_, scope, origin)

    def revoke(self, name: str, *, origin: str) -> None:
        """Revokes a client's token. Raises UnknownNameError."""
        with self._lock:
            self._write(name, REVOKED, "", self._known(name).scope, origin)
        self.gone(name)

    def _write(self, name: str, action: str, token_hash: str, scope: Scope, origin: str) -> None:
        change = ClientChange(self.now(), name, action, token_hash, scope.to_json(), origin)
        self.store.governance.append(change)
        self._take(change)

    def _known(self, name: str) -> Client:
        """Returns a client that is not revoked; it may be expired. Raises UnknownNameError."""
        client = self._clients.get(name)
        if client is None or client.revoked:
            names = ", ".join(client.name for client in self.all() if not client.revoked) or "none"
            raise UnknownNameError(f"There is no client {one_line(name, 80)!r}; there are: {names}.")
        return client

    def _in_force(self) -> list[Client]:
        return [client for client in tuple(self._clients.values()) if self.in_force(client.name) is not None]

    def of_token(self, token: str, *, pages: bool = False) -> Client | None:
        """Returns the client of a token, or with `pages` the operator. Returns None for an unknown token or the other kind of token."""
        token_hash = digest(token)
        with self._lock:
            # compares every hash in constant time, so that the duration reveals nothing
            names = [name for hash_, name in self._by_hash.items() if secrets.compare_digest(hash_, token_hash)]
        return self.seen(names[0], pages=pages) if names else None

    def seen(self, name: str, *, pages: bool = False) -> Client | None:
        """Notes a request of a client. Returns the client, or None if it is not in force or of the other kind."""
        with self._lock:
            client = self.in_force(name)
            if client is None or client.scope.pages is not pages:
                return None
            self._clients[name] = replace(client, seen=self.now())
            return self._clients[name]

    def _take(self, change: ClientChange) -> None:
        self._by_hash = {hash_: name for hash_, name in self._by_hash.items() if name != change.client}
        if change.token_hash:
            self._by_hash[change.token_hash] = change.client
        self._clients[change.client] = Client(
            change.client, Scope.from_json(change.scope_json), change.at, revoked=change.action == REVOKED
        )


# First requests: which clients have reached the endpoint, by the names that they give themselves.

VISITS = "client_visits"
MOST_VISITS = 200


@dataclass(frozen=True, slots=True)
class Visit:
    """A client that has reached the endpoint: the name it gives itself, the client of its token or "", its first request, and its
    latest since Wayfare started, if any."""

    name: str
    token: str
    first: datetime
    last: datetime | None = None


@dataclass(eq=False)
class ClientVisits:
    """Thread-safe. First requests are kept in the store, as long as fewer than `MOST_VISITS` clients are known."""

    store: Store
    now: Callable[[], datetime]

    def __post_init__(self) -> None:
        self._lock, self._writing = threading.Lock(), threading.Lock()
        rows = cast("list[list[str]]", self.store.get_setting(VISITS, []))
        self._visits = {(name, token): Visit(name, token, datetime.fromisoformat(first)) for name, token, first in rows}

    def all(self) -> tuple[Visit, ...]:
        with self._lock:
            return tuple(sorted(self._visits.values(), key=lambda visit: visit.last or visit.first, reverse=True))

    def again(self, name: str, token: str) -> bool:
        """Notes a request of an admitted client. Returns False if it may be its first, which `note` stores."""
        with self._lock:
            visit = self._visits.get((name, token))
            if visit is not None:
                self._visits[name, token] = replace(visit, last=self.now())
            return visit is not None or len(self._visits) >= MOST_VISITS

    def note(self, name: str, token: str) -> None:
        """Notes a request, and stores a client's first request. Raises StoreError."""
        with self._writing:  # nothing else waits for the store
            if self.again(name, token):
                return
            with self._lock:
                now = self.now()
                self._visits[name, token] = Visit(name, token, now, now)
                rows = [[visit.name, visit.token, visit.first.isoformat()] for visit in self._visits.values()]
            self.store.set_setting(VISITS, rows)


# People who sign in to the pages: a token or an identity provider once, then a signed cookie that expires or is ended.

KEY = "sign_in_key"
LASTS = timedelta(hours=12)
TRIES = BreakerRules(failures=5, open_s=60.0)
"""After this many wrong tokens in a row, an address has to wait a minute. Each further wrong token doubles the wait."""
MOST_ADDRESSES, MOST_ENDED = 4096, 65_536


@dataclass(frozen=True, slots=True)
class SignIn:
    """The result of a try: a `cookie`, or the wait of this address until its next try, s."""

    cookie: str = ""
    wait_s: int = 0


NOBODY = Person(roles=())


@dataclass(eq=False)
class SignIns:
    """Thread-safe. The secret that signs cookies is this store's own. `clock` is monotonic, `now` the time of day."""

    store: Store
    clients: ClientRegister
    people: Callable[[], People]
    _: KW_ONLY
    now: Callable[[], datetime]
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self.key = self.store.get_setting(KEY)
        if self.key is None:
            self.key = secrets.token_hex(32)
            self.store.set_setting(KEY, self.key)
        self.cookie = f"wayfare_{digest(self.key)[:8]}"
        """The cookie's name. It depends on the store, because the consoles of a machine share cookies across ports."""
        self._signer = URLSafeSerializer(self.key, salt="wayfare.sign-in")
        self._lock = threading.Lock()
        self._tries: LRUCache[str, Breaker] = LRUCache(MOST_ADDRESSES)
        self._ended: LRUCache[str, None] = LRUCache(MOST_ENDED)

    def begin(self, token: str, address: str) -> SignIn:
        """Signs an operator in by a token. Only wrong tokens are limited, so that nobody locks out an operator of the same address."""
        operator = self.clients.of_token(token, pages=True)
        with self._lock:
            if operator is None:
                return self._wrong(self._tries.setdefault(_known_address(address), Breaker()))
            self._tries.pop(_known_address(address), None)
        return SignIn(self._begun({"name": operator.name, "made": _made(operator)}))

    def begin_with_claims(self, claims: Mapping[str, Any]) -> str:
        """Returns the cookie of a person with verified claims of an identity provider. Raises WayfareError without a role here."""
        people = self.people()
        claim = claims.get(people.groups_claim)
        groups = [str(group) for group in cast("list[object]", claim if isinstance(claim, list) else [claim])]
        if not people.roles(groups):
            raise WayfareError("None of your groups has a role here. An admin gives groups roles in the policy.")
        name = one_line(str(claims.get(people.name_claim) or claims["sub"]), MOST_NAME_CHARS)
        if self.clients.in_force(name) is not None:
            raise WayfareError(
                f"{name!r} is the name of a token here. An admin has to revoke it, so that the log names one of you."
            )
        return self._begun({"name": name, "groups": groups})

    def _begun(self, session: Mapping[str, Any]) -> str:
        until = (self.now() + LASTS).timestamp()
        return str(self._signer.dumps({**session, "id": secrets.token_urlsafe(12), "until": until}))

    def _wrong(self, tries: Breaker) -> SignIn:
        now_s = self.clock()
        if not tries.enter("wrong", now_s):
            return SignIn(wait_s=math.ceil(tries.wait_s(now_s)) or 1)
        tries.ended("wrong", False, TRIES, now_s)
        return SignIn()

    def operator(self, cookie: str) -> str:
        return self.person(cookie).name

    def person(self, cookie: str) -> Person:
        """Returns the person of a cookie, or `NOBODY` if the cookie is forged, expired or ended, its token is revoked, or no group
        has a role."""
        session = self._session(cookie)
        if not session or session["until"] <= self.now().timestamp() or session["id"] in self._ended:
            return NOBODY
        name, roles = session["name"], self._roles(session)
        return Person(name, roles, partial(self._note, name)) if roles else NOBODY

    def _roles(self, session: Mapping[str, Any]) -> tuple[Role, ...]:
        if "groups" in session:
            return self.people().roles(session["groups"])
        client = self.clients.in_force(session["name"])
        if client is None or not client.scope.pages or session["made"] != _made(client):
            return ()
        return client.scope.roles or ("admin",)

    def _note(self, name: str, did: str, about: str, refused: bool) -> None:
        self.store.governance.append(PersonAction(self.now(), name, did, about, refused))

    def end(self, cookie: str) -> bool:
        """Ends a session. Returns whether it was begun at an identity provider."""
        session = self._session(cookie)
        if session:
            with self._lock:
                self._ended[session["id"]] = None
        return "groups" in session

    def _session(self, cookie: str) -> dict[str, Any]:
        try:
            return cast("dict[str, Any]", self._signer.loads(cookie))
        except BadData:
            return {}


def _known_address(text: str) -> str:
    """Returns an address in its usual form, or "" for another text, which a proxy may pass on.

    >>> _known_address("2001:DB8::0:1"), _known_address("unknown"), _known_address("x" * 9_000)
    ('2001:db8::1', '', '')
    """
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def _made(operator: Client) -> str:
    """Distinguishes a token from a later one of an operator of the same name."""
    return operator.since.isoformat()
