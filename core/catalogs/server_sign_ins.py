"""Sign-ins to servers that need OAuth: their states, the operator's sign-in in the browser, and its end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs, urlsplit

from core.domain.catalog import ConnectionState, Server, ServerId
from core.domain.errors import CatalogError, UnknownNameError, WayfareError
from core.domain.people import actions, person
from core.domain.untrusted_text import one_line
from core.servers.lacking import lacks_sign_in, may_sign_in
from core.servers.lazy_pool import load_protocol
from core.servers.secrets import GRANT, Launch, MissingReferenceError, SecretVault, client_secret_name

if TYPE_CHECKING:
    from core.catalogs.catalogs import CatalogService
    from core.servers.oauth_flow import Grant

CALLBACK = "/oauth/callback"
"""The path of the console that an authorization server sends the operator's browser to."""
BEGIN_LIMIT_S, PERSON_LIMIT_S = 30.0, 600.0
_log = logging.getLogger(__name__)
SignInState = Literal["signed in", "waiting", "refused", "needed", "unknown"]


@dataclass(frozen=True, slots=True)
class ServerSignIn:
    """The sign-in to one server. `until` is the end of its token. With `renews` a new token is fetched without a person. `about` says
    why a person has to sign in. `address` is the page for it, while a sign-in waits. `person` is the owner, "" for all."""

    server: str
    state: SignInState
    until: datetime | None = None
    renews: bool = False
    about: str = ""
    address: str = ""
    person: str = ""


@dataclass(eq=False)
class _Attempt:
    by: str
    """The person who has to come back with the answer, "" for any."""
    answer: Future[Any] = field(default_factory=Future[Any])
    address: str = ""
    problem: str = ""
    shown: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def key(self) -> str:
        """The `state` parameter, which nobody else knows."""
        return parse_qs(urlsplit(self.address).query).get("state", [""])[0]


