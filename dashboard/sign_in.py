"""The layer before the pages: the path of a reverse proxy, and the sign-in of people, over HTTP and websockets.

A console below a path, https://tools.example.com/wayfare/: a proxy may pass the path on or take it off. The addresses of this machine
work with and without it. The addresses of `OPEN` guard themselves: they need a token, a key or the `state` of a sign-in, or a request of
this machine. All other addresses need a person who has signed in, with a token or at the identity provider (OpenID Connect by Authlib, the
code flow with state, nonce and PKCE; its state is in a signed cookie). The rights of a person are checked at each action
(`core.domain.people`).
"""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, partial
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.catalogs.server_sign_ins import CALLBACK
from core.domain.console import PATH as DOOR
from core.domain.errors import WayfareError
from core.domain.people import act_for
from core.domain.settings import Oidc
from core.domain.untrusted_text import one_line
from core.gateway.entrance import ALGORITHMS, BASE_PATH, foreign_origin, own_address, stranger
from core.gateway.entrance import PATH as MCP
from core.gateway.http_app import METADATA_PATH
from core.governance.clients import LASTS, SignIns
from dashboard.lane import read_body

if TYPE_CHECKING:
    from core.app import App

SIGN_IN, SIGN_OUT, PROVIDER, CAME_BACK = "/sign-in", "/sign-out", "/sign-in-provider", "/sign-in-answer"
SIGNING = frozenset({SIGN_IN, SIGN_OUT, PROVIDER, CAME_BACK})
READ = ("GET", "HEAD")
OPEN = {
    DOOR: ("GET", "POST", "PUT", "DELETE"),
    **dict.fromkeys((METADATA_PATH, METADATA_PATH + MCP, "/healthz", "/readyz", "/metrics", CALLBACK), READ),
}
OPERATOR = "wayfare.operator"  # the key of the signed-in operator in the scope of a request
MOST_BYTES = 8_192
ASSETS = Path(__file__).parent / "assets"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "same-origin",  # without it a browser sends forms from the origin "null"
}
WRONG = "This token does not sign in: it is not for the pages, or it was revoked."
ON = '<!doctype html><meta http-equiv="refresh" content="0;url=.{0}"><title>Wayfare</title><a href=".{0}">Go on</a>'


@dataclass(frozen=True)
class SignInGate:
    """The outermost ASGI middleware. `needed` tells whether this console needs sign-in, `app` returns the services. Without sign-in,
    pages answer only under the names of this machine or `other_names`; otherwise a page of another site could use the console
    through DNS rebinding."""

    served: ASGIApp
    _: KW_ONLY
    needed: Callable[[], bool]
    app: Callable[[], App]
    other_names: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or _is_open(scope) or OPERATOR in scope:
            await self.served(scope, receive, send)
        elif not self.needed():
            if reason := stranger(scope, self.other_names):
                await _refuse(scope, receive, send, reason, 403)
            else:
                await self.served(scope, receive, send)
        elif foreign_origin(Headers(scope=scope)) is not None:
            await _refuse(scope, receive, send, "Pages of other sites may not use this console.", 403)
        else:
            try:
                app = await anyio.to_thread.run_sync(self.app)
            except WayfareError as error:
                await _refuse(scope, receive, send, str(error), 503)
            else:
                await self._guarded(app.governance.sign_ins, app.settings.oidc, scope, receive, send)

    async def _guarded(self, sign_ins: SignIns, oidc: Oidc | None, scope: Scope, receive: Receive, send: Send) -> None:
        cookie = HTTPConnection(scope).cookies.get(sign_ins.cookie, "")
        person = sign_ins.person(cookie)
        if scope["path"] in SIGNING and scope["type"] == "http":
            handler = partial(_signing, sign_ins, oidc if oidc is not None and oidc.client_id else None)
            # holds the state of a sign-in at the provider; the cookie is lax, because the provider leads the browser back
            with_session = SessionMiddleware(
                handler, sign_ins.key, f"{sign_ins.cookie}_state", max_age=600, same_site="lax"
            )
            await with_session(scope, receive, send)
        elif not person.name:
            await _refuse(scope, receive, send, "Sign in first.", 401)
        else:
            scope[OPERATOR] = person.name
            if scope["type"] == "websocket":
                receive, send = _while_signed_in(sign_ins, cookie, receive, send)
            act_for(person)
            await self.served(scope, receive, send)


def _while_signed_in(sign_ins: SignIns, cookie: str, receive: Receive, send: Send) -> tuple[Receive, Send]:
    """Returns the channels of a websocket that ends with its sign-in session."""

    async def received() -> Message:
        message = await receive()
        return message if sign_ins.operator(cookie) else {"type": "websocket.disconnect", "code": 1008}

    async def sent(message: Message) -> None:
        if message["type"] != "websocket.send" or sign_ins.operator(cookie):
            await send(message)

    return received, sent


