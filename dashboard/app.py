"""The console as one ASGI app: the pages, their fast lane, `/mcp` for agents, `/door` for commands, `/healthz`, `/readyz` and
`/metrics` for machines, the library of the charts, and its life cycle."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import streamlit as st
from starlette.background import BackgroundTask
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.cli.command_door import CommandDoor
from core.domain.console import PATH as DOOR_PATH
from core.domain.errors import StoreError, WayfareError
from core.domain.settings import launched
from core.domain.untrusted_text import one_line
from core.gateway.entrance import PATH, Uses
from core.gateway.http_app import EndpointApp, callback_route, status_routes
from dashboard import page_host, session
from dashboard.lane import PATH as LANE_PATH
from dashboard.lane import lanes
from dashboard.sign_in import SIGNING, BasePath, SignInGate
from dashboard.ui.chart import PLOTLY, PLOTLY_URL

PAGES = frozenset(view.parent.name for view in Path(__file__).parent.glob("pages/*/view.py"))
"""The addresses of the pages, which are the names of their folders."""


def is_known(path: str) -> bool:
    """Tells whether an address is a page, a route of the page host or one of its files.

    >>> [is_known(path) for path in ("/", "/govern", "/govern/", "/favicon.png", "/_stcore/health", "/sse", "/govern/x", "/static/no.js")]
    [True, True, True, True, True, False, False, False]
    """
    name = path.rstrip("/")[1:]
    return not name or name in PAGES or page_host.has_address(path)


def unknown(path: str) -> JSONResponse:
    """Returns the answer at an unknown address, for clients that look for an OAuth server. The page host would answer with its
    page and status 200."""
    description = f"There is nothing at {path[:200]!r}. Agents connect to /mcp; Wayfare has no OAuth server, its operator makes tokens."
    return JSONResponse({"error": "not_found", "error_description": description}, status_code=404)


def _preloads() -> str:
    """Returns the Link header with the files that every view needs: the library of the charts, and scripts of the page host."""
    links = [f"<.{PLOTLY_URL}>; rel=preload; as=script"]
    links += [f"<./static/js/{name}>; rel=modulepreload; crossorigin" for name in page_host.scripts_of_every_view()]
    return ", ".join(f"{link}; fetchpriority=low" for link in links)


@dataclass(frozen=True)
class Preload:
    """Adds preloads to every document, so that the browser fetches scripts while the page is made."""

    app: ASGIApp
    links: str = field(default_factory=_preloads)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with a Link header if the answer is a document."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("Link", self.links)
            await send(message)

        await self.app(scope, receive, sent if scope["type"] == "http" else send)


_log = logging.getLogger(__name__)
HERE = Path(__file__).parent
IDLE_LOOK_S = 0.5
STARTED = uuid4().hex  # of this process
FIRST_PAGE = "dashboard.pages.route.view"  # imported while the first visitor is on the way


async def plotly(_: Request) -> Response:
    """Serve the library of the charts. Its address has its version, so a browser asks once."""
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable",
        "Content-Encoding": "identity",  # compressing 1.5 MB would delay the first page by more than it saves
    }
    return Response(PLOTLY.read_bytes(), media_type="text/javascript", headers=headers)


async def waiting(_: Request) -> Response:
    """Tell the number of calls that wait for a person, and the newest call without its arguments."""
    app = session.opened_app()
    calls = () if app is None else await asyncio.to_thread(app.governance.waiting)
    words = f"{len(calls)} call{'s' * (len(calls) != 1)} wait{'s' * (len(calls) == 1)} for you"
    newest = calls[-1].change if calls else None
    text = "" if newest is None else one_line(f"{newest.client} wants to call {newest.server}::{newest.tool}", 200)
    document = {
        "started": STARTED,
        "waiting": len(calls),
        "words": words,
        "number": "" if newest is None else newest.id,
        "text": text,
    }
    return JSONResponse(document, headers={"Cache-Control": "no-store"})


async def export(request: Request) -> Response:
    """Serve a table of the log as a file, or a sentence about the error. The file is on the disk before it is sent."""
    folder = TemporaryDirectory(prefix="wayfare-")
    name = f"wayfare-{request.path_params['table']}.{request.path_params['format']}"
    path = Path(folder.name) / name

    def made() -> None:
        with path.open("wb") as file:
            session.current_app().store.activity.write(
                request.path_params["table"], request.path_params["format"], file
            )

    try:
        await asyncio.to_thread(made)
    except (WayfareError, OSError) as error:
        folder.cleanup()
        return PlainTextResponse(f"{name} could not be made. {error}", 500)
    return FileResponse(
        path, filename=name, background=BackgroundTask(folder.cleanup), headers={"Cache-Control": "no-store"}
    )


async def to_default_page(request: Request) -> Response:
    """Redirect /route with its query to the empty address of the default page."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"./{query}")