@actions("call", begin_own="sign in to a server", sign_out_own="sign out of a server")
@actions("administer", begin="sign in to a server", sign_out="sign out of a server")
@dataclass(eq=False)
class ServerSignIns:
    """Sign-ins to the servers of all catalogs. Thread-safe. A token is never returned.

    `connections` returns the states of all connections. `discover` takes the tools of a server of a catalog after a sign-in.
    """

    catalogs: CatalogService
    vault: SecretVault
    connections: Callable[[], tuple[ConnectionState, ...]]
    discover: Callable[[str, str], object]
    limit_s: float = PERSON_LIMIT_S

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._attempts: dict[ServerId, _Attempt] = {}

    def list(self, catalog: str, person: str = "") -> tuple[ServerSignIn, ...]:
        """The sign-in to every server over HTTP that gets no Authorization header from its catalog, as calls of a person or client use
        it."""
        waiting = {
            ServerId(connection.catalog, connection.server, connection.person)
            for connection in self.connections()
            if connection.needs_sign_in
        }
        servers = [server for server in self.catalogs.catalog(catalog).servers if may_sign_in(server.connection)]
        keys = [self.vault.holder(ServerId(catalog, server.name), person) for server in servers]
        return tuple(self._state(key, server, asked=key in waiting) for key, server in zip(keys, servers, strict=True))

    def of(self, catalog: str, server: str, person: str = "") -> ServerSignIn:
        self._server(catalog, server)
        return next(sign_in for sign_in in self.list(catalog, person) if sign_in.server == server)

    def begin_own(self, catalog: str, server: str, console: str) -> str:
        """Begin the sign-in of the person of this thread. Only their browser may bring the answer, so nobody else can be tricked into it.
        Raises as `begin`."""
        holder = self.vault.own_holder(ServerId(catalog, server), person().name)
        return self._begin(holder, console, by=holder.person)

    def begin(self, catalog: str, server: str, console: str, *, client_id: str = "", person: str = "") -> str:
        """Begin a sign-in, for all or for one person, and return the address where the operator goes on in a browser.

        `console` is the address of ours that the browser can reach. If the server's authorization server registers no
        clients, `client_id` is needed. Its secret, if any, is in the vault. Raises UnknownNameError, CatalogError, WayfareError.
        """
        server_id = ServerId(catalog, server)
        return self._begin(self.vault.own_holder(server_id, person) if person else server_id, console, client_id)

    def _begin(self, key: ServerId, console: str, client_id: str = "", by: str = "") -> str:
        server = key.server
        launch = self._launch(key, self._server(key.catalog, server))
        load_protocol()
        attempt = _Attempt(by)
        with self._lock:
            previous, self._attempts[key] = self._attempts.get(key), attempt
        if previous is not None:
            previous.answer.cancel()
        work = (key, launch, f"{console.rstrip('/')}{CALLBACK}", client_id, attempt)
        threading.Thread(target=self._run, args=work, name="wayfare-sign-in", daemon=True).start()
        if not attempt.shown.wait(BEGIN_LIMIT_S):
            attempt.answer.cancel()
            raise WayfareError(f"Server {server}: its authorization server did not answer within {BEGIN_LIMIT_S:g} s.")
        if not attempt.address:
            raise WayfareError(attempt.problem)
        return attempt.address

    def wants(self, state: str) -> str:
        """Returns the person whose browser has to bring the answer with this `state`, "" if any may."""
        return next((attempt.by for attempt in self._waiting(state)), "")

    def _waiting(self, state: str) -> tuple[_Attempt, ...]:
        with self._lock:
            attempts = tuple(self._attempts.values())
        return tuple(attempt for attempt in attempts if state and attempt.key == state and not attempt.answer.done())

    def answered(self, parameters: Mapping[str, str], by: str = "") -> bool:
        """Take the answer that an authorization server sent with a person's browser. Returns whether a sign-in waited for it."""
        from mcp.client.auth import AuthorizationCodeResult

        from core.servers.oauth_flow import SignInError

        state = parameters.get("state", "")
        attempts = self._waiting(state)
        if not attempts or attempts[0].by not in {"", by}:
            return False
        answer, code = attempts[0].answer, parameters.get("code", "")
        if code and "error" not in parameters:
            answer.set_result(AuthorizationCodeResult(code=code, state=state, iss=parameters.get("iss")))
        else:
            texts = (parameters.get("error", "no code"), parameters.get("error_description", ""))
            reason = one_line(": ".join(text for text in texts if text), 300)
            answer.set_exception(SignInError(f"the sign-in was refused ({reason})"))
        return True

    def wait(self, catalog: str, server: str, limit_s: float, person: str = "") -> ServerSignIn:
        """The state of a sign-in once it ended, or after the limit."""
        attempt = self._attempts.get(ServerId(catalog, server, person))
        if attempt is not None:
            attempt.ended.wait(limit_s)
        return self.of(catalog, server, person)

    def sign_out_own(self, catalog: str, server: str) -> None:
        self._sign_out(self.vault.own_holder(ServerId(catalog, server), person().name))

    def sign_out(self, catalog: str, server: str, person: str = "") -> None:
        """Forget the tokens and the registered client of a server, and revoke the tokens if possible.

        Raises UnknownNameError.
        """
        self._sign_out(ServerId(catalog, server, person))

    def _sign_out(self, key: ServerId) -> None:
        attempt = self._attempts.pop(key, None)
        if attempt is not None:
            attempt.answer.cancel()
        if self.vault.grant(key) is None:
            who = key.person or "Nobody"
            raise UnknownNameError(
                f"{who} is{' not' if key.person else ''} signed in to server {key.server!r} of catalog {key.catalog!r}."
            )
        load_protocol()
        from core.servers.oauth import kept_grant
        from core.servers.oauth_flow import revoke

        with self.vault.renewing(key):  # a token that is renewed right now is removed, too
            grant = kept_grant(self.vault, key)
            self.vault.remove(key, GRANT)
        if grant is not None:
            revoke(grant)

    def close(self) -> None:
        for attempt in tuple(self._attempts.values()):
            attempt.answer.cancel()

    def _run(self, key: ServerId, launch: Launch, redirect_uri: str, client_id: str, attempt: _Attempt) -> None:
        from core.servers.oauth import ServerGrant
        from core.servers.oauth_flow import client_of, sign_in
        from core.servers.transports import quiet_sdk_log

        quiet_sdk_log()
        grant = ServerGrant(self.vault, key, launch.url)

        def shown(address: str) -> None:
            attempt.address = address
            attempt.shown.set()

        timer = threading.Timer(self.limit_s, attempt.answer.cancel)
        timer.daemon = True
        timer.start()
        try:
            client = None if (stored_grant := grant.read()) is None else stored_grant.client
            if client_id:
                client = client_of(client_id, redirect_uri, self.vault.client_secret(key, client_id))
            scopes = "" if stored_grant is None else stored_grant.scopes
            fresh = sign_in(launch, redirect_uri, client=client, scopes=scopes, on_address=shown, answer=attempt.answer)
            with self.vault.renewing(key):
                grant.keep(fresh)
        except (CancelledError, asyncio.CancelledError):
            attempt.problem = f"Server {key.server}: nobody signed in in time"
        except WayfareError as error:
            attempt.problem = f"Server {key.server}: {self.vault.redact(str(error))}"
        except Exception as error:  # noqa: BLE001  whatever a stranger's document makes the SDK throw
            attempt.problem = f"Server {key.server}: the sign-in failed ({type(error).__name__})"
        finally:
            timer.cancel()
            self.vault.remove(key, client_secret_name(client_id))  # the grant has it now, or it was of no use
        attempt.shown.set()
        if not attempt.problem:
            self._connect(key)
        attempt.ended.set()

    def _connect(self, key: ServerId) -> None:
        """Opens a session with the new token, and takes the tools that the server lists now."""
        try:
            self.discover(key.catalog, key.server)
        except CatalogError:
            _log.debug("Catalog %s is only read from its file", key.catalog)
        except Exception as error:  # noqa: BLE001  the sign-in is done; the next call says what is wrong
            _log.warning("Server %s: signed in, but %s", key.server, self.vault.redact(str(error)))

    def _state(self, key: ServerId, server: Server, *, asked: bool) -> ServerSignIn:
        sign_in = partial(ServerSignIn, server.name, person=key.person)
        attempt = self._attempts.get(key)
        if attempt is not None and attempt.address and not attempt.ended.is_set():
            return sign_in("waiting", address=attempt.address)
        grant = self._grant(key, server)
        if grant is not None and grant.token is not None and not grant.wanted:
            until = None if grant.expires_at is None else datetime.fromtimestamp(grant.expires_at, UTC)
            return sign_in("signed in", until, renews=grant.token.refresh_token is not None)
        if attempt is not None and attempt.problem:
            return sign_in("refused", about=attempt.problem)
        if grant is not None or asked:
            lacks = "" if grant is None or not grant.wanted else f"its token lacks the scope {grant.wanted}"
            return sign_in("needed", about=lacks or ("" if grant is None else grant.problem))
        needed = server.connection is not None and lacks_sign_in(self.vault, key, server.connection)
        return sign_in("needed" if needed else "unknown")

    def _grant(self, key: ServerId, server: Server) -> Grant | None:
        if self.vault.grant(key) is None:
            return None
        load_protocol()
        from core.servers.oauth import ServerGrant

        try:
            return ServerGrant(self.vault, key, self._launch(key, server).url).read()
        except CatalogError:
            return None

    def _server(self, catalog: str, name: str) -> Server:
        server = self.catalogs.catalog(catalog).server(name)
        if not may_sign_in(server.connection):
            raise CatalogError(
                f"Server {name!r} needs no sign-in: it is no server over HTTP, or its catalog has a header Authorization."
            )
        return server

    def _launch(self, key: ServerId, server: Server) -> Launch:
        if server.connection is None:
            raise CatalogError(f"Server {server.name!r} has no connection.")
        try:
            return self.vault.resolve(key, server.connection)
        except MissingReferenceError as error:
            raise CatalogError(f"Server {server.name!r}: {error}.") from None
