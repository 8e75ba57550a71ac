"""`/mcp` on the console's port: streamable HTTP for both eras of the protocol, and its access rules.

By default only this machine may connect, under one of its own names. The operator may add host names. A page of another
site whose name resolves to this machine (DNS rebinding) has a foreign Host; a page that posts from elsewhere has a
foreign Origin: both are refused. A request under an added name needs a client's token, and so does every request if the
policy says so. The refusal says where the metadata of RFC 9728 are.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from core.catalogs.server_sign_ins import CALLBACK
from core.domain.errors import InsufficientScopeError, WayfareError
from core.domain.settings import FIRST_CATALOG
from core.gateway.entrance import (
    COOKIE,
    ENDING,
    PATH,
    TOO_MANY,
    AccessTokens,
    Asgi,
    Entrance,
    Uses,
    own_address,
    stranger,
)

if TYPE_CHECKING:
    from core.app import App
    from core.gateway.base import PartRequest
    from core.gateway.base import Request as AgentRequest
    from core.gateway.changes import Changes
    from core.governance.clients import Client
    from core.governance.governance import GovernanceService

METADATA_PATH = "/.well-known/oauth-protected-resource"
_log = logging.getLogger(__name__)
CLIENT = "wayfare.client"  # key in the scope of a request: the client of its token
INVALID_REQUEST = -32600
"""A code of JSON-RPC."""
SESSION_IDLE_S = 86_400.0
"""A session of a client lasts longer than its sessions with servers."""
SESSION_ID = "mcp-session-id"
METRICS_FOR_ALL = (
    "/metrics names every catalog, server and client: send the token of a client whose scope is everything."
)
R = TypeVar("R", bound="AgentRequest | PartRequest")
T = TypeVar("T")


class EndpointApp:
    """An ASGI app for the route `/mcp`. It loads the protocol's packages at the first request.

    `app` returns the services, `catalog` is the default of clients whose address names none, `other_names` are further
    hosts, `uses` counts the requests of each client, `entrance` bounds waiting requests.
    """

    def __init__(
        self,
        app: Callable[[], App],
        *,
        catalog: str = FIRST_CATALOG,
        other_names: frozenset[str] = frozenset(),
        uses: Uses | None = None,
        entrance: Entrance | None = None,
    ):
        self.entrance = Entrance() if entrance is None else entrance
        self._uses = Uses() if uses is None else uses
        self._app = app
        self._catalog = catalog
        self.other_names = other_names
        self._wanted, self._ready = anyio.Event(), anyio.Event()
        self._served: Mapping[str, Asgi] | None = None
        self._governance: GovernanceService | None = None
        self._access_tokens: AccessTokens | None = None
        self._verifying = anyio.CapacityLimiter(4)  # an issuer that does not answer keeps no other thread
        self._changes: Changes | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests are served at once. The first access opens the endpoint."""
        self._wanted.set()
        return self._ready.is_set()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # httptools leaves blanks after a value (RFC 9110, 5.5), and the SDK compares values
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        if refusal := await self.refused(scope):
            return await refusal(scope, receive, send)
        if self._served is None:
            return await JSONResponse({"status": "the store cannot be opened"}, status_code=503)(scope, receive, send)
        query = QueryParams(scope.get("query_string", b""))
        handler = self._served["mirror" if "mirror" in query else query.get("mode", "")]
        try:
            sender = await self._known(scope, send)
            await self.entrance.serve(handler, scope, receive, sender, scope.get(CLIENT, ""), self._note_busy)
        except ClientDisconnect:
            _log.debug("A client left before its request was read.")

    def _note_busy(self, client: str, wait_s: int) -> None:
        if self._governance is not None:
            self._governance.admission.note_busy(client, wait_s)

    async def refused(self, scope: Scope) -> JSONResponse | None:
        """Returns the refusal of a request, or None if it may enter; its scope has the client then."""
        if reason := stranger(scope, self.other_names):
            return _error(403, reason)
        self._wanted.set()
        await self._ready.wait()
        status, kind = 401, "invalid_token"
        try:
            problem = await self._unauthorized(scope)
        except WayfareError as error:
            problem = str(error)
            if isinstance(error, InsufficientScopeError):
                status, kind = 403, "insufficient_scope"
        if problem:
            return _error(status, problem, headers={"WWW-Authenticate": _challenge(scope, problem, kind)})
        return self._too_many(scope)

    def _too_many(self, scope: Scope) -> JSONResponse | None:
        """Returns the refusal of a client above its request rate: an error of this request, so that its session goes on."""
        if self._governance is None or CLIENT not in scope:
            return None
        wait_s = math.ceil(self._governance.admission.http_wait_s(scope[CLIENT]))
        if not wait_s:
            return None
        message = f"Too many requests of this client: go on in {wait_s} s."
        return _error(429, message, TOO_MANY, {"Retry-After": str(wait_s)}, data={"error": "rate_limited"})

    async def _known(self, scope: Scope, send: Send) -> Send:
        """Returns `send`, with a cookie for a client without token, cookie and session. Ends the sessions of a client that leaves."""
        from core.gateway.server import NEW_ID, session_key

        request, scope[NEW_ID] = HttpRequest(scope), secrets.token_urlsafe(16)
        ids = [id_ for id_ in (request.cookies.get(COOKIE), request.headers.get(SESSION_ID)) if id_]
        if request.method == "DELETE" and self._changes is not None:
            await self._changes.left(request.headers.get(SESSION_ID, ""))
            if len(ids) == 1:  # with both, one of several sessions ends
                self._app().pool.forget(session_key(ids[0]))
        if ids or CLIENT in scope:
            return send

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and SESSION_ID not in Headers(raw=message["headers"]):
                cookie = f"{COOKIE}={scope[NEW_ID]}; Path={PATH}; HttpOnly; SameSite=Strict"
                message["headers"] = [*message["headers"], (b"set-cookie", cookie.encode())]
            await send(message)

        return sent

    def metadata_routes(self) -> list[Route]:
        return [Route(METADATA_PATH, self._metadata), Route(METADATA_PATH + PATH, self._metadata)]

    async def _metadata(self, request: HttpRequest) -> JSONResponse:
        """Returns the RFC 9728 metadata: tokens go in the header. Without an authorization server the operator makes them."""
        if reason := stranger(request.scope, self.other_names):
            return JSONResponse({"error": reason}, status_code=403)
        document = {
            "resource": f"{own_address(request.scope)}{PATH}",
            "resource_name": "Wayfare",
            "bearer_methods_supported": ["header"],
        }
        self._wanted.set()
        await self._ready.wait()
        if self._access_tokens is not None:
            oidc = self._access_tokens.oidc
            document |= {"authorization_servers": [oidc.issuer], "scopes_supported": [oidc.mcp_scope]}
        return JSONResponse(document)

    async def _unauthorized(self, scope: Scope) -> str:
        """Returns why a request needs a token or another token, or "" if it may go on; its scope has the client then. Raises
        WayfareError for an invalid access token."""
        headers, governance = Headers(scope=scope), self._governance
        if governance is None:
            return ""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            client = await self._client_of(governance, token.strip()) if scheme.lower() == "bearer" else None
            if client is None:
                return "The token is unknown or was revoked; the operator makes one on the page Govern."
            scope[CLIENT] = client.name
            return ""
        if headers.get("host", "").lower() in self.other_names or governance.policy.tokens == "always":
            return "This endpoint needs a token: send Authorization: Bearer with the token from the operator."
        return ""

    async def _client_of(self, governance: GovernanceService, token: str) -> Client | None:
        if self._access_tokens is None or token.count(".") != 2:
            return governance.clients.of_token(token)
        name = await anyio.to_thread.run_sync(self._access_tokens.client, token, limiter=self._verifying)
        return governance.clients.seen(name)

    async def _serve(self) -> None:
        await self._wanted.wait()
        try:
            managers, changes = await anyio.to_thread.run_sync(self._made)
        except WayfareError:  # the console's pages show the error
            self._ready.set()
            return
        except Exception:  # noqa: BLE001  requests get an answer in any case, and the console goes on
            _log.exception("the endpoint cannot be served")
            self._ready.set()
            return
        async with AsyncExitStack() as running:
            for manager in managers.values():
                await running.enter_async_context(manager.run())
            handlers = {kind: manager.handle_request for kind, manager in managers.items()}
            self._served, self._changes = defaultdict(lambda: handlers[""], handlers), changes
            self._ready.set()
            await changes.watch()

    def _made(self) -> tuple[Mapping[str, Any], Changes]:
        """Returns the session managers of Wayfare's own tools ("" and attention) and of mirrors, and the notifier of changes."""
        app = self._app()
        app.pool.get()  # it imports the protocol's packages, possibly in another thread right now
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from core.gateway.attending import INSTRUCTIONS
        from core.gateway.base import ATTENTION_MODE, EndpointOptions, Services
        from core.gateway.changes import Changes
        from core.gateway.endpoint import Endpoint
        from core.gateway.server import Context, mcp_server

        def options_of(context: Context) -> EndpointOptions:
            request: HttpRequest | None = context.request
            pairs = [] if request is None else request.query_params.multi_items()
            return EndpointOptions.of_pairs(pairs, catalog=self._catalog)

        def client_of(context: Context) -> str:
            request: HttpRequest | None = context.request
            return "" if request is None else request.scope.get(CLIENT, "")

        self._governance, oidc = app.governance, app.settings.oidc
        self._access_tokens = AccessTokens(oidc) if oidc is not None and oidc.audience else None
        endpoint = Endpoint(Services(app))
        changes = Changes(app, endpoint, self._uses)
        call, listing, part = self._counted(endpoint.call), self._counted(endpoint.listed), self._counted(endpoint.part)
        make = partial(mcp_server, call, options_of, client_of, listing=listing, part=part, changes=changes)
        manager = partial(StreamableHTTPSessionManager, session_idle_timeout=SESSION_IDLE_S)
        servers = {"": make(), ATTENTION_MODE: make(instructions=INSTRUCTIONS), "mirror": make(mirror=True)}
        return {kind: manager(server) for kind, server in servers.items()}, changes

    def _counted(self, answer: Callable[[R], Awaitable[T]]) -> Callable[[R], Awaitable[T]]:
        """Returns `answer` with each request counted as a use of its client. It raises MCPError if the console ends."""
        from mcp import MCPError

        async def answered(request: R) -> T:
            if self._uses.ending:
                raise MCPError(ENDING, "The console ends; nothing was done. Send the request again to the next one.")
            with self._uses.use("agent", request.client):
                return await answer(request)

        return answered


