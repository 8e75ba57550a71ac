"""The SDK's authorization flow for one server, with checks of the authorization server's answers. It gives a `Grant`.

Discovery is RFC 9728 and RFC 8414, registration RFC 7591, PKCE RFC 7636; each token is for one resource (RFC 8707). Only a person
begins the flow.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Self, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.utils import union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
    TokenEndpointAuthMethod,
)
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import AnyUrl, BaseModel, ValidationError

from core.domain.errors import WayfareError
from core.domain.untrusted_text import one_line
from core.servers.messages import PLAIN, AnswerLimit, Body, TooLargeError, unchanged
from core.servers.sdk import AuthorizationFlow
from core.servers.secrets import Launch
from core.servers.threads import said

EARLY_S = 30.0  # a token is renewed so long before it ends, but not before nine tenths of its time
MOST_BYTES = 262_144  # of one document of an authorization server
MOST_CHARS = 300
TIMEOUT_S = 10.0
NO_SECRET: TokenEndpointAuthMethod = "none"  # noqa: S105  we are a public client: PKCE proves who we are


class SignInError(WayfareError):
    """A sign-in failed, or a token could not be renewed."""


class Grant(BaseModel):
    """The registered client, the tokens and the metadata for one server at `url`. `expires_at` is in s since 1970.

    Without a `token` a person has to sign in again; `problem` says why. `wanted` are scopes that the server missed in the token.
    """

    url: str
    client: OAuthClientInformationFull
    metadata: OAuthMetadata
    resource: ProtectedResourceMetadata | None = None
    token: OAuthToken | None = None
    expires_at: float | None = None
    problem: str = ""
    wanted: str = ""

    @property
    def scopes(self) -> str:
        return union_scopes(self.token.scope if self.token is not None else None, self.wanted) or ""

    def with_token(self, token: OAuthToken) -> Self:
        """Returns the grant with a new token. A refresh token or scope that it lacks stays."""
        if self.token is not None:
            previous = {"refresh_token": self.token.refresh_token, "scope": self.token.scope}
            token = token.model_copy(
                update={name: value for name, value in previous.items() if getattr(token, name) is None}
            )
        ends = None if token.expires_in is None else time.time() + token.expires_in
        return self.model_copy(update={"token": token, "expires_at": ends, "problem": ""})

    def refused(self, problem: str) -> Self:
        return self.model_copy(update={"token": None, "expires_at": None, "problem": problem})

    @property
    def ends_soon(self) -> bool:
        if self.token is None or self.expires_at is None:
            return False
        return time.time() > self.expires_at - min(EARLY_S, 0.1 * (self.token.expires_in or 0))

    def secrets(self) -> list[str]:
        token = self.token
        candidates = [self.client.client_secret, token and token.access_token, token and token.refresh_token]
        return [text for text in candidates if text]


class _Flow(AuthorizationFlow):
    """The SDK's flow for the server at `url`. It is also its own storage. Its tokens become a `Grant`."""

    def __init__(
        self, url: str, redirect_uri: str, client: OAuthClientInformationFull | None = None, scopes: str = ""
    ) -> None:
        metadata = OAuthClientMetadata(
            client_name="Wayfare", redirect_uris=[AnyUrl(redirect_uri)], token_endpoint_auth_method=NO_SECRET
        )
        super().__init__(url, metadata, self, self._shown, self._answered)
        self._client = client
        self._scopes = scopes
        self.on_address: Callable[[str], None] = lambda _: None
        self.answer: Future[AuthorizationCodeResult] = Future()

    async def get_tokens(self) -> OAuthToken | None:
        """Returns None, so that a person signs in anew."""
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Does nothing."""

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Does nothing."""

    async def check(self, request: httpx2.Request) -> None:
        check_address(str(request.url), self.context.server_url)
        if request.method != "POST" or str(request.url) == self.context.server_url:
            return
        metadata = self.context.oauth_metadata
        if metadata is None:  # the SDK would guess addresses
            raise SignInError("no authorization server was found; does it take a token in the header Authorization?")
        if "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise SignInError(f"the authorization server {metadata.issuer} does not support PKCE")
        if self.context.client_info is None and metadata.registration_endpoint is None:
            raise SignInError(
                f"the authorization server {metadata.issuer} registers no clients; register Wayfare there, redirected to "
                f"{self._redirect_uri}, and give the client's id with --client-id, its secret, if it has one, with --client-secret"
            )

    async def renewal_request(self, grant: Grant) -> httpx2.Request:
        context = self.context
        context.oauth_metadata, context.protected_resource_metadata = grant.metadata, grant.resource
        context.client_info, context.current_tokens = grant.client, grant.token
        context.protocol_version = HANDSHAKE_PROTOCOL_VERSIONS[-1]
        return await self.refresh_request()

    def granted(self) -> Grant | None:
        context, url = self.context, self.context.server_url
        if context.current_tokens is None or context.client_info is None or context.oauth_metadata is None:
            return None
        resource = context.protected_resource_metadata
        grant = Grant(url=url, client=context.client_info, metadata=context.oauth_metadata, resource=resource)
        return grant.with_token(context.current_tokens)

    @property
    def _redirect_uri(self) -> str:
        return str((self.context.client_metadata.redirect_uris or [""])[0])

    def before_authorization(self) -> None:
        """Also asks for the scopes that the previous token had or lacked. Chooses how the client proves that it has its secret."""
        context = self.context
        context.client_metadata.scope = union_scopes(context.client_metadata.scope, self._scopes)
        client = context.client_info
        if client is not None and client.client_secret and client.token_endpoint_auth_method == NO_SECRET:
            methods = context.oauth_metadata and context.oauth_metadata.token_endpoint_auth_methods_supported
            basic = not methods or "client_secret_basic" in methods
            client.token_endpoint_auth_method = "client_secret_basic" if basic else "client_secret_post"

    async def _shown(self, address: str) -> None:
        check_address(address, self.context.server_url)
        self.on_address(address)

    async def _answered(self) -> AuthorizationCodeResult:
        answer = await asyncio.wrap_future(self.answer)
        return answer.model_copy(update={"iss": answer.iss and answer.iss.rstrip("/")})


