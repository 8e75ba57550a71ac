"""Presses every control of a first visit, page by page: it changes the page or the address, or says why it cannot. A control that
occurs several times is pressed once. Before that, axe checks the page in both themes.

The tests/browser suite looks at each view once, and presses what its journeys need; this takes ten minutes."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Error, Locator, TimeoutError, expect

from dashboard.navigation import VIEWS
from tests.browser.access import RULES, Offer, faults, in_the_dark, mute, offered
from tests.browser.conftest import Visitor
from tests.browser.serving import ConsoleProgram
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser

NEED = "convert 300 miles to kilometres"
PAGES: dict[str, dict[str, str]] = {
    "": {},
    "?decided": {"q": NEED},
    "whatif": {},
    "compare": {},
    "call": {},
    "call?chosen": {"tool": "unit-exchange::convert_units"},
    "agent": {},
    "map": {},
    "network": {"steps": "20"},
    "lab": {},
    "papers": {},
    "catalog": {},
    "catalog?chosen": {"tool": "unit-exchange::convert_units"},
    "catalog?lint": {"view": "lint"},
    "setup": {},
    "govern": {},
    "activity": {},
}
DEAD_MS = 60_000  # waited for in full only if nothing changes
STILL_MS, TRIES = 2000, 8  # a control that was redrawn is located again
TIPS = "[role=tooltip], [data-testid=stTooltipContent]"
OPENED = "[role=dialog], [role=listbox], [data-testid=stPopoverBody]"
QUESTION = {"Catalog", "Router", "Preset"}  # fields above the views and beside them
STOPS = re.compile(r"^(Stop|End|Cancel|Pause)$")

# All that can be read, what is unfolded, and what is chosen in fields; without tips, which come with the mouse.
SEEN = """() => {
  let text = document.body.innerText;
  for (const tip of document.querySelectorAll('[role=tooltip], [data-testid=stTooltipContent], [data-testid=stStatusWidget]'))
    text = text.replace(tip.innerText, '');
  const states = [...document.querySelectorAll('[aria-expanded], details, input')].map((e) =>
    e.getAttribute('aria-expanded') ?? e.open ?? (['checkbox', 'radio'].includes(e.type) ? e.checked : e.value));
  const tables = [...document.querySelectorAll('[data-testid=stDataFrame] table')].map((e) => e.textContent);
  const charts = [...document.querySelectorAll('.js-plotly-plot')].map((e) => e.textContent);
  return [location.href, !!document.fullscreenElement, text, ...states, ...tables, ...charts].join('\\n').replace(/[\\d.,]+ m?s\\b/g, '');
}"""


class Pressable(Offer):
    """An offer, and when it is pressed."""

    @property
    def name(self) -> str:
        """A key that is equal for equal controls."""
        return f"{self.kind}|{self.text}" if self.everywhere else self.place

    @property
    def everywhere(self) -> bool:
        """Whether it is on many pages and pressed once."""
        once = self.text in {"Fullscreen", "Link to heading"} or self.text.startswith("Skip to ")
        return self.nav or self.aside or self.explains or once or self.kind == "summary" or self.text in QUESTION

    @property
    def leads(self) -> bool:
        """Whether it is a link of the navigation. The page it leads to is opened and pressed by itself."""
        return self.nav and self.kind == "a"

    @property
    def explains(self) -> bool:
        """Whether it shows a tip."""
        return self.text.startswith(("Help", "What is "))

    @property
    def teaches(self) -> bool:
        """Whether it changes later decisions."""
        return self.text.split("\n")[0] in {"thumb_up", "thumb_down"} or self.text.startswith("should be")

    @property
    def own(self) -> bool:
        """Whether it is pressed itself, unlike the arrow of a select box, or a control that repeats on the second card."""
        return self.text != "Open" and not (self.kind in {"a", "button"} and self.number)

    @property
    def like(self) -> str:
        """A key that is equal for controls that differ only in a name: a page's examples, and items removed from a choice."""
        return next((start for start in ("north_east", "Remove ") if self.text.startswith(start)), self.place)


