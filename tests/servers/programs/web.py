"""A streamable HTTP server: `web.py PORT [legacy|sse|json|zip]`. The legacy one speaks only the stateful protocol; `json` answers
with bodies in place of streams of events, `zip` says of its answers that they are compressed."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import mcp_types
import uvicorn
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("web", version="9")
calls = 0


@server.tool()
async def count() -> int:
    """How often it was called since the start."""
    global calls  # noqa: PLW0603
    calls += 1
    return calls


@server.tool()
async def pid() -> int:
    """The process id."""
    return os.getpid()


@server.tool()
async def steps(number: int, ctx: Context) -> str:
    """Reports progress."""
    for step in range(1, number + 1):
        await ctx.report_progress(step, number)
    return "done"


@server.tool()
async def crash() -> str:
    """Ends the process."""
    os._exit(3)


@server.tool()
async def large(size: int) -> str:
    """A large text."""
    return "x" * size


@server.tool()
async def header(ctx: Context, name: str) -> str:
    """A header of the request."""
    return dict(ctx.headers or {}).get(name, "")


@server.resource("page://home")
async def home() -> str:
    """A page."""
    return "home"


@server.tool()
async def touch(ctx: Context) -> str:
    """Says that the page changed."""
    await ctx.notify_resource_updated("page://home")
    return "touched"


@server.tool()
async def grow(ctx: Context) -> str:
    """Adds a tool, and says so."""
    server.add_tool(pid, name="grown")
    await ctx.notify_tools_changed()
    return "grown"


def refusing(app: Any, secret: str, legacy: bool) -> Any:
    """The app behind a check of its token, and deaf to the modern protocol's first request if it is to be legacy."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        if secret and dict(scope["headers"]).get(b"authorization") != f"Bearer {secret}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            return await send({"type": "http.response.body", "body": b"no"})
        if "zip" in sys.argv and "/mcp" in scope["path"]:
            send = zipped(send)
        message = await receive()
        body = message.get("body", b"")
        if legacy and b"server/discover" in body:
            request_id = json.loads(body)["id"]
            error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32601, "message": "Method not found"}}
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 404, "headers": headers})
            return await send({"type": "http.response.body", "body": json.dumps(error).encode()})
        first = [message]

        async def replay() -> Any:
            return first.pop() if first else await receive()

        return await app(scope, replay, send)

    return wrapped


def zipped(send: Any) -> Any:
    """Says of each answer that it is compressed."""

    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"content-encoding", b"gzip")]}
        await send(message)

    return sent


async def subscribed(*_: Any) -> mcp_types.EmptyResult:
    """Agrees to tell of changes of the older page, of which there are none."""
    return mcp_types.EmptyResult()


def older() -> None:
    """Adds a page that clients of the older protocol can subscribe to."""
    server.resource("page://older")(home)
    for method in ("resources/subscribe", "resources/unsubscribe"):
        server._lowlevel_server.add_request_handler(method, mcp_types.SubscribeRequestParams, subscribed)


def main() -> None:
    """Serve until the process is ended."""
    if "legacy" in sys.argv:
        older()
    app = server.sse_app() if "sse" in sys.argv else server.streamable_http_app(json_response="json" in sys.argv)
    wrapped = refusing(app, os.environ.get("TOKEN", ""), legacy="legacy" in sys.argv)
    uvicorn.run(wrapped, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")


if __name__ == "__main__":
    main()