def _error(
    status: int, message: str, code: int = INVALID_REQUEST, headers: dict[str, str] | None = None, **more: object
) -> JSONResponse:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, **more}}
    return JSONResponse(body, status_code=status, headers=headers)


def _challenge(scope: Scope, problem: str, error: str) -> str:
    """Returns the WWW-Authenticate header (RFC 6750). A missing token or another scheme is no error."""
    challenge = f'Bearer resource_metadata="{own_address(scope)}{METADATA_PATH}{PATH}"'
    if Headers(scope=scope).get("authorization", "").partition(" ")[0].lower() != "bearer":
        return challenge
    return f'{challenge}, error="{error}", error_description="{problem}"'


# `/healthz`, `/readyz`, and `/metrics` for Prometheus on the console's port, with the access rules of `/mcp`.


async def _readiness(endpoint: EndpointApp, app: App | None, catalog: str) -> dict[str, str | float]:
    is_open = endpoint.is_open  # asked first: it has the protocol's packages loaded
    if app is None:
        return {"status": "starting"}
    if problem := app.store.problem:
        return {"status": "not storing", "why": problem}
    ready = is_open and await anyio.to_thread.run_sync(app.readiness.is_ready, catalog)
    load = await anyio.to_thread.run_sync(app.health_now, endpoint.entrance.waiting)
    return {"status": "ready" if ready else "starting", **{name: value for name, (value, _) in load.items()}}


