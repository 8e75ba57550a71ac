"""The console as one ASGI app: the pages, their fast lane, `/mcp` for agents, `/door` for commands, `/healthz`, `/readyz` and
`/metrics` for machines, the library of the charts, and its life cycle."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import threading
import tomllib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config, file_util
from streamlit.runtime.pages_manager import PagesManager

from core.cli.joining import PATH as DOOR_PATH
from core.cli.joining import CommandDoor
from core.endpoint.http_app import PATH, EndpointApp, status_routes
from core.shared.errors import StoreError
from dashboard import session
from dashboard.lane import PATH as LANE_PATH
from dashboard.lane import lanes
from dashboard.sign_in import OPERATOR, SIGN_IN, SIGN_OUT, SignInGate
from dashboard.ui.chart import PLOTLY_URL, plotly_js

PAGES = frozenset(view.parent.name for view in Path(__file__).parent.glob("pages/*/view.py"))
"""The addresses of the pages: each is named as its folder."""
_OWN = re.compile(
    r"/(_stcore/(health|metrics|host-config|stream|(upload_file|bidi-components|agent)/.+)|(media|component)/.+"
    r"|auth/(login|logout)|oauth2callback)"
)
"""The page host's own addresses, but for its files."""
_FOLDER = Path(file_util.get_static_dir())
_FILES = frozenset(f"/{file.relative_to(_FOLDER).as_posix()}" for file in _FOLDER.rglob("*") if file.is_file())


def is_known(path: str) -> bool:
    """Whether a page, a route of the page host or one of its files is at an address.

    >>> [is_known(path) for path in ("/", "/govern", "/govern/", "/favicon.png", "/_stcore/health", "/sse", "/govern/x", "/static/no.js")]
    [True, True, True, True, True, False, False, False]
    """
    name = path.rstrip("/")[1:]
    return not name or name in PAGES or _OWN.fullmatch(path) is not None or path in _FILES


def unknown(path: str) -> JSONResponse:
    """The answer at an unknown address, as a client reads it that looks for an OAuth server. The page host itself would answer its
    page, with status 200: it leaves it to the browser to say that there is no such page."""
    said = f"There is nothing at {path[:200]!r}. Agents connect to /mcp; Wayfare has no OAuth server, its operator makes tokens."
    return JSONResponse({"error": "not_found", "error_description": said}, status_code=404)


class PreloadCharts:
    """Tells the browser with every document that it will need the library of the charts: it is fetched while a page is put together,
    not after its first chart has arrived."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with a Link header where the answer is a document."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("Link", f"<{PLOTLY_URL}>; rel=preload; as=script")
            await send(message)

        await self._app(scope, receive, sent if scope["type"] == "http" else send)


_log = logging.getLogger(__name__)
HERE = Path(__file__).parent
FIRST_PAGE = "dashboard.pages.route.view"  # imported while the first visitor is on the way
CONFIG = HERE.parent / ".streamlit" / "config.toml"


def _options(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _options(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def load_config() -> None:
    """Apply our .streamlit/config.toml from whatever directory the console is started in."""
    if CONFIG.is_file():
        flags = dict(_options(tomllib.loads(CONFIG.read_text(encoding="utf-8"))))
        config.get_config_options(force_reparse=True, options_from_flags=flags)


async def plotly(_: Request) -> Response:
    """The library of the charts; its address has its version, so a browser asks once."""
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable",
        "Content-Encoding": "identity",  # compressing 5 MB would delay the first page by more than it saves
    }
    return Response(plotly_js(), media_type="text/javascript", headers=headers)


async def turned(request: Request) -> Response:
    """What a page shows under the values of a knob that is being turned."""
    own = {request.headers.get("host", "").lower()} if OPERATOR in request.scope else set[str]()
    return await lanes.serve(request, session.endpoint_hosts() | own)


async def to_default_page(request: Request) -> Response:
    """Route is the default page, whose address is empty: who types /route gets there, with the query."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"./{query}")


async def _write_counts() -> None:
    """Have refusals that clients repeated written while nothing else happens."""
    admission = await asyncio.to_thread(import_module, "core.services.govern.admission")
    while True:
        await asyncio.sleep(admission.AGAIN.total_seconds())
        if (opened := session.opened_app()) is not None:
            with suppress(StoreError):  # it is said where it matters: to who writes next
                opened.governance.refused.write_due()


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Get ready while the first visitor is on the way; commit and release everything after the last."""
    session.open_store()
    session.warm_up()
    threading.Thread(target=import_module, args=(FIRST_PAGE,), name="wayfare-page", daemon=True).start()
    try:
        async with endpoint.running():
            counting = asyncio.create_task(_write_counts())
            try:
                with session.announcement(door.key):
                    yield
            finally:
                counting.cancel()
    finally:
        session.close_app()


# The page host puts this folder at the front of the path of imports for each run of a page and takes it off again: whatever another
# thread imports or looks up meanwhile may not be found. Where it is on the path already, the host leaves the path alone.
sys.path.append(str(HERE))
load_config()
PagesManager.uses_pages_directory = False  # dashboard/pages has folders of code, not the host's scripts
door = CommandDoor(session.current_app)
endpoint = EndpointApp(session.current_app, catalog=session.first_catalog(), other_names=session.endpoint_hosts())
routes = [
    *status_routes(endpoint, session.opened_app, session.first_catalog()),
    *endpoint.metadata_routes(),
    Route(LANE_PATH, turned, methods=["POST"]),
    Route(DOOR_PATH, door.serve, methods=["POST"]),
    Route(PLOTLY_URL, plotly),
    Route("/route", to_default_page),
]
pages = st.App(
    HERE / "main.py",
    lifespan=lifespan,
    middleware=[
        Middleware(
            SignInGate, needed=session.sign_in_needed, app=session.current_app, other_names=session.endpoint_hosts()
        ),
        Middleware(PreloadCharts),
    ],
    routes=routes,
)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Requests of agents go straight to the endpoint: what the page host does for browsers (compression, cookies) takes 2 ms of each."""
    served = pages
    if scope["type"] == "http" and scope["path"] == PATH:
        served = endpoint
    elif scope["type"] == "http" and not _is_known(scope):
        served = unknown(scope["path"])
    try:
        await served(scope, receive, send)
    except ClientDisconnect:  # no fault of ours, and nobody is left to be answered
        _log.debug("A client left before its request was read.")


def _is_known(scope: Scope) -> bool:
    """Whether there is something at the address of a request; with a slash at its end the page host leads to it."""
    path = scope["path"]
    signing = session.sign_in_needed() and path in {SIGN_IN, SIGN_OUT}
    own = any(route.matches(scope)[0] is not Match.NONE for route in routes)
    return signing or own or path == f"{PATH}/" or is_known(path)