def client_of(client_id: str, redirect_uri: str, secret: str = "") -> OAuthClientInformationFull:
    return OAuthClientInformationFull(
        client_id=client_id,
        client_secret=secret or None,
        redirect_uris=[AnyUrl(redirect_uri)],
        token_endpoint_auth_method=NO_SECRET,
    )


def sign_in(
    launch: Launch,
    redirect_uri: str,
    *,
    client: OAuthClientInformationFull | None,
    scopes: str = "",
    on_address: Callable[[str], None],
    answer: Future[AuthorizationCodeResult],
) -> Grant:
    """Returns the grant that a person gives in the browser at the address that `on_address` gets, once there is an `answer`.

    A `client` with another redirect address is registered again. `scopes` are requested beside the server's. Raises SignInError, and the errors of the answer.
    """
    fits = client is not None and AnyUrl(redirect_uri) in (client.redirect_uris or ())
    flow = _Flow(launch.url, redirect_uri, client if fits else None, scopes)
    flow.on_address, flow.answer = on_address, answer
    try:
        return asyncio.run(_signed_in(launch, flow))
    except (OAuthFlowError, ValidationError, httpx2.HTTPError, TooLargeError, httpx2.InvalidURL) as error:
        raise SignInError(_told(error)) from None


async def _signed_in(launch: Launch, flow: _Flow) -> Grant:
    """Sends one request without effect. Its 401 begins the flow, and it is repeated with the token."""
    reading = launch.transport == "sse"
    headers = {"Accept": "text/event-stream" if reading else "application/json, text/event-stream"}
    headers[MCP_PROTOCOL_VERSION_HEADER] = HANDSHAKE_PROTOCOL_VERSIONS[-1]
    body = None if reading else {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with (
        _client(flow, launch.headers) as client,
        client.stream("GET" if reading else "POST", launch.url, json=body, headers=headers, auth=flow) as response,
    ):
        grant = flow.granted()
    if grant is None:
        raise SignInError(f"it asks for no sign-in (HTTP {response.status_code})")
    if response.status_code == 401:
        raise SignInError("it refuses the token that its authorization server gave")
    return grant


async def renewal(grant: Grant) -> Grant:
    """Returns the grant with a new token, or without a token if the authorization server refuses it. Raises SignInError if it does not
    answer."""
    if grant.token is None or grant.token.refresh_token is None:
        return grant.refused("the token has ended")
    flow = _Flow(grant.url, "http://127.0.0.1")
    try:
        async with _client(flow, {}) as client:
            response = await client.send(await flow.renewal_request(grant))
        if response.status_code == 200:
            return grant.with_token(OAuthToken.model_validate_json(response.content))
    except (OAuthFlowError, ValidationError, httpx2.HTTPError, TooLargeError) as error:
        raise SignInError(f"the authorization server gave no new token: {_told(error)}") from None
    if response.status_code in {400, 401, 403}:
        return grant.refused(f"the authorization server refused to renew the token: {_reason(response)}")
    raise SignInError(f"the authorization server gave no new token: HTTP {response.status_code}")


def revoke(grant: Grant) -> None:
    """Tells the authorization server that the tokens of a grant are not used any more (RFC 7009). Errors are ignored."""
    if grant.metadata.revocation_endpoint is None or grant.token is None:
        return
    flow, endpoint = _Flow(grant.url, "http://127.0.0.1"), str(grant.metadata.revocation_endpoint)
    flow.context.oauth_metadata, flow.context.client_info = grant.metadata, grant.client
    hint = "refresh_token" if grant.token.refresh_token else "access_token"
    form = {"token": getattr(grant.token, hint), "token_type_hint": hint, "client_id": grant.client.client_id}

    async def revoked() -> None:
        data, headers = flow.context.prepare_token_auth(form, {})
        async with _client(flow, {}) as client:
            answer = await client.post(endpoint, data=data, headers=headers)
            if answer.status_code == 400:  # the SDK's own servers want a secret even of a client without one
                await client.post(endpoint, data={"client_secret": "", **data}, headers=headers)

    with suppress(OAuthFlowError, SignInError, httpx2.HTTPError, TooLargeError):
        asyncio.run(revoked())


def check_address(address: str, server_url: str) -> None:
    """Raises SignInError unless an address is https, or on this machine like the server itself.

    >>> check_address("https://login.example/authorize", "https://mcp.example/mcp")
    >>> check_address("http://127.0.0.1:9/token", "http://localhost:8/mcp")
    >>> for address in ("http://login.example/token", "https://127.0.0.1/token", "javascript:alert(1)"):
    ...     try:
    ...         check_address(address, "https://mcp.example/mcp")
    ...     except SignInError as error:
    ...         print(error)
    the address http://login.example/token is not https
    the address https://127.0.0.1/token is on this machine, but the server is not
    the address javascript:alert(1) is not https
    """
    scheme, loopback = urlsplit(address).scheme, _is_loopback(address)
    safe_address = one_line(address.partition("?")[0], MOST_CHARS)
    if scheme != "https" and not (scheme == "http" and loopback):
        raise SignInError(f"the address {safe_address} is not https")
    if loopback and not _is_loopback(server_url):
        raise SignInError(f"the address {safe_address} is on this machine, but the server is not")


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _client(flow: _Flow, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """Returns a client that sends only requests that the flow allows, follows no redirect, and reads bounded documents."""
    limit = AnswerLimit(MOST_BYTES)

    async def bound(response: httpx2.Response) -> None:
        path = response.request.url.path
        model = ProtectedResourceMetadata if "/oauth-protected-resource" in path else OAuthMetadata
        Body(response, limit, partial(_metadata, model) if "/.well-known/" in path else unchanged)

    hooks: dict[str, list[Any]] = {"request": [flow.check], "response": [bound]}
    return httpx2.AsyncClient(
        headers={"Accept-Encoding": PLAIN, **headers}, timeout=TIMEOUT_S, event_hooks=hooks, follow_redirects=False
    )


async def _metadata(model: type[BaseModel], text: bytes) -> bytes:
    with suppress(ValueError, RecursionError):
        return json.dumps(usable(json.loads(text), model)).encode()
    return text


def usable(document: Any, model: type[BaseModel]) -> Any:
    """Returns a metadata document without unusable optional members. Issuers lose their final slash, because
    both spellings occur.

    >>> usable({"resource": "https://a.example/mcp", "authorization_servers": ["https://b.example/"], "jwks_uri": 7}, ProtectedResourceMetadata)
    {'resource': 'https://a.example/mcp', 'authorization_servers': ['https://b.example']}
    """
    if not isinstance(document, dict):
        return document
    fields = cast("dict[str, Any]", document)
    if isinstance(issuer := fields.get("issuer"), str):
        fields["issuer"] = issuer.rstrip("/")
    if isinstance(issuers := fields.get("authorization_servers"), list):
        fields["authorization_servers"] = [str(uri).rstrip("/") for uri in cast("list[Any]", issuers)]
    try:
        model.model_validate(fields)
    except ValidationError as error:
        bad = {fault["loc"][0] for fault in error.errors()}
        return {key: value for key, value in fields.items() if key not in bad or model.model_fields[key].is_required()}
    return fields


def _reason(response: httpx2.Response) -> str:
    try:
        document: Any = response.json()
    except ValueError:
        document = None
    fields = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    texts = [str(fields[name]) for name in ("error", "error_description") if fields.get(name)]
    return one_line(": ".join(texts) or f"HTTP {response.status_code}", MOST_CHARS)


def _told(error: Exception) -> str:
    if isinstance(error, TooLargeError):
        return f"a document of the authorization server has more than {MOST_BYTES // 1024} kB"
    return one_line(said(error), MOST_CHARS)
