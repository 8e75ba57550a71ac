"""`/mcp` over an app of this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from core.app import App
from core.gateway.entrance import Entrance
from core.gateway.http_app import PATH, EndpointApp, status_routes
from core.gateway.uses import Uses


@contextmanager
def served(app: App, catalog: str, entrance: Entrance | None = None, uses: Uses | None = None) -> Generator[str]:
    """Serves `/mcp` over an app on a free port of this machine, in a thread. Yields its address."""
    endpoint = EndpointApp(lambda: app, catalog=catalog, entrance=entrance, uses=uses)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with endpoint.running():
            yield

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the console does
        routes = [*endpoint.metadata_routes(), *status_routes(endpoint, lambda: app, catalog)]
        asgi = Starlette(routes=[Route(PATH, endpoint), *routes], lifespan=lifespan)
        config = uvicorn.Config(asgi, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listener]}, name="wayfare-endpoint", daemon=True
        )
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)
