"""The library of the charts is fetched while a page is put together, not after its first chart has arrived."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.ui.chart import PLOTLY_URL


class PreloadCharts:
    """Tells the browser with every document that it will need the library of the charts."""

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
