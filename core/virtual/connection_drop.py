"""Losing the connection of one HTTP request, as a server does that dies after it accepted a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
DROP = "wayfare.drop"
STARTED = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}


def dropping(app: App) -> App:
    """The app with an event `DROP` in each request's scope; where it is set, the connection ends without a response."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        drop = scope[DROP] = anyio.Event()
        started = False

        async def watched(message: Scope) -> None:
            nonlocal started
            started = True
            await send(message)

        async with anyio.create_task_group() as tasks:

            async def simulated_result() -> None:
                await app(scope, receive, watched)
                tasks.cancel_scope.cancel()

            tasks.start_soon(simulated_result)
            await drop.wait()
            tasks.cancel_scope.cancel()
        if drop.is_set() and not started:
            await send(STARTED)  # a response that never ends: the web server closes the connection
        return None

    return wrapped
