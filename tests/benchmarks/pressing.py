"""Everything that a first visit offers is pressed, page by page: it changes the page or the address, or it says why it cannot. What
stands on several pages, or several times on one, is pressed once. Before that, axe looks at the page in both themes.

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
DEAD_MS = 60_000  # waited for in full only where nothing comes
STILL_MS, TRIES = 2000, 8  # what was drawn anew after it was found is found again
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
        """The same of all that are the same thing."""
        return f"{self.kind}|{self.text}" if self.everywhere else self.place

    @property
    def everywhere(self) -> bool:
        """Whether it is the same thing on many pages: it is pressed once."""
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
        """Whether it changes what is decided from then on."""
        return self.text.split("\n")[0] in {"thumb_up", "thumb_down"} or self.text.startswith("should be")

    @property
    def own(self) -> bool:
        """Whether it is pressed for itself: not the arrow of a select box, nor what stands below its like, as on the second card."""
        return self.text != "Open" and not (self.kind in {"a", "button"} and self.number)

    @property
    def like(self) -> str:
        """The same of all that differ in what they name: the examples of a page, and what is taken out of a choice."""
        return next((start for start in ("north_east", "Remove ") if self.text.startswith(start)), self.place)


class Walk:
    """One page and everything on it."""

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
        """Open the page anew; what it offers once nothing more is drawn."""
        self.visit.open(self._path, **self._query)
        self.visit.until(lambda: self._quiet(ms=still_ms))
        self._at = self.page.url
        return self.offered()

    def offered(self) -> list[Pressable]:
        """What can be pressed now. `last_offered` keeps it: on a large page it takes 20 ms to find out."""
        self.last_offered = [Pressable(*one) for one in offered(self.visit)]
        return self.last_offered

    def find(self, offer: Pressable) -> Locator | None:
        """Where it stands; one step back, or the page opened anew, where it does not stand here any more. None: what was learnt by
        another press has taken it away."""
        found = self.page.locator(f"[data-offered={_quoted(offer.place)}]").first
        if self._stands(offer):
            return found
        if self.page.url != self._at:
            self.page.go_back()
            self.visit.settled()
            with suppress(AssertionError):
                self.visit.until(lambda: self._stands(offer), STILL_MS)
        if not self._stands(offer):
            self.open(still_ms=300)
        return found if self._stands(offer) else None

    def press(self, offer: Pressable) -> bool:
        """Press it; whether something came of it, or it is gone, or how the page is already."""
        found = self.find(offer)
        if found is None or any(one.chosen for one in self.last_offered if one.place == offer.place):
            return True
        self.pressed += 1
        events = len(self._events)  # counted first: a quick download arrives while the click is still under way
        try:
            before = self._press(found, offer)
        except TimeoutError:
            if self._stands(offer):
                raise
            return True  # what an earlier press began has ended, and taken it away
        if offer.kind == "combobox":
            self._choose_another()
        return self._comes(lambda: len(self._events) > events or self._changed(before, offer))

    def _press(self, found: Locator, offer: Pressable, tries: int = TRIES) -> str:
        """Press it, again where the page was drawn anew meanwhile; what was seen before. Tips that come with the mouse do not count."""
        try:
            if offer.text.startswith("Skip to "):
                found.focus(timeout=STILL_MS)
                before = self._seen()
                self.page.keyboard.press("Enter")
            else:
                found.hover(force=True, timeout=STILL_MS)
                before = self._seen()
                found.click(force=offer.kind in {"switch", "checkbox"}, timeout=STILL_MS)
        except TimeoutError:
            self._close()  # what was opened by a press before, and came late
            again = self.find(offer)
            if tries == 1 or again is None:
                raise
            return self._press(again, offer, tries - 1)
        return before

    def tidy(self, offer: Pressable) -> None:
        """Close what was opened, stop what was started."""
        if offer.kind == "summary" and (fold := self.find(offer)) is not None:
            fold.click()
        for other in self.last_offered:
            if STOPS.match(other.text.split("\n")[-1]) and not (other.why or offer.nav):
                with suppress(Error):  # it may have ended by itself
                    self.page.locator(f"[data-offered={_quoted(other.place)}]").first.click(timeout=1000)
        self._close()
        self.visit.settled()

    def _close(self) -> None:
        self.page.evaluate("document.fullscreenElement && document.exitFullscreen()")
        for _ in range(self.page.locator(OPENED).count()):
            self.page.keyboard.press("Escape")
        expect(self.page.locator(OPENED)).to_have_count(0)

    def _stands(self, offer: Pressable) -> bool:
        path = self.page.evaluate("location.pathname")
        return (offer.nav or path == f"/{self._path}") and offer.place in {one.place for one in self.offered()}

    def _choose_another(self) -> None:
        options = self.page.get_by_role("option")
        options.first.wait_for()
        others = self.page.locator("[role=option][aria-selected=false]")
        (others if others.count() else options).first.click()

    def _changed(self, before: str, offer: Pressable) -> bool:
        if offer.explains and self._seen() == before:  # in the label of a switch it turns the switch
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
        return self._quiet(before)

    def _quiet(self, before: str = "", ms: int = 100) -> bool:
        """Whether what is seen stays as it is, and is not what was seen before."""
        now = self._seen()
        if now == before:
            return False
        self.page.wait_for_timeout(ms)
        return self._seen() == now

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
    first = walk.open()
    assert faults(walk.visit, RULES) + in_the_dark(walk.visit) == []
    new = [one for one in first if one.own and not (one.everywhere and one.name in MET)]
    todo = list({one.like: one for one in reversed(new)}.values())[::-1]  # the first of its like
    dead: list[str] = []
    # what is chosen already: once another was chosen; what leads away last, and last of all the groups, which have other views
    todo.sort(key=lambda one: (one.leads, one.text in VIEWS, one.teaches, one.chosen))
    for offer in todo:
        if not offer.why:
            MET.add(offer.name)
        if not offer.why and not walk.press(offer):
            dead.append(f"{offer.place}: nothing came of it")
        if not offer.leads:
            dead += mute(walk.offered())
            walk.tidy(offer)
    assert sorted(set(dead)) == []
    assert walk.pressed >= 0.8 * len([one for one in todo if not (one.why or one.chosen)])


def pressing() -> None:
    """Runs this file with the fixtures of the browser's tests."""
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "tests.browser.conftest", __file__], check=False)
