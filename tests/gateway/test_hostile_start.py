"""The first request is answered although the endpoint cannot be made, and the console goes on."""

from __future__ import annotations

from starlette.testclient import TestClient

from core.app import App
from tests.gateway.serving import asgi


def test_an_endpoint_that_cannot_be_made_answers_and_leaves_the_others_alone() -> None:
    def broken() -> App:
        raise ImportError("cannot import name 'Server' from partially initialized module")

    with TestClient(asgi(broken), base_url="http://localhost", client=("127.0.0.1", 5)) as http:
        assert [http.post("/mcp", json={}).status_code for _ in range(2)] == [503, 503]
        assert http.get("/healthz").status_code == 200
