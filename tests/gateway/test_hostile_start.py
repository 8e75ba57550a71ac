"""The first request, whatever happens at the same time: it is answered, and the console goes on."""

from __future__ import annotations

from typing import Any

import anyio

from core.app import App
from core.gateway.http_app import PATH, EndpointApp


def test_an_endpoint_that_cannot_be_made_answers_and_leaves_the_others_alone() -> None:
    def broken() -> App:
        raise ImportError("cannot import name 'Server' from partially initialized module")

    async def script() -> list[int]:
        endpoint = EndpointApp(broken)
        async with endpoint.running():
            with anyio.fail_after(10):
                return [await status(endpoint), await status(endpoint)]

    assert anyio.run(script) == [503, 503]


async def status(endpoint: EndpointApp) -> int:
    """How a request is answered."""
    sent = list[Any]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": PATH, "query_string": b"", "headers": [(b"host", b"localhost:80")],
             "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80), "scheme": "http"}  # fmt: skip
    await endpoint(scope, receive, send)
    return sent[0]["status"]
