"""What machines ask of the console's port: `/healthz`, `/readyz`, and `/metrics` for Prometheus; guarded as `/mcp` is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from core.endpoint.http_app import EndpointApp, stranger

if TYPE_CHECKING:
    from core.app import App


def status_routes(endpoint: EndpointApp, app: Callable[[], App | None], catalog: str) -> list[Route]:
    """The routes; `app` gives the app where it is open already."""

    async def healthz(request: Request) -> Response:
        """200 as soon as pages can be served."""
        if reason := stranger(request.scope, endpoint.other_names):
            return JSONResponse({"status": reason}, status_code=403)
        return JSONResponse({"status": "ok"})

    async def readyz(request: Request) -> Response:
        """200 once a decision is made at once: nothing is left to be opened or embedded."""
        if reason := stranger(request.scope, endpoint.other_names):
            return JSONResponse({"status": reason}, status_code=403)
        opened = app()
        if opened is not None and await anyio.to_thread.run_sync(opened.is_ready, catalog):
            return JSONResponse({"status": "ready", "catalog": catalog})
        return JSONResponse({"status": "starting", "catalog": catalog}, status_code=503)

    async def metrics(request: Request) -> Response:
        """Totals of the log and governance as it is now."""
        if refused := await endpoint.refused(request.scope):
            return refused
        from core.services.metrics import CONTENT_TYPE, Metrics

        opened = app()
        if opened is None:
            return JSONResponse({"status": "starting"}, status_code=503)
        page = Metrics(opened.store, opened.governance, opened.pool.states, opened.settings.now)
        return Response(await anyio.to_thread.run_sync(page.text), media_type=CONTENT_TYPE)

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics)]
