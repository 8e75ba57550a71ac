"""Signing in to the pages: without it no route of the console gives anything of the store, with it all of them answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from core.app import App
from core.catalogs.server_sign_ins import CALLBACK
from core.gateway.http_app import TAKEN
from core.governance.policy import Scope
from dashboard.app import app as whole
from dashboard.app import pages as console
from dashboard.lane import PATH as LANE
from dashboard.sign_in import OPEN, READ, SIGN_IN, SIGN_OUT, SignInGate
from tests.cases import each
from tests.dashboard.harness import app_with

SMALL = {
    "servers": [{"name": "secret-server", "description": "Files.", "tools": [{"name": "read", "price_usd": 0.001}]}]
}
HOST = "http://10.0.0.1:8501"
app = app_with({"small": SMALL})


def client(app: App, **options: Any) -> TestClient:
    """Another machine, before the console with all its routes."""
    gate = SignInGate(console, needed=lambda: True, app=lambda: app)
    return TestClient(gate, HOST, client=("10.0.0.9", 5), follow_redirects=False, **options)


@pytest.fixture
def token(app: App) -> str:
    return app.governance.clients.make("ops", Scope(pages=True), origin="test")


@pytest.fixture
def signed_in(app: App, token: str) -> TestClient:
    visitor = client(app)
    answer = visitor.post(SIGN_IN, data={"token": token, "next": "/govern?view=Clients"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/govern?view=Clients")
    return visitor


def routes(base_routes: Iterator[BaseRoute] | list[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Kind and path of every route, with example values for path parameters."""
    for route in base_routes:
        if isinstance(route, Mount):
            yield "http", f"{route.path}/x.js"
            yield from ((kind, route.path + path) for kind, path in routes(list(route.routes or [])))
        elif isinstance(route, Route | WebSocketRoute):
            path = "".join(part.split("}")[-1] if "}" in part else part for part in route.path.split("{"))
            yield "websocket" if isinstance(route, WebSocketRoute) else "http", path


def every_route() -> list[tuple[str, str]]:
    TestClient(console).get("/route")  # builds the routes
    return sorted({("http", "/"), ("http", "/govern"), *routes(console._starlette_app.routes)})


def test_no_route_gives_anything_to_who_has_not_signed_in(app: App, token: str) -> None:
    app.catalogs.prepare("small")
    stranger, all_routes = client(app), every_route()
    assert {("http", "/metrics"), ("http", LANE), ("websocket", "/_stcore/stream")} <= set(all_routes)
    for kind, path in all_routes:
        if kind == "websocket":
            with pytest.raises(WebSocketDisconnect), stranger.websocket_connect(path):
                pass
            continue
        for method in ("GET", "HEAD", "POST", *(("PUT", "DELETE", "OPTIONS") if path in {"/", LANE} else ())):
            answer = stranger.request(method, path, headers={"Accept": "text/html"})
            expected = {401, 403, 405} | ({303} if method == "GET" and path not in OPEN else set())
            if path == CALLBACK and method in READ:
                assert answer.text in {TAKEN, ""}  # it says nothing of this console; what it takes needs a `state`
                continue
            assert answer.status_code in expected, (method, path)
            assert "secret-server" not in answer.text
            assert not answer.headers.get("set-cookie")
    endpoint = TestClient(whole, HOST, client=("10.0.0.9", 5))  # ahead of the gate, it asks by itself
    for method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"):
        assert endpoint.request(method, "/mcp").status_code == 403


def test_what_guards_itself_is_all_that_passes(app: App) -> None:
    reached: list[str] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    visitor = TestClient(SignInGate(inner, needed=lambda: True, app=lambda: app), HOST)
    for path in [*OPEN, "/mcp", "/mcp/", "//mcp", "/mcp/../govern", "/MCP", "/healthz/x", "/_stcore/health", "/turn"]:
        visitor.get(path)
    assert sorted(reached) == sorted(OPEN)


def test_with_a_cookie_pages_lane_and_assets_answer(signed_in: TestClient) -> None:
    assert signed_in.get("/").status_code == 200
    assert signed_in.get(SIGN_IN, params={"next": "/govern"}).headers["location"] == "/govern"
    assert signed_in.get("/_stcore/host-config").status_code == 200
    response = signed_in.post(LANE, json={"token": "x", "kind": "x", "values": {}})
    assert (response.status_code, "Reload it" in response.text) == (404, True)  # a lane of another visitor
    assert signed_in.post(LANE, json={}, headers={"Origin": "http://10.0.0.1:3000"}).status_code == 403


