"""The ASGI app, its configuration and life, and the way from page to page."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from plotly.offline import get_plotlyjs_version
from starlette.testclient import TestClient
from streamlit import config
from streamlit.runtime.scriptrunner.exec_code import modified_sys_path
from streamlit.testing.v1 import AppTest

import dashboard
from core.app import App
from core.store import Store
from dashboard import session
from dashboard.navigation import VIEWS
from dashboard.ui.chart import PLOTLY_URL
from tests.cases import each
from tests.dashboard.harness import BARE, app_with, checked, labelled, press

MAIN = Path(dashboard.__file__).with_name("main.py")
SMALL = {"servers": [{"name": "files", "description": "Files.", "tools": [{"name": "read", "price_usd": 0.001}]}]}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Another working directory; Streamlit's options afterwards are as they were."""
    monkeypatch.chdir(tmp_path)
    config.get_config_options(force_reparse=True)
    yield tmp_path
    monkeypatch.undo()
    config.get_config_options(force_reparse=True)


app = app_with({"hollow": BARE, "small": SMALL}, scope="module")


def visit(**query: str) -> AppTest:
    """The console with its navigation, on the default page."""
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.query_params.update(query)
    return checked(page.run())


def follow(page: AppTest, label: str) -> AppTest:
    """The target of the first button with this label."""
    return checked(labelled(page, label).click().run())


def test_a_run_of_a_page_leaves_the_path_of_imports_alone() -> None:
    """A removed folder makes a look-up in another thread skip a folder, and miss a package or module."""
    from dashboard.app import HERE

    assert MAIN.parent == HERE
    paths = list(sys.path)
    with modified_sys_path(str(MAIN)):
        assert sys.path == paths


def test_the_configuration_is_ours_from_any_directory(elsewhere: Path) -> None:
    from dashboard.page_host import load_config

    config.get_config_options(force_reparse=True)
    assert config.get_option("server.fileWatcherType") != "none"
    load_config()
    assert config.get_option("server.fileWatcherType") == "none"
    assert config.get_option("client.toolbarMode") == "minimal"
    assert config.get_option("browser.gatherUsageStats") is False
    assert config.get_option("theme.light.primaryColor") == "#5B45E0"
    assert config.get_option("theme.dark.primaryColor") == "#8F7CFF"


def test_only_pages_answer_with_a_page_and_unknown_addresses_with_404(elsewhere: Path) -> None:
    from dashboard.app import PAGES, app, is_known, pages

    client = TestClient(app, "http://127.0.0.1:8501", client=("127.0.0.1", 5), follow_redirects=False)
    assert {view.folder for views in VIEWS.values() for view in views} == PAGES
    for path in ["", *(PAGES - {"route"})]:
        answer = client.get(f"/{path}", params={"catalog": "small"}, headers={"Accept": "text/html"})
        assert (answer.status_code, "text/html" in answer.headers["content-type"]) == (200, True), path
    assert [client.get(path).status_code for path in ("/favicon.png", "/_stcore/health", "/govern/")] == [200, 200, 301]
    for path in (
        "/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration", "/.well-known/oauth-protected-resource/sse", "/sse", "/register",
        "/nope", "/govern/x", "/static/js/no.js", "/_stcore/no", "/sign-in", "/robots.txt",
    ):  # fmt: skip
        answer = client.get(path, headers={"Accept": "text/html"})
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found"), path
    for method in ("POST", "DELETE"):
        assert client.request(method, "/register").status_code == 404
    assert client.post("/healthz").status_code == 405
    hosts = (re.sub(r"\{(\w+)(:path)?\}", r"\1", route.path) for route in pages._starlette_app.routes[:-1])
    of_its_own = [path for path in hosts if path.startswith(("/_stcore", "/media", "/component", "/auth", "/oauth2"))]
    assert [path for path in of_its_own if not is_known(path)] == []
    assert len(of_its_own) > 10


def test_the_callback_takes_only_an_answer_that_a_sign_in_waits_for(elsewhere: Path) -> None:
    from dashboard.app import app

    client = TestClient(app, "http://127.0.0.1:8501", client=("127.0.0.1", 5), follow_redirects=False)
    for query, status in (("", 200), ("state=<b>&code=x", 400), ("code=x", 400), ("state=" + "x" * 5000, 400)):
        answer = client.get(f"/oauth/callback?{query}")
        assert (answer.status_code, "<b>" in answer.text) == (status, False), query
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_library_of_the_charts_comes_from_the_console_itself() -> None:
    from dashboard.app import app

    answer = TestClient(app, "http://127.0.0.1:8501", client=("127.0.0.1", 5)).get(PLOTLY_URL)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    version = re.match(r"/\*\*\s+\* plotly\.js \(cartesian - minified\) v([\d.]+)", answer.text)
    assert version is not None
    assert version[1] in PLOTLY_URL
    assert (
        version[1].partition(".")[0] == get_plotlyjs_version().partition(".")[0]
    )  # of the library that makes the figures
    assert "link" not in answer.headers