def status_routes(endpoint: EndpointApp, app: Callable[[], App | None], catalog: str) -> list[Route]:
    async def healthz(request: Request) -> Response:
        if reason := stranger(request.scope, endpoint.other_names):
            return JSONResponse({"status": reason}, status_code=403)
        return JSONResponse({"status": "ok"})

    async def readyz(request: Request) -> Response:
        """Answers 200 once all that a first search needs is open, embedded and loaded."""
        if reason := stranger(request.scope, endpoint.other_names):
            return JSONResponse({"status": reason}, status_code=403)
        document = await _readiness(endpoint, app(), catalog)
        return JSONResponse({"catalog": catalog, **document}, status_code=200 if document["status"] == "ready" else 503)

    async def metrics(request: Request) -> Response:
        """Returns totals of the log and the current state of governance."""
        if refusal := await endpoint.refused(request.scope):
            return refusal
        from core.governance.status import CONTENT_TYPE, Metrics

        services = app()
        if services is None:
            return JSONResponse({"status": "starting"}, status_code=503)
        if not services.governance.admission.sees_all(request.scope.get(CLIENT, "")):
            return _error(403, METRICS_FOR_ALL)
        load = await anyio.to_thread.run_sync(services.health_now, endpoint.entrance.waiting)
        page = Metrics(services.store, services.governance, services.pool.states, services.settings.now, load)
        return Response(await anyio.to_thread.run_sync(page.text), media_type=CONTENT_TYPE)

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]