async def _signing(sign_ins: SignIns, oidc: Oidc | None, scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    at_provider = oidc if scope["path"] in {PROVIDER, CAME_BACK} else None
    answer = await (
        _answer(sign_ins, oidc, request) if at_provider is None else _provided(sign_ins, at_provider, request)
    )
    await answer(scope, receive, send)


async def _provided(sign_ins: SignIns, oidc: Oidc, request: Request) -> Response:
    try:
        if request.url.path.endswith(PROVIDER):
            target, callback = (
                _inside(request.query_params.get("next", "")),
                f"{own_address(request.scope)}{CAME_BACK}",
            )
            return await leave(oidc, request, callback, target)
        claims, target = await came_back(oidc, request)
        cookie = await anyio.to_thread.run_sync(sign_ins.begin_with_claims, claims)
    except WayfareError as error:
        return _page("/", oidc, str(error), 401)
    # the browser goes on from our page, because after a redirect of the provider it would not send the strict cookie
    return _kept(HTMLResponse(ON.format(escape(_inside(target))), 200, HEADERS), sign_ins, cookie, request)


def _kept(answer: Response, sign_ins: SignIns, cookie: str, request: Request) -> Response:
    answer.set_cookie(
        sign_ins.cookie, cookie, max_age=int(LASTS.total_seconds()), httponly=True, samesite="strict",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return answer


async def _answer(sign_ins: SignIns, oidc: Oidc | None, request: Request) -> Response:
    if request.url.path == SIGN_OUT:
        at_provider = sign_ins.end(request.cookies.get(sign_ins.cookie, ""))
        url = await signed_out_at(oidc, f"{own_address(request.scope)}{SIGN_IN}") if at_provider and oidc else ""
        response = RedirectResponse(url or SIGN_IN, 303, HEADERS)
        response.delete_cookie(sign_ins.cookie, httponly=True, samesite="strict")
        return response
    if request.method != "POST":
        target = _inside(request.query_params.get("next", ""))
        operator = sign_ins.operator(request.cookies.get(sign_ins.cookie, ""))
        return RedirectResponse(target, 303, HEADERS) if operator else _page(target, oidc)
    try:
        body = await read_body(request, MOST_BYTES)
    except HTTPException:
        return _page("/", oidc, "That is too long for a token.", 413)
    fields = parse_qs(body.decode(errors="replace"))
    token, target = fields.get("token", [""])[0].strip(), _inside(fields.get("next", [""])[0])
    address = request.client.host if request.client is not None else ""
    attempt = await anyio.to_thread.run_sync(sign_ins.begin, token, address)
    if attempt.wait_s:
        page = _page(
            target,
            oidc,
            f"Too many wrong tokens from your address. A right one signs in at once; try others in {attempt.wait_s} s.",
            429,
        )
        page.headers["Retry-After"] = str(attempt.wait_s)
        return page
    if not attempt.cookie:
        return _page(target, oidc, WRONG, 401)
    return _kept(RedirectResponse(target, 303, HEADERS), sign_ins, attempt.cookie, request)


def _page(target: str, oidc: Oidc | None, problem: str = "", status: int = 200) -> HTMLResponse:
    mark = base64.b64encode((ASSETS / "wayfare.png").read_bytes()).decode()
    notice = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    text = Template((ASSETS / "sign_in.html").read_text(encoding="utf-8"))
    at_provider = ""
    if oidc is not None:
        host = escape(urlsplit(oidc.issuer).netloc)
        at_provider = f'<a class="provider" href=".{PROVIDER}?next={quote(target, safe="")}">Sign in with {host}</a><p>Or with a token:</p>'
    document = text.substitute(mark=mark, problem=notice, next=escape(target), provider=at_provider)
    return HTMLResponse(document, status, HEADERS)


async def _refuse(scope: Scope, receive: Receive, send: Send, reason: str, status: int) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
        return
    answer: Response = JSONResponse({"error": reason}, status, HEADERS)
    if status == 401 and scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", ""):
        query = scope["query_string"].decode(errors="replace")
        target = scope["path"] + (f"?{query}" if query else "")
        answer = RedirectResponse(f"{SIGN_IN}?next={quote(target, safe='')}", 303, HEADERS)
    await answer(scope, receive, send)


def _is_open(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in OPEN.get(scope["path"], ())


def _inside(target: str) -> str:
    r"""Returns the target after signing in, an address of this console.

    >>> _inside("/govern?view=Clients"), _inside("//evil.example"), _inside("/\\evil.example"), _inside("https://evil.example")
    ('/govern?view=Clients', '/', '/', '/')
    """
    safe = target.startswith("/") and target[1:2] not in {"/", "\\"} and target.isprintable()
    return target if safe else "/"


TIMEOUT_S, LEEWAY_S = 10.0, 30
NEXT = "next"
_log = logging.getLogger(__name__)


@lru_cache(maxsize=4)
def _client(oidc: Oidc) -> Any:
    """Returns Authlib's client of a provider, which keeps the metadata and keys that it has read."""
    from authlib.integrations.starlette_client import OAuth

    public = {} if oidc.client_secret else {"token_endpoint_auth_method": "none"}
    kwargs = {"scope": oidc.scopes, "code_challenge_method": "S256", "timeout": TIMEOUT_S, **public}
    return OAuth().register(
        "wayfare", client_id=oidc.client_id, client_secret=oidc.client_secret or None, server_metadata_url=oidc.metadata_url,
        client_kwargs=kwargs,
    )  # fmt: skip


async def leave(oidc: Oidc, request: Request, callback: str, target: str) -> Response:
    from httpx2 import HTTPError

    try:
        request.session[NEXT] = target
        return await _client(oidc).authorize_redirect(request, callback)
    except (HTTPError, ValueError, KeyError, RuntimeError) as error:
        raise WayfareError(f"The identity provider cannot be reached: {type(error).__name__}.") from None


async def came_back(oidc: Oidc, request: Request) -> tuple[Mapping[str, Any], str]:
    """Returns the verified claims of the person, and the target. Raises WayfareError."""
    from authlib.common.errors import AuthlibBaseError
    from httpx2 import HTTPError
    from joserfc.errors import JoseError

    client, algorithms = _client(oidc), "id_token_signing_alg_values_supported"
    claims = {
        name: {"essential": True, "value": value} for name, value in (("iss", oidc.issuer), ("aud", oidc.client_id))
    }
    try:
        metadata = await client.load_server_metadata()
        metadata[algorithms] = [algorithm for algorithm in metadata.get(algorithms, ()) if algorithm in ALGORITHMS]
        token = await client.authorize_access_token(request, claims_options=claims, leeway=LEEWAY_S)
        return token["userinfo"], request.session.pop(NEXT, "/")
    except (AuthlibBaseError, JoseError, HTTPError, ValueError, KeyError, RuntimeError) as error:
        _log.warning("a sign-in at the identity provider failed: %s", one_line(str(error), 300))
        raise WayfareError(f"The identity provider did not sign you in ({type(error).__name__}).") from None


async def signed_out_at(oidc: Oidc, back: str) -> str:
    """Returns the address at which the provider ends its own session (RP-Initiated Logout 1.0), "" if it has none or cannot be reached. It
    has the client's id in place of the ID token, which is personal and would stay in logs."""
    from httpx2 import HTTPError

    try:
        end_url = (await _client(oidc).load_server_metadata()).get("end_session_endpoint", "")
    except (HTTPError, ValueError, KeyError, RuntimeError):
        return ""
    query = urlencode({"client_id": oidc.client_id, "post_logout_redirect_uri": back})
    return f"{end_url}{'&' if '?' in end_url else '?'}{query}" if end_url else ""


_COOKIE_PATH = re.compile(rb"(; *path=)(?=/)", re.IGNORECASE)


@dataclass(frozen=True)
class BasePath:
    """An ASGI app that takes the path of `public_url` off requests, and puts it before the redirects and the cookies of answers. Requests
    to the public host have its scheme, whether the proxy is trusted or not."""

    app: ASGIApp
    public_url: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        target, public = self.app, urlsplit(self.public_url)
        if self.public_url and scope["type"] in {"http", "websocket"}:
            base, scope = public.path, dict(scope)
            is_public = Headers(scope=scope).get("host", "").lower() == public.netloc
            is_below = bool(base) and f"{scope['path']}/".startswith(f"{base}/")
            if is_public:
                scope["scheme"] = public.scheme if scope["type"] == "http" else public.scheme.replace("http", "ws")
            if is_below:
                scope["path"] = scope["path"].removeprefix(base)
            if is_public or is_below:
                scope[BASE_PATH], send = base, _below(base.encode(), send)
            if not scope["path"]:
                target = RedirectResponse(f"/?{scope['query_string'].decode('latin-1')}".removesuffix("?"), 308)
        await target(scope, receive, send)


def _below(base: bytes, send: Send) -> Send:
    def moved(name: bytes, value: bytes) -> bytes:
        if name == b"location" and value.startswith(b"/") and not value.startswith(b"//"):
            return base + value
        return _COOKIE_PATH.sub(rb"\1" + base, value) if name == b"set-cookie" else value

    async def sent(message: Message) -> None:
        if "headers" in message:
            headers = [(name, moved(name.lower(), value)) for name, value in message["headers"]]
            message = {**message, "headers": headers}
        await send(message)

    return sent
