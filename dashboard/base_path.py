"""The console below a path, as a reverse proxy shows it beside other services: https://tools.example.com/wayfare/.

A proxy may pass the path on or take it off. The own addresses of this machine work with and without it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.gateway.http_app import BASE_PATH

_COOKIE_PATH = re.compile(rb"(; *path=)(?=/)", re.IGNORECASE)


@dataclass(frozen=True)
class BasePath:
    """An ASGI app that takes the path of `public_url` off requests, and puts it before the redirects and the cookies of answers. What is
    asked under the public host has its scheme, whether the proxy is trusted or not."""

    app: ASGIApp
    public_url: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or redirect the path alone to the first page: links of pages are relative."""
        served, public = self.app, urlsplit(self.public_url)
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
                served = RedirectResponse(f"/?{scope['query_string'].decode('latin-1')}".removesuffix("?"), 308)
        await served(scope, receive, send)


def _below(base: bytes, send: Send) -> Send:
    """Returns `send` for answers whose redirects and cookies are below a path."""

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
