"""`/mcp` over an app of this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any, Literal

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from core.app import App
from core.gateway.entrance import PATH
from core.gateway.http_app import EndpointApp, status_routes


def asgi(app: Callable[[], App], catalog: str = "world", **options: Any) -> Starlette:
    """The routes of the endpoint; `options` go to `EndpointApp`."""
    endpoint = EndpointApp(app, catalog=catalog, **options)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with endpoint.running():
            yield

    routes = [Route(PATH, endpoint), *endpoint.metadata_routes(), *status_routes(endpoint, app, catalog)]
    return Starlette(routes=routes, lifespan=lifespan)


@contextmanager
def listening(app: ASGIApp, lifespan: Literal["on", "off"] = "off") -> Generator[str]:
    """Serves an ASGI app on a free port of this machine, in a thread. Yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the console does
        config = uvicorn.Config(
            app, log_level="critical", access_log=False, lifespan=lifespan, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)


def served(app: App, catalog: str, **options: Any) -> AbstractContextManager[str]:
    """Serves `/mcp` over an app."""
    return listening(asgi(lambda: app, catalog, **options), "on")
