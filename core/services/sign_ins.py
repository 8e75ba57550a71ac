"""Operators who sign in to the pages: a token once, then a cookie that is signed, expires, and is worth nothing once it is ended."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from cachetools import LRUCache
from itsdangerous import BadData, URLSafeSerializer

from core.governance.breaker import Breaker, BreakerRules
from core.governance.definitions import digest
from core.services.clients import Client, ClientRegister
from core.store import Store

KEY = "sign_in_key"
LASTS = timedelta(hours=12)
TRIES = BreakerRules(failures=5, open_s=60.0)
"""So many wrong tokens in a row from one address, then none for a minute, then one try; a wrong one doubles the wait."""
MOST_ADDRESSES, MOST_ENDED = 4096, 65_536


@dataclass(frozen=True, slots=True)
class SignIn:
    """How a try ended: a `cookie`, or none, with how long this address has to wait before its next one, s."""

    cookie: str = ""
    wait_s: int = 0


class SignIns:
    """Thread-safe. The secret that signs cookies is this store's own. `clock` is monotonic, `now` the time of day."""

    def __init__(
        self, store: Store, clients: ClientRegister, *, now: Callable[[], datetime], clock: Callable[[], float]
    ) -> None:
        key = store.get_setting(KEY)
        if key is None:
            store.set_setting(KEY, key := secrets.token_hex(32))
        self.cookie = f"wayfare_{digest(key)[:8]}"
        """Its name: cookies know no ports, and another console of this machine has another store."""
        self._signer = URLSafeSerializer(key, salt="wayfare.sign-in")
        self._clients = clients
        self._now = now
        self._clock = clock
        self._lock = threading.Lock()
        self._tries: LRUCache[str, Breaker] = LRUCache(MOST_ADDRESSES)
        self._ended: LRUCache[str, None] = LRUCache(MOST_ENDED)

    def begin(self, token: str, address: str) -> SignIn:
        """Sign in with an operator's token."""
        with self._lock:
            tries = self._tries.setdefault(address, Breaker())
            if not tries.enter(self._clock()):
                return SignIn(wait_s=math.ceil(tries.wait_s(self._clock())) or 1)
        operator = self._clients.operator_of_token(token)
        with self._lock:
            tries.ended(operator is not None, TRIES, self._clock())
        if operator is None:
            return SignIn()
        until = (self._now() + LASTS).timestamp()
        session = {"id": secrets.token_urlsafe(12), "name": operator.name, "made": _made(operator), "until": until}
        return SignIn(str(self._signer.dumps(session)))

    def operator(self, cookie: str) -> str:
        """Who is signed in with a cookie; "" where nobody is: it is forged, expired or ended, or the operator's token was revoked."""
        session = self._session(cookie)
        known = self._clients.in_force(session.get("name", ""))
        if known is None or not known.scope.pages or session["made"] != _made(known):
            return ""
        return known.name if session["until"] > self._now().timestamp() and session["id"] not in self._ended else ""

    def end(self, cookie: str) -> None:
        """Sign out."""
        session = self._session(cookie)
        if session:
            with self._lock:
                self._ended[session["id"]] = None

    def _session(self, cookie: str) -> dict[str, Any]:
        try:
            return cast("dict[str, Any]", self._signer.loads(cookie))
        except BadData:
            return {}


def _made(operator: Client) -> str:
    """Tells a token from the one that an operator of the same name has later."""
    return operator.since.isoformat()
