"""`/oauth/callback`: where an authorization server sends the operator's browser after a sign-in to an upstream server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from core.services.decide.server_sign_ins import CALLBACK

if TYPE_CHECKING:
    from core.app import App

MOST_CHARS = 4_096
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
}
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>Wayfare</title><body style="font: 1.1rem/1.5 system-ui, sans-serif; margin: 20vh auto; max-width: 28rem; padding: 0 1rem">
<h1 style="font-size: 1.4rem">{title}</h1><p>{text}</p></body></html>"""
TAKEN = PAGE.format(
    title="You can close this window", text="Wayfare has the answer. Its Catalog page shows the result."
)
UNKNOWN = PAGE.format(
    title="No sign-in waits for this", text="It has ended, or was begun again. Begin it on Wayfare's Catalog page."
)


def callback_route(app: Callable[[], App | None]) -> Route:
    """Returns the route; `app` returns the app if it is open. Only an answer with the `state` of a sign-in that waits is taken, once."""

    async def callback(request: Request) -> Response:
        given, opened = dict(request.query_params), app()
        if not given:
            return HTMLResponse(TAKEN, 200, HEADERS)
        small = len(request.url.query) <= MOST_CHARS
        if opened is None or not small or not await anyio.to_thread.run_sync(opened.sign_ins.answered, given):
            return HTMLResponse(UNKNOWN, 400, HEADERS)
        return RedirectResponse(CALLBACK, 303, HEADERS)  # the code stays in no history

    return Route(CALLBACK, callback)
