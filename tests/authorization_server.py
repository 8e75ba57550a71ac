"""An MCP server over HTTP that wants a sign-in, and its authorization server, each on a port of its own, in threads.

It speaks RFC 9728 and 8414 (metadata), 7591 (registration), 7636 (PKCE), 8707 (resources), 9207 (`iss`) and 7009 (revocation).
Tests change its behaviour through attributes, and read the requests.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

PROTECTED = "/.well-known/oauth-protected-resource/mcp"
METADATA = "/.well-known/oauth-authorization-server"


@dataclass
class Guarded:
    """Both servers. `lifetime_s` is that of a token; `person` agrees or not; `challenge` is the header of a 401, "" for none.

    `metadata` and `protected` replace members of the documents. `refuses_renewal` and `down` are what the token endpoint does; it wants
    the `secret` of a client, if there is one, in the way of `method`. Calls of tools want the scope `calls_want`.
    """

    lifetime_s: int = 3600
    person: bool = True
    challenge: str = "resource_metadata"
    refuses_renewal: bool = False
    down: bool = False
    moved: bool = False
    secret: str = ""
    method: str = "client_secret_basic"
    calls_want: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    protected: dict[str, Any] = field(default_factory=dict[str, Any])
    asked: Counter[str] = field(default_factory=Counter[str])
    tokens: dict[str, float] = field(default_factory=dict[str, float])
    scopes: dict[str, str] = field(default_factory=dict[str, str])
    """The scopes of each token."""
    refresh_tokens: dict[str, str] = field(default_factory=dict[str, str])
    used: list[str] = field(default_factory=list[str])
    """Refresh tokens that came a second time: a leak, or two renewals at once."""
    seen: list[str] = field(default_factory=list[str])
    """The Authorization headers that the MCP server got."""
    stolen: list[str] = field(default_factory=list[str])
    """Requests at the redirect target of a `moved` MCP server."""

    def __post_init__(self) -> None:
        self.issuer = self.url = ""
        self._clients: dict[str, list[str]] = {}
        self._codes: dict[str, dict[str, str]] = {}

    def visit(self, address: str) -> str:
        """A browser at the sign-in page: the person answers. Returns the redirect's URL."""
        answer = httpx2.get(address, follow_redirects=False)
        assert answer.status_code == 302, answer.text
        return answer.headers["location"]

    def register(self, client: str, redirect_uri: str, secret: str, method: str) -> None:
        """The operator registers a client; dynamic registration ends."""
        self._clients[client] = [redirect_uri]
        self.secret, self.method = secret, method
        self.metadata = {"registration_endpoint": None, "token_endpoint_auth_methods_supported": [method]}

    def end_tokens(self) -> None:
        """All access tokens have ended, as if they were revoked."""
        self.tokens.clear()

    # The authorization server

    def app(self) -> Starlette:
        """Its routes."""
        return Starlette(
            routes=[
                Route(METADATA, self._metadata),
                Route("/register", self._register, methods=["POST"]),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/revoke", self._revoke, methods=["POST"]),
                Route("/mcp", self._stolen, methods=["POST"]),
            ]
        )

    async def _metadata(self, _: Request) -> Response:
        document = {
            "issuer": self.issuer,
            **{f"{name}_endpoint": f"{self.issuer}/{path}" for name, path in ENDPOINTS.items()},
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return JSONResponse({**document, **self.metadata})

    async def _register(self, request: Request) -> Response:
        self.asked["register"] += 1
        metadata = await request.json()
        client = f"client-{len(self._clients)}"
        self._clients[client] = metadata["redirect_uris"]
        return JSONResponse({**metadata, "client_id": client}, 201)

    async def _authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        problems = [
            query.get("redirect_uri") not in self._clients.get(query.get("client_id", ""), ()),
            query.get("code_challenge_method") != "S256",
            query.get("resource") != self.url,
        ]
        if any(problems):
            return JSONResponse({"error": "invalid_request", "problems": problems}, 400)
        answer = {"state": query["state"], "iss": self.issuer}
        if self.person:
            answer["code"] = secrets.token_urlsafe(8)
            self._codes[answer["code"]] = query
        else:
            answer |= {"error": "access_denied", "error_description": "The person said no."}
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(answer)}", 302)

    async def _token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        self.asked[form["grant_type"]] += 1
        if self.down:
            return JSONResponse({}, 503)
        if form.get("resource") != self.url:
            return JSONResponse({"error": "invalid_target"}, 400)
        if self.secret and not self._proved(request, form):
            return JSONResponse({"error": "invalid_client"}, 401)
        query = dict[str, str]()
        if form["grant_type"] == "refresh_token":
            time.sleep(0.05)  # two renewals at once would meet here
            client = self.refresh_tokens.pop(form["refresh_token"], None)
            if client is None:
                self.used.append(form["refresh_token"])
            if client != form["client_id"] or self.refuses_renewal:
                return JSONResponse({"error": "invalid_grant", "error_description": "It was used already."}, 400)
        else:
            query = self._codes.pop(form["code"], {})
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            right = base64.urlsafe_b64encode(digest).decode().rstrip("=") == query.get("code_challenge")
            if not right or query["redirect_uri"] != form["redirect_uri"]:
                return JSONResponse({"error": "invalid_grant"}, 400)
        token, renewal = f"access-{secrets.token_urlsafe(12)}", f"renewal-{secrets.token_urlsafe(12)}"
        self.tokens[token] = time.time() + self.lifetime_s
        self.refresh_tokens[renewal] = form["client_id"]
        self.scopes[token] = query.get("scope", "")
        answer = {
            "access_token": token,
            "token_type": "bearer",
            "expires_in": self.lifetime_s,
            "refresh_token": renewal,
        }
        return JSONResponse(answer, headers={"Cache-Control": "no-store"})

    def _proved(self, request: Request, form: dict[str, str]) -> bool:
        """Whether a client proves its secret by `method` alone."""
        header, expected = request.headers.get("authorization", ""), f"{form.get('client_id')}:{self.secret}".encode()
        by_header = header == f"Basic {base64.b64encode(expected).decode()}"
        ways = {"client_secret_basic": by_header, "client_secret_post": form.get("client_secret") == self.secret}
        return [way for way, proved in ways.items() if proved] == [self.method]

    async def _revoke(self, request: Request) -> Response:
        self.asked["revoke"] += 1
        form = dict(parse_qsl((await request.body()).decode()))
        self.refresh_tokens.pop(form["token"], None)
        return Response()

    async def _stolen(self, request: Request) -> Response:
        self.stolen.append(request.headers.get("authorization", ""))
        return Response(status_code=400)

    # The MCP server

    def guarded(self, served: ASGIApp) -> ASGIApp:
        """`served`, for requests with a token."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await served(scope, receive, send)
            elif scope["path"] == PROTECTED:
                resource = {"resource": self.url, "authorization_servers": [self.issuer]}
                await JSONResponse({**resource, **self.protected})(scope, receive, send)
            elif self.moved:
                await RedirectResponse(f"{self.issuer}/mcp", 307)(scope, receive, send)
            else:
                header = Request(scope).headers.get("authorization", "")
                self.seen.append(header)
                token = header.removeprefix("Bearer ")
                if self.tokens.get(token, 0) > time.time():
                    calls = Request(scope).headers.get("mcp-method") == "tools/call"
                    if calls and not set(self.calls_want.split()) <= set(self.scopes.get(token, "").split()):
                        lack = f'Bearer error="insufficient_scope", scope="{self.calls_want}"'
                        await JSONResponse({}, 403, {"WWW-Authenticate": lack})(scope, receive, send)
                        return
                    await served(scope, receive, send)
                    return
                url = urlsplit(self.url)
                challenge = f'Bearer resource_metadata="{url.scheme}://{url.netloc}{PROTECTED}"'
                headers = {"WWW-Authenticate": challenge} if self.challenge else {}
                await JSONResponse({"error": "unauthorized"}, 401, headers)(scope, receive, send)

        return app


ENDPOINTS = {"authorization": "authorize", "token": "token", "registration": "register", "revocation": "revoke"}


def counter() -> MCPServer:
    """The MCP server behind the guard."""
    server = MCPServer("tickets", version="1")

    @server.tool()
    async def count(step: int = 1) -> str:
        """Count tickets."""
        return f"{step} tickets"

    return server


@contextmanager
def guarded_server(**behaviour: Any) -> Iterator[Guarded]:
    """Both servers, until the end of the block."""
    guarded = Guarded(**behaviour)
    mcp = counter().streamable_http_app()
    with _served(guarded.app()) as guarded.issuer, _served(guarded.guarded(mcp)) as address:
        guarded.url = f"{address}/mcp"
        yield guarded


@contextmanager
def _served(app: ASGIApp) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
