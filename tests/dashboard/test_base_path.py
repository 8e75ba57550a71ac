"""A console below the path of its public address, with a proxy that passes the path on, and with one that takes it off."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

from core.gateway.entrance import BASE_PATH
from dashboard.sign_in import BasePath
from tests.cases import each

PUBLIC = "https://tools.example.com/wayfare"
LOCAL = "http://127.0.0.1:8501"


async def told(request: Request) -> JSONResponse:
    return JSONResponse([request.url.scheme, request.url.path, request.scope.get(BASE_PATH, "")])


async def moved(_: Request) -> RedirectResponse:
    answer = RedirectResponse("/sign-in?next=%2F", 303)
    answer.set_cookie("known", "1", path="/mcp", httponly=True)
    answer.set_cookie("here", "1", path=None)
    return answer


async def heard(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_json([socket.url.scheme, socket.url.path])
    await socket.close()


ROUTES = [Route("/", told), Route("/govern", told), Route("/moved", moved), WebSocketRoute("/stream", heard)]


def visitor(host: str, public: str = PUBLIC) -> TestClient:
    return TestClient(BasePath(Starlette(routes=ROUTES), public), host, follow_redirects=False)


@each(
    ("host", "path", "expected"),
    [
        ("http://tools.example.com", "/wayfare/govern", ["https", "/govern", "/wayfare"]),
        ("http://tools.example.com", "/govern", ["https", "/govern", "/wayfare"]),  # a proxy took it off
        ("http://other.example", "/wayfare/govern", ["http", "/govern", "/wayfare"]),
        ("http://other.example", "/wayfare/", ["http", "/", "/wayfare"]),
        (LOCAL, "/govern", ["http", "/govern", ""]),
    ],
)
def test_requests_arrive_without_the_path(host: str, path: str, expected: list[str]) -> None:
    assert visitor(host).get(path).json() == expected


def test_redirects_and_cookies_are_below_the_path() -> None:
    for host, path, base in (
        ("http://tools.example.com", "/wayfare/moved", "/wayfare"), ("http://tools.example.com", "/moved", "/wayfare"), (LOCAL, "/moved", ""),
    ):  # fmt: skip
        answer = visitor(host).get(path)
        cookies = answer.headers.get_list("set-cookie")
        assert (answer.headers["location"], f"Path={base}/mcp" in cookies[0], "Path" in cookies[1]) == (
            f"{base}/sign-in?next=%2F", True, False,
        )  # fmt: skip
    bare = visitor(LOCAL).get("/wayfare?q=a%20b")
    assert (bare.status_code, bare.headers["location"]) == (308, "/wayfare/?q=a%20b")
    assert visitor(LOCAL).get("/wayfarer").status_code == 404


def test_websockets_and_an_address_without_a_path() -> None:
    headers = {"Host": "tools.example.com"}
    with visitor(LOCAL).websocket_connect("/wayfare/stream", headers=headers) as socket:
        assert socket.receive_json() == ["wss", "/stream"]
    assert visitor("http://tools.example.com", "https://tools.example.com").get("/govern").json() == [
        "https",
        "/govern",
        "",
    ]
    assert visitor(LOCAL, "").get("/govern").json() == ["http", "/govern", ""]
