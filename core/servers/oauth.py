"""OAuth on the requests of calls: the token of an operator's sign-in, its renewal, and the error for a 401.

Nothing here begins a sign-in. A person's sign-in puts the grant into the vault.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth, union_scopes
from pydantic import ValidationError

from core.domain.catalog import Connection, ServerId
from core.domain.untrusted_text import one_line
from core.servers.lacking import how_to_enter, how_to_sign_in
from core.servers.messages import REFUSED, Refused
from core.servers.oauth_flow import MOST_CHARS, Grant, SignInError, renewal
from core.servers.secrets import Launch, SecretVault
from core.servers.threads import UnauthorizedError

AUTHORIZATION = "authorization"
BUSY = 429
_log = logging.getLogger(__name__)


def kept_grant(vault: SecretVault, server: ServerId) -> Grant | None:
    """Returns the grant of a server for any address, or None. Its tokens are masked from then on."""
    text = vault.grant(server)
    if text is None:
        return None
    try:
        grant = Grant.model_validate_json(text)
    except ValidationError:  # of another version of the packages: a person signs in again
        return None
    vault.mask_tokens(server, grant.secrets())
    return grant


class ServerGrant:
    """The grant of one server at one address. A grant for another address is not used."""

    def __init__(self, vault: SecretVault, server: ServerId, url: str) -> None:
        self._vault = vault
        self.server = server
        self.url = url

    def read(self) -> Grant | None:
        grant = kept_grant(self._vault, self.server)
        return grant if grant is not None and grant.url == self.url else None

    def keep(self, grant: Grant) -> None:
        self._vault.mask_tokens(self.server, grant.secrets())
        self._vault.put_grant(self.server, grant.model_dump_json(exclude_none=True))

    async def token(self, refused: str = "") -> tuple[str, str]:
        """Returns a token that is not `refused`, or "" if a person has to sign in, and why the authorization server cannot be reached,
        or ""."""
        grant = self.read()
        if grant is None or grant.token is None:
            return "", ""
        current = grant.token.access_token
        if current != refused and not grant.ends_soon:
            return current, ""
        try:  # in a thread that no cancelled call ends: a new refresh token must be kept
            return await asyncio.to_thread(self._renewed, current), ""
        except SignInError as error:
            return "", str(error)

    def _renewed(self, old: str) -> str:
        with self._vault.renewing(self.server):
            grant = self.read()
            if grant is None or grant.token is None:
                return ""
            if grant.token.access_token == old:  # no other thread has renewed it
                grant = self._kept(asyncio.run(renewal(grant)), old)
            return "" if grant.token is None else grant.token.access_token

    def _kept(self, grant: Grant, old: str) -> Grant:
        if grant.token is None:
            newest = self.read()
            if newest is not None and newest.token is not None and newest.token.access_token != old:
                return newest  # another process has renewed it
            grant = grant.refused(self._vault.redact(grant.problem))
            _log.warning("Server %s needs a sign-in again: %s", self.server.server, grant.problem)
        self.keep(grant)
        return grant

    def refuse(self, token: str) -> None:
        """Drops a token that the server refused although it is new."""
        with self._vault.renewing(self.server):
            grant = self.read()
            if grant is not None and grant.token is not None and grant.token.access_token == token:
                self.keep(grant.refused("the server refuses a new token"))

    def want(self, scopes: str) -> None:
        """Notes scopes that the server missed in the token. The next sign-in asks for them. The token stays, because it allows the rest."""
        with self._vault.renewing(self.server):
            grant = self.read()
            if grant is not None and grant.wanted != (all_scopes := union_scopes(grant.wanted, scopes) or ""):
                self.keep(grant.model_copy(update={"wanted": all_scopes}))


class TokenAuth(httpx2.Auth):
    """Adds the token of a server to requests to its own origin, and renews it. Notes a 401 that remains, and a 403 for lack of a scope."""

    def __init__(self, grant: ServerGrant) -> None:
        self._grant = grant

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        without_token = AUTHORIZATION in request.headers or _origin(str(request.url)) != _origin(self._grant.url)
        token, problem = ("", "") if without_token else await self._grant.token()
        response = yield _with(request, token)
        if response.status_code == 401 and token:
            newer, problem = await self._grant.token(refused=token)
            if newer:
                response = yield _with(request, newer)
                if response.status_code == 401:
                    await asyncio.to_thread(self._grant.refuse, newer)
        refusal = REFUSED.get()
        lacking = response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"
        scopes = one_line(extract_scope_from_www_auth(response) or "", MOST_CHARS) if lacking else ""  # RFC 6750, 3.1
        if token and scopes and refusal is not None:
            await asyncio.to_thread(self._grant.want, scopes)
            refusal.challenged, refusal.problem = True, f"its token lacks the scope {scopes}"
        if response.status_code == 401 and refusal is not None:
            grant = None if without_token else self._grant.read()
            refusal.challenged = "bearer" in response.headers.get("www-authenticate", "").lower() or grant is not None
            refusal.problem, refusal.for_now = problem or ("" if grant is None else grant.problem), bool(problem)


def _with(request: httpx2.Request, token: str) -> httpx2.Request:
    if token:
        request.headers[AUTHORIZATION] = f"Bearer {token}"
    return request


def _origin(address: str) -> tuple[str, str, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname or "", parts.port


def unauthorized(server: ServerId, connection: Connection, launch: Launch, refused: Refused) -> UnauthorizedError:
    filled = {name: value.strip().lower() not in {"", "bearer", "basic"} for name, value in launch.headers.items()}
    empty = next((name for name, has_value in filled.items() if not has_value), "")
    auth_header = next((name for name in filled if name.lower() == AUTHORIZATION), "")
    label = f"Server {server.server}"
    if empty or (auth_header and filled[auth_header]):
        name = empty or auth_header
        lack = "needs a value for" if empty else "refuses the value of"
        reference = connection.headers.get(name, "") if "${" in connection.headers.get(name, "") else name
        return UnauthorizedError(
            f"{label} {lack} the header {name}. {how_to_enter(server, reference)}", challenged=False
        )
    if refused.for_now:
        return UnauthorizedError(
            f"{label} was not asked: {refused.problem}. The next call tries again.", challenged=False
        )
    if refused.challenged:
        again = f" again ({refused.problem})" if refused.problem else ""
        return UnauthorizedError(f"{label} needs a sign-in{again}. {how_to_sign_in(server)}", challenged=True)
    lack = "answered 401: the header Authorization is missing"
    return UnauthorizedError(f"{label} {lack}. {how_to_enter(server, 'Authorization')}", challenged=False)
