"""How page tests open an app, visit a page, and read it.

app = app_with({"small": CATALOG})          # a fixture: an app in memory that the pages use


def test_it(app: App) -> None:
    page = open_page("route", q="read a file", catalog="small")
    assert "read" in text_of(press(page, "route:map"))
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.app_test import TMP_DIR

from core.app import App, Settings, build_app
from core.domain.execution import ToolCaller
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from dashboard import session
from dashboard.ui.question import NETWORK
from tests.importing import import_text
from tests.relevance.toy_encoders import Letters

Catalogs = Mapping[str, Mapping[str, Any]]
Figure = dict[str, Any]
BARE = {"servers": [{"name": "bare", "connection": {"command": "none"}}]}  # its only server lists no tools
TIMEOUT_S = 120  # a limit for a machine that has much else to do, not an expectation

# as dashboard.app does for the console: no run of a page changes the path that other threads import by
sys.path.append(TMP_DIR.name)


@contextmanager
def opened(
    catalogs: Catalogs | None = None,
    *,
    encoder: EncoderSource | None = None,
    caller: Callable[[], ToolCaller] | None = None,
    words_after_s: float = TIMEOUT_S,
) -> Iterator[App]:
    """An app in memory with the shipped catalogs and these; the pages use it as long as the context is open. Its files, such
    as saved networks, are in a folder of its own. Words alone decide only after `words_after_s` without vectors."""
    store = Store(None)
    source = EncoderSource.of(Letters()) if encoder is None else encoder
    vectors = CachedEncoder(source, store.vectors)
    with TemporaryDirectory() as home:
        settings = Settings(
            db=Path(home, "wayfare.duckdb"), cache=Path(home, "cache"), seed=1, words_after_s=words_after_s
        )
        with build_app(store, settings, encoder=vectors, caller=caller) as app:
            for name, catalog in (catalogs or {}).items():
                import_text(app.catalog_editor, json.dumps(catalog), name, "test")
            session.use_app(app)
            try:
                yield app
            finally:
                session.use_app(None)


def app_with(
    catalogs: Catalogs | None = None,
    *,
    scope: Literal["function", "module"] = "function",
    encoder: Callable[[], EncoderSource] | None = None,
) -> Any:
    """A fixture named like the variable it is bound to: an app with these catalogs, for a test or for its module."""

    @pytest.fixture(scope=scope, autouse=True)
    def app() -> Iterator[App]:
        with opened(catalogs, encoder=None if encoder is None else encoder()) as opened_app:
            yield opened_app

    return app


def _draw(name: str) -> None:
    from importlib import import_module

    from dashboard.navigation import framed

    framed(name, import_module(f"dashboard.pages.{name}.view").page)


def with_services(app: App, **services: object) -> App:
    """A copy of an app with these services."""
    changed = copy(app)
    vars(changed).update(services)
    return changed


def open_page(name: str, /, *, remembered: Mapping[str, object] | None = None, **query: str) -> AppTest:
    """A page opened with a link, after its first run; `remembered` is what the visitor's session holds before."""
    page = AppTest.from_function(_draw, args=(name,), default_timeout=TIMEOUT_S)
    for key, value in (remembered or {}).items():
        page.session_state[key] = value
    page.query_params.update(query)
    return checked(page.run())


def checked(page: AppTest) -> AppTest:
    """The page, which stopped at no exception."""
    assert not page.exception, page.exception[0].stack_trace
    return page


def press(page: AppTest, key: str) -> AppTest:
    """The page after a button was pressed."""
    return checked(page.button(key=key).click().run())


def labelled(page: AppTest, label: str) -> Any:
    """The first button with this label."""
    return next(button for button in page.button if button.label == label)


def markdown_of(page: AppTest) -> str:
    """Everything that is read as Markdown, with its escapes."""
    kinds = (page.markdown, page.caption, page.info, page.warning, page.error, page.success)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def text_of(page: AppTest) -> str:
    """The Markdown without escapes and the text of the HTML parts, for searches."""
    return "\n".join([plain(markdown_of(page)), *map(words_of, live_of(page).values())])


def plain(text: str) -> str:
    """Markdown without escapes."""
    return text.replace("\\", "").replace("\u2060", "")


def turn(page: AppTest, prefix: str, **values: object) -> AppTest:
    """The page after knobs were turned and released."""
    for name, value in values.items():
        page.session_state[f"{prefix}.{name}"] = value
    return checked(page.run())


def knob_panel_of(page: AppTest) -> dict[str, Any]:
    """The browser's data for the router's knobs."""
    return next(data for data in _sent(page) if "groups" in data and data["prefix"] != NETWORK)


def state_of(page: AppTest) -> dict[str, Any]:
    """The browser's data for the state bar."""
    return next(data for data in _sent(page) if "agents" in data)


def network_panel_of(page: AppTest) -> dict[str, Any]:
    """The browser's data for the network."""
    return next(data for data in _sent(page) if data.get("prefix") == NETWORK and "groups" in data)


def live_of(page: AppTest) -> dict[str, str]:
    """The HTML parts of the page by key."""
    return {data["part"]: data["html"] for data in _sent(page) if "html" in data}


def metrics_of(page: AppTest) -> dict[str, str]:
    """The figures of the headline by their labels."""
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", live_of(page).get("route:headline", ""))
    return {words_of(label): words_of(value) for label, value in pairs}


def words_of(html: str) -> str:
    """The text of HTML, a line for each piece."""
    pieces: list[str] = []
    reader = HTMLParser()
    reader.handle_data = pieces.append
    reader.feed(html)
    reader.close()
    return "\n".join(pieces)


def _sent(page: AppTest) -> list[dict[str, Any]]:
    return [json.loads(element.proto.json) for element in page.get("bidi_component")]


def charts(page: AppTest) -> list[Figure]:
    """All charts for the browser, in order, each {"data", "layout"}."""
    return [json.loads(data["figure"]) for data in _sent(page) if "figure" in data]


def titles(page: AppTest) -> list[str]:
    """The titles of the charts."""
    return [chart["layout"]["title"]["text"] for chart in charts(page)]
