"""Ready means loaded."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.app import App
from core.catalogs.upkeep import Readiness
from core.gateway.http_app import EndpointApp, status_routes
from tests.gateway.serving import asgi


def test_a_catalog_is_ready_when_the_rest_is_loaded(world: App) -> None:
    begun, loaded = threading.Event(), threading.Event()

    def load(_: str) -> None:
        begun.set()
        assert loaded.wait(30)

    readiness = Readiness(world.catalogs, world.encoders[0], world.background, words_after_s=0, load_rest=load)
    job = readiness.begin("world")
    assert begun.wait(30)
    assert (readiness.is_ready("world"), world.catalogs.is_ready("world")) == (False, True)
    loaded.set()
    assert job is not None
    assert job.wait(30)
    assert readiness.is_ready("world")


def test_a_console_that_cannot_store_is_not_ready_and_says_why() -> None:
    opened: Any = SimpleNamespace(store=SimpleNamespace(problem="The disk is full."))
    routes = status_routes(EndpointApp(lambda: opened), lambda: opened, "world")
    with TestClient(Starlette(routes=routes), base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as http:
        answer = http.get("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"catalog": "world", "status": "not storing", "why": "The disk is full."}


def test_an_endpoint_that_cannot_be_made_answers_and_leaves_the_others_alone() -> None:
    def broken() -> App:
        raise ImportError("cannot import name 'Server' from partially initialized module")

    with TestClient(asgi(broken), base_url="http://localhost", client=("127.0.0.1", 5)) as http:
        assert [http.post("/mcp", json={}).status_code for _ in range(2)] == [503, 503]
        assert http.get("/healthz").status_code == 200
