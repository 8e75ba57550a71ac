"""What no client should send: every request is answered, none with a 500, none with a traceback in the log."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from core.app import App
from core.cli.command_door import CommandDoor
from core.domain.console import PATH as DOOR_PATH
from core.gateway.entrance import PATH, Uses
from core.gateway.http_app import EndpointApp, status_routes
from core.routers.ehrr import EhrrParameters
from core.routers.presets import DEFAULT_PRESET, applied
from dashboard.lane import PATH as LANE_PATH
from dashboard.lane import FastLanes
from tests.gateway.fuzzed_requests import Fuzzed, fuzzed
from tests.importing import import_text
from tests.world import document

NUMBER, LIMIT_S = 210, 20.0
LANE = "a lane"


def test_fuzzed_requests(app: App, caplog: pytest.LogCaptureFixture) -> None:
    import_text(app.catalog_editor, document(), "world")
    endpoint, door, lanes = EndpointApp(lambda: app, catalog="world"), CommandDoor(lambda: app, Uses()), FastLanes()
    lanes.open(LANE, {"decision": lambda values: {"taken": str(applied(EhrrParameters, DEFAULT_PRESET, values))}})
    routes = [
        *status_routes(endpoint, lambda: app, "world"),
        Route(PATH, endpoint),
        *endpoint.metadata_routes(),
        Route(LANE_PATH, lanes.serve, methods=["POST"]),
        Route(DOOR_PATH, door.serve, methods=["POST"]),
    ]
    console = Starlette(routes=routes)

    async def script() -> list[str]:
        async with endpoint.running():
            answers = [
                (request, await answered(console, request))
                for request in fuzzed(14, NUMBER, door_key=door.key, lane=LANE)
            ]
        return [
            f"{status}: {request.line} -> {body[:300]!r}"
            for request, (status, body) in answers
            if (status >= 500 and request.path != "/readyz") or b"Traceback" in body or b"internal_error" in body
        ]

    with caplog.at_level(logging.ERROR):
        assert anyio.run(script) == []
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def answered(console: Starlette, request: Fuzzed) -> tuple[int, bytes]:
    """Status and body of the answer; a stream that goes on is left by its reader. A request that hangs fails the test."""
    sent, parts, streams = list[int](), list[bytes](), anyio.Event()
    bodies = [request.body]

    async def receive() -> dict[str, Any]:
        if bodies:
            return {"type": "http.request", "body": bodies.pop()}
        await streams.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            sent.append(message["status"])
            if b"text/event-stream" in dict(message["headers"]).get(b"content-type", b"") and request.method == "GET":
                streams.set()
        else:
            parts.append(message.get("body", b""))

    scope = {
        "type": "http", "http_version": "1.1", "method": request.method, "path": request.path, "raw_path": request.path.encode(),
        "root_path": "", "scheme": "http", "query_string": request.query, "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 8501),
        "headers": [(b"host", b"127.0.0.1:8501"), (b"content-length", str(len(request.body)).encode()), *request.headers],
    }  # fmt: skip
    with anyio.fail_after(LIMIT_S):
        try:
            await console(scope, receive, send)
        except Exception as error:  # noqa: BLE001  what leaves the app is a 500 for who asked
            return 500, repr(error).encode()
    return sent[0], b"".join(parts)