class Walk:
    """One page and its controls."""

    def __init__(self, visit: Visit, path: str, query: dict[str, str]) -> None:
        self.visit = visit
        self.page = visit.page
        self._path, self._query = path, query
        self.pressed = 0
        self._events: list[str] = []
        for event in ("download", "filechooser"):
            visit.on(event, lambda _, event=event: self._events.append(event))
        visit.on("popup", self._popup)

    def open(self, still_ms: int = 500) -> list[Pressable]:
        """Opens the page again, and returns its offers after the last redraw."""
        self.visit.open(self._path, **self._query)
        self.visit.until(lambda: self._quiet(ms=still_ms))
        self._at = self.page.url
        return self.offered()

    def offered(self) -> list[Pressable]:
        """The controls that can be pressed. `last_offered` keeps them, because a large page takes 20 ms."""
        self.last_offered = [Pressable(*row) for row in offered(self.visit)]
        return self.last_offered

    def find(self, offer: Pressable) -> Locator | None:
        """Its locator. If it is gone, goes one step back, or opens the page again. None: the lesson of
        another press has removed it."""
        locator = self.page.locator(f"[data-offered={_quoted(offer.place)}]").first
        if self._stands(offer):
            return locator
        if self.page.url != self._at:
            self.page.go_back()
            self.visit.settled()
            with suppress(AssertionError):
                self.visit.until(lambda: self._stands(offer), STILL_MS)
        if not self._stands(offer):
            self.open(still_ms=300)
        return locator if self._stands(offer) else None

    def press(self, offer: Pressable) -> bool:
        """Presses it. Returns whether it had an effect, is gone, or is already chosen."""
        locator = self.find(offer)
        if locator is None or any(item.chosen for item in self.last_offered if item.place == offer.place):
            return True
        self.pressed += 1
        events = len(self._events)  # counted first: a quick download arrives while the click is still under way
        try:
            seen_before = self._press(locator, offer)
        except TimeoutError:
            if self._stands(offer):
                raise
            return True  # the end of an earlier press has removed it
        if offer.kind == "combobox":
            self._choose_another()
        return self._comes(lambda: len(self._events) > events or self._changed(seen_before, offer))

    def _press(self, locator: Locator, offer: Pressable, tries: int = TRIES) -> str:
        """Presses it, again if the page was redrawn. Returns the view before, without the tips of the mouse."""
        try:
            if offer.text.startswith("Skip to "):
                locator.focus(timeout=STILL_MS)
                seen_before = self._seen()
                self.page.keyboard.press("Enter")
            else:
                locator.hover(force=True, timeout=STILL_MS)
                seen_before = self._seen()
                locator.click(force=offer.kind in {"switch", "checkbox"}, timeout=STILL_MS)
        except TimeoutError:
            self._close()  # opened late by an earlier press
            fresh = self.find(offer)
            if tries == 1 or fresh is None:
                raise
            return self._press(fresh, offer, tries - 1)
        return seen_before

    def tidy(self, offer: Pressable) -> None:
        """Closes opened parts, stops started tasks."""
        if offer.kind == "summary" and (fold := self.find(offer)) is not None:
            fold.click()
        for item in self.last_offered:
            if STOPS.match(item.text.split("\n")[-1]) and not (item.why or offer.nav):
                with suppress(Error):  # it may have ended by itself
                    self.page.locator(f"[data-offered={_quoted(item.place)}]").first.click(timeout=1000)
        self._close()
        self.visit.settled()

    def _close(self) -> None:
        self.page.evaluate("document.fullscreenElement && document.exitFullscreen()")
        for _ in range(self.page.locator(OPENED).count()):
            self.page.keyboard.press("Escape")
        expect(self.page.locator(OPENED)).to_have_count(0)

    def _stands(self, offer: Pressable) -> bool:
        path = self.page.evaluate("location.pathname")
        return (offer.nav or path == f"/{self._path}") and offer.place in {item.place for item in self.offered()}

    def _choose_another(self) -> None:
        options = self.page.get_by_role("option")
        options.first.wait_for()
        unselected = self.page.locator("[role=option][aria-selected=false]")
        (unselected if unselected.count() else options).first.click()

    def _changed(self, seen_before: str, offer: Pressable) -> bool:
        if offer.explains and self._seen() == seen_before:  # in the label of a switch it turns the switch
            tip = self.page.locator(TIPS).locator("visible=true")
            # the press, or a page that moved below the pointer, has put away the tip that the pointer had opened
            if not tip.count():
                self.page.mouse.move(0, 0)
                with suppress(Error):
                    self.page.locator(f"[data-offered={_quoted(offer.place)}]").first.hover(
                        force=True, timeout=STILL_MS
                    )
                    tip.first.wait_for(timeout=2000)
            return tip.count() > 0
        if offer.leads:
            return urlsplit(self.page.url).path == urlsplit(urljoin(self._at, offer.href)).path
        if offer.text.startswith("Skip to "):
            return self.page.evaluate("document.activeElement.matches('[data-testid=stMain], [data-testid=stMain] *')")
        return self._quiet(seen_before)

    def _quiet(self, seen_before: str = "", ms: int = 100) -> bool:
        """Whether the view is stable and differs from the earlier view."""
        seen = self._seen()
        if seen == seen_before:
            return False
        self.page.wait_for_timeout(ms)
        return self._seen() == seen

    def _comes(self, happened: Any) -> bool:
        for _ in range(DEAD_MS // 50):
            if happened():
                return True
            self.page.wait_for_timeout(50)
        return False

    def _seen(self) -> str:
        return self.page.evaluate(SEEN)

    def _popup(self, page: Any) -> None:
        self._events.append(page.url)
        page.close()


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\a ") + '"'


MET: set[str] = set()


@pytest.mark.parametrize("page", PAGES)
def test_everything_that_can_be_pressed_does_something(
    page: str, own_console: ConsoleProgram, visitor: Visitor
) -> None:
    walk = Walk(visitor(own_console), page.partition("?")[0], PAGES[page])
    offers = walk.open()
    assert faults(walk.visit, RULES) + in_the_dark(walk.visit) == []
    new_offers = [offer for offer in offers if offer.own and not (offer.everywhere and offer.name in MET)]
    todo = list({offer.like: offer for offer in reversed(new_offers)}.values())[::-1]  # the first of its like
    dead: list[str] = []
    # chosen controls come after another choice; links away come last, and groups with other views come at the very end
    todo.sort(key=lambda offer: (offer.leads, offer.text in VIEWS, offer.teaches, offer.chosen))
    for offer in todo:
        if not offer.why:
            MET.add(offer.name)
        if not offer.why and not walk.press(offer):
            dead.append(f"{offer.place}: nothing came of it")
        if not offer.leads:
            dead += mute(walk.offered())
            walk.tidy(offer)
    assert sorted(set(dead)) == []
    assert walk.pressed >= 0.8 * len([offer for offer in todo if not (offer.why or offer.chosen)])


def pressing() -> None:
    """Runs this file with the fixtures of the browser's tests."""
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "tests.browser.conftest", __file__], check=False)