# `/oauth/callback`: where an authorization server sends the operator's browser after a sign-in to an upstream server.

MOST_CALLBACK_CHARS = 4_096
CALLBACK_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
}
CALLBACK_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>Wayfare</title><body style="font: 1.1rem/1.5 system-ui, sans-serif; margin: 20vh auto; max-width: 28rem; padding: 0 1rem">
<h1 style="font-size: 1.4rem">{title}</h1><p>{text}</p></body></html>"""
TAKEN = CALLBACK_PAGE.format(
    title="You can close this window", text="Wayfare has the answer. Its Catalog page shows the result."
)
AGAIN = "wayfare_again"
ASK_AGAIN = (
    '<!doctype html><meta http-equiv="refresh" content="0;url=?{0}"><title>Wayfare</title><a href="?{0}">Go on</a>'
)
UNKNOWN = CALLBACK_PAGE.format(
    title="No sign-in waits for this", text="It has ended, or was begun again. Begin it on Wayfare's Catalog page."
)


def callback_route(app: Callable[[], App | None]) -> Route:
    """Returns the route; `app` returns the app if it is open. Only an answer with the `state` of a sign-in that waits is taken, once."""

    async def callback(request: Request) -> Response:
        query, services = dict(request.query_params), app()
        if not query:
            return HTMLResponse(TAKEN, 200, CALLBACK_HEADERS)
        if services is None or len(request.url.query) > MOST_CALLBACK_CHARS:
            return HTMLResponse(UNKNOWN, 400, CALLBACK_HEADERS)
        people = services.governance.sign_ins
        by = people.operator(request.cookies.get(people.cookie, ""))
        if not by and AGAIN not in query and services.sign_ins.wants(query.get("state", "")):
            # the strict cookie comes with a request of a page of ours
            return HTMLResponse(ASK_AGAIN.format(escape(f"{request.url.query}&{AGAIN}=1")), 200, CALLBACK_HEADERS)
        if not await anyio.to_thread.run_sync(services.sign_ins.answered, query, by):
            return HTMLResponse(UNKNOWN, 400, CALLBACK_HEADERS)
        return RedirectResponse(CALLBACK, 303, CALLBACK_HEADERS)  # the code stays in no history

    return Route(CALLBACK, callback)
