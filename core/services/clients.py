"""Clients of the endpoint, and operators of the pages: their names, the hashes of their tokens, and what each may use."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from core.domain.governance_events import OPERATOR, ClientChange
from core.governance.definitions import digest
from core.governance.scope import Scope
from core.shared.errors import UnknownNameError, WayfareError
from core.shared.untrusted_text import one_line
from core.store import Store

MOST_NAME_CHARS = 80
TOKEN_START = "wf_"  # noqa: S105 - how tokens begin, so that people and scanners know one
MADE, REVOKED = "made", "revoked"
AGENT_LOOP = "wayfare agent"
OWN_NAMES = {OPERATOR: "the person at its pages", AGENT_LOOP: "its agent loop"}
"""Under whose names the calls of a person and of the agent loop are governed: nobody else may take them."""


@dataclass(frozen=True, slots=True)
class Client:
    """One client with a token, in force or revoked; `seen` is when it was here last since Wayfare started."""

    name: str
    scope: Scope
    since: datetime
    revoked: bool = False
    seen: datetime | None = None


class ClientRegister:
    """All clients that were ever made. Thread-safe; a revoked one is a stranger with its next request."""

    def __init__(self, store: Store, now: Callable[[], datetime]) -> None:
        self._store = store
        self._now = now
        self._lock = threading.Lock()
        self._clients: dict[str, Client] = {}
        self._by_hash: dict[str, str] = {}
        for change in store.governance.clients():
            self._take(change)

    def all(self) -> tuple[Client, ...]:
        """Those in force first, each kind by name."""
        return tuple(sorted(self._clients.values(), key=lambda client: (client.revoked, client.name)))

    def in_force(self, name: str) -> Client | None:
        """The client of a name, None where there is none or it was revoked."""
        client = self._clients.get(name)
        return None if client is None or client.revoked else client

    @property
    def any_in_force(self) -> bool:
        """Whether somebody has a token."""
        return bool(self._by_hash)

    @property
    def any_operator(self) -> bool:
        """Whether somebody can sign in to the pages."""
        return any(client.scope.pages and not client.revoked for client in self._clients.values())

    def make(self, name: str, scope: Scope | None = None, *, origin: str) -> str:
        """A new client; gives its token, which nobody can see again. Raises WayfareError for a name that cannot be taken."""
        if not name.strip() or name != one_line(name, MOST_NAME_CHARS):
            raise WayfareError(f"A client's name is one line of at most {MOST_NAME_CHARS} characters.")
        if name in OWN_NAMES:
            raise WayfareError(f"{name!r} is Wayfare's own name for {OWN_NAMES[name]}; choose another.")
        token = f"{TOKEN_START}{secrets.token_urlsafe(32)}"
        with self._lock:
            if self.in_force(name) is not None:
                raise WayfareError(f"There is a client {name!r} already; revoke it first, or choose another name.")
            made = ClientChange(self._now(), name, MADE, digest(token), (scope or Scope()).to_json(), origin)
            self._store.governance.append(made)
            self._take(made)
        return token

    def revoke(self, name: str, *, origin: str) -> None:
        """Have a client's token be worth nothing from now on. Raises UnknownNameError."""
        with self._lock:
            client = self.in_force(name)
            if client is None:
                known = ", ".join(one.name for one in self.all() if not one.revoked) or "none"
                raise UnknownNameError(f"There is no client {one_line(name, 80)!r}; there are: {known}.")
            revoked = ClientChange(self._now(), name, REVOKED, "", client.scope.to_json(), origin)
            self._store.governance.append(revoked)
            self._take(revoked)

    def of_token(self, token: str) -> Client | None:
        """Which client's token it is; None where it is none's, or an operator's, which opens pages alone."""
        return self._owner(token, pages=False)

    def operator_of_token(self, token: str) -> Client | None:
        """Which operator's token it is; None where it is none's."""
        return self._owner(token, pages=True)

    def _owner(self, token: str, *, pages: bool) -> Client | None:
        given = digest(token)
        with self._lock:
            # every hash is compared, each in constant time: how long it takes says nothing
            names = [name for hash_, name in self._by_hash.items() if secrets.compare_digest(hash_, given)]
            if not names or self._clients[names[0]].scope.pages is not pages:
                return None
            self._clients[names[0]] = replace(self._clients[names[0]], seen=self._now())
            return self._clients[names[0]]

    def _take(self, change: ClientChange) -> None:
        self._by_hash = {hash_: name for hash_, name in self._by_hash.items() if name != change.client}
        if change.action == MADE:
            self._by_hash[change.token_hash] = change.client
        self._clients[change.client] = Client(
            change.client, Scope.from_json(change.scope_json), change.at, revoked=change.action == REVOKED
        )
