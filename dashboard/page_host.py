"""The page host's answers: it knows fewer addresses than it would answer, and its documents ask for the library of the charts early."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import file_util

from dashboard.ui.chart import PLOTLY_URL

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