async def _write_counts() -> None:
    """Write the counts of repeated refusals while nothing else happens."""
    admission = await asyncio.to_thread(import_module, "core.governance.admission")
    while True:
        await asyncio.sleep(admission.AGAIN.total_seconds())
        if (console := session.opened_app()) is not None:
            with suppress(StoreError):  # the next writer gets the error
                console.governance.refused.write_due()


async def _end_when_idle() -> None:
    uses.begin()
    while not session.ends_when_idle(uses.idle_s):
        await asyncio.sleep(IDLE_LOOK_S)


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Prepare for the first visitor. Commit and release everything at the end."""
    session.open_store()
    session.warm_up()
    threading.Thread(target=import_module, args=(FIRST_PAGE,), name="wayfare-page", daemon=True).start()
    try:
        async with endpoint.running():
            tasks = [asyncio.create_task(_write_counts()), asyncio.create_task(_end_when_idle())]
            try:
                with session.announcement(door.key):
                    yield
            finally:
                for task in tasks:
                    task.cancel()
    finally:
        session.close_app()


# The page host puts this folder on sys.path for each run of a page and removes it afterwards, which breaks imports of other threads
# meanwhile. If the folder is on the path already, the host does not change it.
sys.path.append(str(HERE))
page_host.load_config()
page_host.leave_packages_alone()
uses = Uses()
door = CommandDoor(session.current_app, uses)
endpoint = EndpointApp(session.current_app, catalog=session.first_catalog(), other_names=launched().hosts, uses=uses)
routes = [
    *status_routes(endpoint, session.opened_app, session.first_catalog()), *endpoint.metadata_routes(),
    Route(LANE_PATH, lanes.serve, methods=["POST"]), Route(DOOR_PATH, door.serve, methods=["GET", "POST", "PUT", "DELETE"]),
    Route(PLOTLY_URL, plotly), Route("/route", to_default_page), Route("/waiting", waiting), Route("/export/{table}.{format}", export), callback_route(session.opened_app),
]  # fmt: skip
pages = st.App(
    HERE / "main.py",
    lifespan=lifespan,
    middleware=[
        Middleware(
            SignInGate, needed=lambda: launched().sign_in, app=session.current_app, other_names=launched().hosts
        ),
        Middleware(Preload),
    ],
    routes=routes,
)


async def _served(scope: Scope, receive: Receive, send: Send) -> None:
    """Pass requests of agents straight to the endpoint, because the page host (compression, cookies) would add 2 ms to each."""
    target = pages
    if scope["type"] == "http" and scope["path"] == PATH:
        target = endpoint
    elif scope["type"] == "http" and not _is_known(scope):
        target = unknown(scope["path"])
    page = scope["type"] == "websocket" and scope["path"] == page_host.STREAM
    try:
        with uses.use("page", "open pages") if page else nullcontext():
            await target(scope, receive, send)
    except ClientDisconnect:  # the client has gone, so no client is left to answer
        _log.debug("A client left before its request was read.")


app = BasePath(_served, launched().public_url)


def _is_known(scope: Scope) -> bool:
    """Tells whether the address of a request is known. The page host redirects addresses with a final slash."""
    path = scope["path"]
    signing = launched().sign_in and path in SIGNING
    own_route = any(route.matches(scope)[0] is not Match.NONE for route in routes)
    return signing or own_route or path == f"{PATH}/" or is_known(path)