def test_the_cookie_is_strict_and_signed_and_ends(app: App, signed_in: TestClient, token: str) -> None:
    response = signed_in.post(SIGN_IN, data={"token": token})
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(response.headers["set-cookie"].split("; "))
    assert "Secure" not in response.headers["set-cookie"]
    name, sign_ins = app.governance.sign_ins.cookie, app.governance.sign_ins
    good = signed_in.cookies[name]
    assert sign_ins.operator(good) == "ops"
    payload, signature = good.rsplit(".", 1)  # the last letter's lowest bits mean nothing: a forger changes the first
    assert not sign_ins.operator(f"{payload}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}")
    assert not sign_ins.operator(f"{payload[:-4]}AAAA.{signature}")
    assert signed_in.get(SIGN_OUT).headers["location"] == SIGN_IN
    assert not sign_ins.operator(good)  # a kept copy is void
    assert signed_in.get("/", headers={"Accept": "text/html"}).headers["location"] == f"{SIGN_IN}?next=%2F"


def test_a_revoked_operator_is_out_at_once_and_so_is_the_websocket(app: App, signed_in: TestClient) -> None:
    messages: list[str] = []

    async def echo(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while len(messages) < 2 and (message := await receive())["type"] == "websocket.receive":
            messages.append(message["text"])
            await send({"type": "websocket.send", "text": message["text"]})
        await send({"type": "websocket.close"})

    gate = SignInGate(echo, needed=lambda: True, app=lambda: app)
    visitor = TestClient(gate, HOST, cookies=dict(signed_in.cookies))
    with visitor.websocket_connect("/_stcore/stream") as socket:
        socket.send_text("one")
        assert socket.receive_text() == "one"
        app.governance.clients.revoke("ops", origin="test")
        socket.send_text("two")
        with pytest.raises(WebSocketDisconnect):
            socket.receive_text()
    assert messages == ["one"]
    app.governance.clients.make("ops", Scope(pages=True), origin="test")  # another token under the same name
    assert signed_in.get("/").status_code == 401


def test_wrong_tokens_are_limited_for_an_address_and_a_right_one_is_never_refused(app: App, token: str) -> None:
    visitor = client(app)
    tokens = [app.governance.clients.make("ann", origin="test"), *["no"] * 5]  # a client's token is no operator's
    assert [visitor.post(SIGN_IN, data={"token": guess}).status_code for guess in tokens] == [401] * 5 + [429]
    limited = visitor.post(SIGN_IN, data={"token": "neither"})
    assert (limited.status_code, 0 < int(limited.headers["retry-after"]) <= 60) == (429, True)
    other = TestClient(SignInGate(console, needed=lambda: True, app=lambda: app), HOST, client=("10.0.0.7", 5))
    assert other.post(SIGN_IN, data={"token": "no"}).status_code == 401
    assert visitor.post(SIGN_IN, data={"token": token}).status_code == 303


@each("target", ["//evil.example", "https://evil.example", "/\\evil.example", '/"><script>'])
def test_it_leads_nowhere_else_and_shows_text_as_text(app: App, token: str, target: str) -> None:
    visitor = client(app)
    assert "<script>" not in visitor.get(SIGN_IN, params={"next": target}).text
    location = visitor.post(SIGN_IN, data={"token": token, "next": target}).headers["location"]
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))


def test_a_page_of_another_site_cannot_sign_in_here(app: App, token: str) -> None:
    answer = client(app).post(SIGN_IN, data={"token": token}, headers={"Origin": "http://evil.example"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_on_this_machine_nobody_is_asked(app: App) -> None:
    address = ("127.0.0.1", 5)
    assert TestClient(console, "http://127.0.0.1:8501", client=address).get("/").status_code == 200
    gate = SignInGate(
        PlainTextResponse("in"), needed=lambda: False, app=lambda: app, other_names=frozenset({"box.example"})
    )
    assert TestClient(gate, "http://box.example", client=address).get("/").status_code == 200
    rebound = TestClient(gate, "http://evil.example:8501", client=address)
    assert rebound.get("/").status_code == 403
    with pytest.raises(WebSocketDisconnect), rebound.websocket_connect("/_stcore/stream"):
        pass