def test_a_document_names_what_every_view_needs_and_each_of_it_is_there() -> None:
    from dashboard.app import app
    from dashboard.page_host import EVERYWHERE

    client = TestClient(app, "http://127.0.0.1:8501", client=("127.0.0.1", 5))
    urls = re.findall(r"<\.?([^>]+)>; rel=", client.get("/whatif").headers["link"])
    assert PLOTLY_URL in urls
    for name in EVERYWHERE:
        assert [url for url in urls if url.startswith(f"/static/js/{name}.")], name
    assert {client.head(url).status_code for url in urls if url != PLOTLY_URL} == {200}


@each("query", ["", "?q=read+a+file&catalog=small"])
def test_the_default_page_has_the_address_that_its_name_suggests(elsewhere: Path, query: str) -> None:
    from dashboard.app import app

    answer = TestClient(app, "http://127.0.0.1:8501", client=("127.0.0.1", 5), follow_redirects=False).get(
        f"/route{query}"
    )
    assert (answer.status_code, answer.headers["location"]) == (307, f"./{query}")


def test_the_console_lives_as_long_as_the_app(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dashboard.app import lifespan

    monkeypatch.setenv("WAYFARE_DB", str(elsewhere / "kept.duckdb"))
    monkeypatch.setenv("WAYFARE_CATALOG", "not there")  # nothing to prepare
    shared = session.use_app(None)

    async def live() -> tuple[App, App]:
        async with lifespan(None):
            apps = session.current_app(), session.current_app()
            session.page_drawn()  # the start goes on at once
            for thread in threading.enumerate():
                if thread.name == "wayfare-warm":
                    thread.join(60)
            return apps

    first, second = asyncio.run(live())
    assert first is second
    with Store(elsewhere / "kept.duckdb") as store:  # the file is free again
        assert store.activity.decision_count() == 0
    session.use_app(shared)


def test_the_first_catalog_of_the_environment_is_shown_and_not_in_the_url_with_icon_and_logo_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WAYFARE_CATALOG", "small")
    images: dict[str, str] = {}
    monkeypatch.setattr(st, "set_page_config", lambda **options: images.update(icon=options["page_icon"]))
    monkeypatch.setattr(st, "logo", lambda image, **_: images.update(logo=image))
    page = visit()
    assert page.selectbox(key="ask.catalog").value == "small"
    assert page.query_params == {}
    assert visit(catalog="hollow").query_params == {"catalog": "hollow"}
    assert visit(catalog="nowhere").selectbox(key="ask.catalog").value == "small"
    for image in (images["icon"], images["logo"]):
        assert Path(image).is_relative_to(MAIN.parent)
        assert Path(image).read_bytes().startswith(b"\x89PNG")


@each(
    ("button", "query"),
    [
        ("Call", {"catalog": "small", "tool": "files::read"}),
        ("Open in catalog", {"catalog": "small", "view": "tools", "tool": "files::read", "server": "files"}),
    ],
)
def test_from_a_decision_to_the_map_with_all_that_was_asked_and_from_a_tool_there_on(
    button: str, query: dict[str, str]
) -> None:
    question = {"q": "read a file", "hint": "disk", "catalog": "small", "alpha_t": "0.1"}
    map_page = press(visit(**question), "route:map")
    assert map_page.query_params == {**question, "by": "server"}
    assert map_page.text_input(key="ask.q").value == "read a file"
    map_page.session_state["map.tool"] = "files::read"
    page = follow(checked(map_page.run()), button)
    assert {name: page.query_params[name] for name in query} == query


def test_a_page_opened_with_the_very_query_of_the_page_before_takes_it() -> None:
    call = follow(visit(q="read a file", catalog="small"), "Call")
    checked(call.selectbox(key="ask.catalog").set_value("hollow").run())
    assert call.query_params["q"] == "read a file"
    assert "tool" not in call.query_params
    checked(call.text_input(key="ask.q").set_value("").run())
    assert call.query_params == {"catalog": "hollow"}
    catalog = follow(call, "Open the Catalog page")
    assert catalog.selectbox(key="catalog.catalog").value == "hollow"
    assert catalog.query_params == {"catalog": "hollow"}
