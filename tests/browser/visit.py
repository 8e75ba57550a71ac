"""One browser window and its visitor: requests, texts and presses, found by visible text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Error, Locator, Page, expect

from dashboard.navigation import FIRST, VIEWS, group_of

LIMIT_MS = 60_000

LOCAL = re.compile(r"(https?|wss?)://(127\.0\.0\.1|localhost)(:\d+)?/|data:|blob:|about:")
UNSEEN = re.compile("[\u2060\u200d]")  # joiners: put into addresses so that they do not become links, left out of emoji
NOT_FOUND = re.compile(r"Failed to load resource: .* 404")
# a request that is under way when the console is stopped is answered with 500
LOST = re.compile(
    r"net::ERR_|WebSocket|[Cc]onnection|server endpoint|server is not responding|status of 500|disconnected from server"
)
SETTLED = "[data-testid=stApp][data-test-script-state=notRunning][data-test-connection-state=CONNECTED]"


def plain(text: str) -> str:
    """A text for comparisons: one line, without invisible characters."""
    return " ".join(UNSEEN.sub("", text).split())


class Visit:
    """One visit in a browser window. Writes down all requests and all errors until the visitor leaves."""

    def __init__(self, page: Page, url: str, *, width: int, height: int) -> None:
        self.url = url
        self.page = page
        self.asked: list[str] = []
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        self.may_lose_console = False
        self._listeners: list[tuple[Page | BrowserContext, Any, Callable[[Any], None]]] = []
        page.set_viewport_size({"width": width, "height": height})
        self._listen(page.context, "request", lambda request: self.asked.append(request.url))
        self._listen(page.context, "weberror", lambda error: self.errors.append(str(error.error)))
        self.on("websocket", lambda socket: self.asked.append(socket.url))
        self.on("console", self._said)
        self.on("dialog", self._dialog)

    def on(self, event: Any, handler: Callable[[Any], None]) -> None:
        """Listens to an event of the page until the visitor leaves."""
        self._listen(self.page, event, handler)

    def _listen(self, source: Page | BrowserContext, event: Any, handler: Callable[[Any], None]) -> None:
        source.on(event, handler)
        self._listeners.append((source, event, handler))

    def leave(self) -> None:
        """Resets listeners, blocked requests and storage for the next visitor."""
        for source, event, handler in self._listeners:
            source.remove_listener(event, handler)
        self.page.unroute_all()
        self.page.emulate_media(media="null", color_scheme="null")
        self.page.evaluate("location.protocol === 'http:' && (localStorage.clear(), sessionStorage.clear())")
        self.page.context.clear_cookies()
        self.page.goto("about:blank")

    def _said(self, message: ConsoleMessage) -> None:
        # a page that is opened by its own path looks for the server below that path first, and is told 404
        patterns = [NOT_FOUND, LOST] if self.may_lose_console else [NOT_FOUND]
        if message.type == "error" and not any(pattern.search(message.text) for pattern in patterns):
            self.errors.append(message.text)

    def _dialog(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def check(self) -> None:
        """Checks that no request left this machine, no script failed and no window popped up."""
        foreign = sorted({url for url in self.asked if not LOCAL.match(url)})
        assert foreign == [], f"asked of others: {foreign}"
        assert self.errors == [], f"errors in the browser: {self.errors}"
        assert self.dialogs == []

    def picture(self, file: Path) -> str:
        """Save a screenshot; its path."""
        try:
            self.page.screenshot(path=file, full_page=True, timeout=10_000)
        except Error as error:
            return f"no picture of {self.page.url}: {error.message}"
        return f"{file} shows {self.page.url}"

    # Going around

    @property
    def main(self) -> Locator:
        """The page without the knobs at its side and the navigation."""
        return self.page.get_by_test_id("stMain")

    @property
    def query(self) -> dict[str, str]:
        """The URL's query."""
        return dict(parse_qsl(urlsplit(self.page.url).query))

    def open(self, path: str = "", **query: object) -> None:
        """Enter an address."""
        self.page.goto(f"{self.url}/{path}{'?' + urlencode(query) if query else ''}", wait_until="domcontentloaded")
        self.settled()

    def go(self, name: str) -> None:
        """Turn to another page with a click on its name."""
        view = next(view for views in VIEWS.values() for view in views if view.title == name)
        address = re.compile(rf"/{'' if view.folder == FIRST else view.folder}(\?.*)?$")
        bar = self.page.get_by_role("navigation", name="Views")
        link = bar.get_by_role("link", name=re.compile(rf"\b{name}\b"))
        if not link.count():
            bar.get_by_role("link", name=group_of(view.folder)).click()
            link.wait_for()
        if not address.search(self.page.url):  # a group leads to its view that was seen last
            link.click()
        self.page.wait_for_url(address)
        self.settled()

    def settled(self) -> None:
        """Wait until the page is drawn, with nothing on it that says that Wayfare failed."""
        expect(self.page.locator(SETTLED)).to_be_attached(timeout=LIMIT_MS)
        expect(self.page.locator(".wayfare-chart[data-due]")).to_have_count(0, timeout=LIMIT_MS)
        expect(self.main.get_by_test_id("stException")).to_have_count(0, timeout=LIMIT_MS)

    def until_query(self, **query: str | None) -> None:
        """Wait for these values in the URL; None means absent."""
        self.page.wait_for_function(
            "wanted => { const query = new URLSearchParams(location.search);"
            " return Object.entries(wanted).every(([name, text]) => query.get(name) === text) }",
            arg=query,
        )

    # Seeing

    def see(self, text: str | re.Pattern[str], within: Locator | None = None) -> Locator:
        """Wait until a text is on the page."""
        element = (within or self.main).get_by_text(text).first
        expect(element).to_be_visible(timeout=LIMIT_MS)
        return element

    def text(self) -> str:
        """All visible text of the page, tables and charts included, as `plain` text."""
        return plain(f"{self.main.inner_text()} {self.main.text_content()}")

    def until_text(self, *texts: str) -> None:
        """Wait until these texts can be read on the page, in a table or a chart too."""
        until = time.monotonic() + LIMIT_MS / 1000
        while True:
            page_text = self.text()
            missing = [text for text in map(plain, texts) if text not in page_text]
            if not missing:
                return
            assert time.monotonic() < until, f"{missing} are not to be read in {page_text[:2000]}"
            self.page.wait_for_timeout(100)

    def until(self, happened: Callable[[], bool], limit_ms: float = LIMIT_MS) -> None:
        """Wait until something has happened."""
        until = time.monotonic() + limit_ms / 1000
        while not happened():
            assert time.monotonic() < until
            self.page.wait_for_timeout(50)

    def metric(self, name: str) -> str:
        """The value of a figure by its label."""
        box = self.main.get_by_test_id("stMetric").filter(has=self.page.get_by_text(name, exact=True))
        expect(box).to_have_count(1, timeout=LIMIT_MS)
        return box.get_by_test_id("stMetricValue").inner_text().strip()

    def table(self, holding: str, but_not: str | None = None) -> list[list[str]]:
        """The rows of the first table in which a text stands, its heading first. Numbers come as they are, not as drawn.

        The order of tables varies; if two hold the text, `but_not` is a text of the other table.
        """
        tables = self.main.get_by_test_id("stDataFrame").filter(has_text=holding, has_not_text=but_not)
        expect(tables.first).to_be_attached(timeout=LIMIT_MS)
        return tables.first.locator("table[role=grid] tr").evaluate_all(
            "rows => rows.map(row => [...row.querySelectorAll('[role=gridcell], [role=columnheader]')].map(cell => cell.textContent))"
        )

    def too_wide(self) -> list[str]:
        """The elements that make the page scroll sideways."""
        return self.main.evaluate(
            """main => main.scrollWidth <= main.clientWidth && document.documentElement.scrollWidth <= innerWidth ? [] :
            [...main.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
            .map(e => `${e.tagName} ${e.dataset.testid ?? e.className}: ${e.textContent.slice(0, 60)}`)
            .concat(`main is ${main.scrollWidth} px wide in ${main.clientWidth}`)"""
        )

    # Doing

    def press(self, name: str) -> None:
        """Press a button of the page or of an open dialog."""
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def show(self, view: str) -> None:
        """Choose a view of a page."""
        choice = self.page.get_by_role("radio", name=view, exact=True).first
        choice.click()
        expect(choice).to_be_checked(timeout=LIMIT_MS)
        self.settled()

    def fill(self, label: str, text: str) -> None:
        """Type into the field with this label, and leave it."""
        field = self.field(label)
        field.fill(text)
        field.press("Tab")

    def field(self, label: str) -> Locator:
        """A text or number field by the beginning of its label."""
        starts = re.compile(rf"^\W*{re.escape(label)}(\W|$)")
        return self.page.get_by_role("textbox", name=starts).or_(self.page.get_by_role("spinbutton", name=starts)).first

    def choose(self, label: str, option: str, typed: str | None = None) -> None:
        """Choose in a select box: type (a part of) the option, and click it."""
        box = self.select(label)
        box.click()
        box.fill("")  # the same text again would not open the list, which the scrolling to it may have closed
        box.fill(option if typed is None else typed)
        self.page.get_by_role("option", name=option, exact=True).click()
        expect(box).to_have_value(option, timeout=LIMIT_MS)

    def select(self, label: str) -> Locator:
        """A select box by the beginning of its label."""
        # the first: for a moment of a redraw there may be two
        return self.page.get_by_role("combobox", name=re.compile(rf"^\W*{re.escape(label)}")).first
