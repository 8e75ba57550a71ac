"""The Route and Call pages as a visitor sees and handles them: by their visible texts alone."""

from __future__ import annotations

import re
from contextlib import suppress

from playwright.sync_api import Locator, TimeoutError, expect

from core.routers.ehrr import EhrrParameters
from tests.browser.visit import LIMIT_MS, Visit, plain
from tests.cli.conftest import wait_for

PLACE = """([chart, tool]) => {
  const drawn = chart._fullData.find(trace => trace.customdata);
  const at = [...drawn.customdata].indexOf(tool);
  const {xaxis, yaxis} = chart._fullLayout, box = chart.getBoundingClientRect();
  return [box.left + xaxis._offset + xaxis.d2p(drawn.x[at]), box.top + yaxis._offset + yaxis.d2p(drawn.y[at])];
}"""


class Route:
    """The Route page."""

    STEPS = ("1 · Servers by utility", "2 · Auction", "3 · Tools", "4 · Candidates")
    SENTENCE = re.compile(r"^(.+) has the highest utility, (−?-?[\d.]+)")

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.page = visit.page

    def ask(self, query: str) -> None:
        """Type a sub-task and see it decided."""
        self.visit.field("What is needed?").fill(query)
        self.page.keyboard.press("Enter")
        self.visit.until_query(q=query)
        self.decided()

    def decided(self) -> None:
        """Wait until all four steps are drawn."""
        for step in self.STEPS:
            self.visit.see(step)
        self.visit.see(self.SENTENCE)
        self.visit.settled()

    def headline(self) -> tuple[str, str]:
        """The winner and its utility, from the sentence on top."""
        match = self.SENTENCE.match(self.visit.see(self.SENTENCE).inner_text())
        assert match is not None
        return match[1], match[2]

    def until_winner(self, tool: str) -> None:
        """Wait until the sentence on top names this tool."""
        self.visit.see(re.compile(rf"^{re.escape(tool)} has the highest utility"))
        self.visit.settled()

    def figures(self) -> dict[str, str]:
        """The figures of the winner, without the decision's time."""
        return {
            name: self.metric(name)
            for name in ("Price a call", "Expected time", "One attempt succeeds", "Tokens exposed")
        }

    def metric(self, name: str) -> str:
        """One figure of the winner by its label."""
        box = self.visit.main.locator(".wayfare-metric").filter(has_text=re.compile(f"^{re.escape(name)}"))
        return box.locator("dd").inner_text().strip()

    def call(self, tool: str) -> None:
        """Press Call on a candidate."""
        pressed = self.page.get_by_role("button", name="Call", exact=True)
        cards = self.visit.main.get_by_test_id("stVerticalBlock").filter(has=pressed).filter(has_text=tool)
        cards.last.get_by_role("button", name="Call", exact=True).click()
        self.page.wait_for_url("**/call?*")
        self.visit.settled()

    # Knobs

    def slider(self, symbol: str) -> Locator:
        """A knob by its symbol, which stands behind its plain name."""
        return self.page.get_by_role("slider", name=re.compile(rf"(^|, ){re.escape(symbol)}(\W|$)"))

    def knob(self, symbol: str) -> Locator:
        """The whole of a knob, with its label."""
        label = re.compile(rf"(^|, ){re.escape(symbol)}(\W|$)")
        return self.page.locator(".wayfare-knob").filter(has=self.page.locator("label").filter(has_text=label))

    def default(self, symbol: str) -> float:
        """The default of an EHRR slider."""
        (info,) = [info for info in EhrrParameters.knobs() if info.symbol == symbol]
        return float(info.default or 0)

    def open_advanced(self) -> None:
        """Unfold the knobs that few people change."""
        fold = self.page.locator(".wayfare-group").filter(has_text=re.compile("^Advanced"))
        if fold.get_attribute("open") is None:
            fold.locator("summary").click()

    def marked(self) -> int:
        """How many knobs bear the mark of a changed one."""
        return self.page.locator(".wayfare-dot:not([hidden])").count()

    # Charts

    def chart(self, title: str) -> Locator:
        """A chart by its title."""
        return self.visit.main.locator(".js-plotly-plot").filter(has_text=title)

    def names(self, title: str) -> list[str]:
        """The names of a chart's points. Bars are drawn from below, so the best is last."""
        return self.chart(title).evaluate(
            "chart => [...chart.data.find(trace => trace.customdata).customdata].map(String)"
        )

    def click_bar(self, title: str, name: str) -> None:
        """Click on the bar of a server or tool."""
        self.visit.settled()  # charts are drawn anew after a choice
        box = self.bar(title, name).bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        for place in (x, x + 1):  # a chart that is drawn anew meanwhile forgets what was pointed at
            self.page.mouse.move(place, y)  # a click is on what was last pointed at
            expect(self.chart(title).locator(".hoverlayer .hovertext").first).to_contain_text(name, timeout=LIMIT_MS)
            self.page.wait_for_timeout(200)
            self.visit.settled()
        self.page.mouse.click(x + 1, y, delay=20)

    def bar(self, title: str, name: str) -> Locator:
        """The (first) bar of a server or tool."""
        place = self.names(title).index(name)
        bar = self.chart(title).locator(".trace.bars").first.locator(".point path").nth(place)
        bar.scroll_into_view_if_needed()
        return bar

    # Why

    def sentence(self) -> Locator:
        """The explanation of the result."""
        return self.visit.main.get_by_test_id("stAlertContainer").first

    def until_why(self, name: str, sentence: str) -> None:
        """Wait until the panel is about this server or tool, and matches a regular expression."""
        expect(self.visit.select("Why this server or tool?")).to_have_value(name, timeout=LIMIT_MS)
        expect(self.sentence()).to_contain_text(re.compile(sentence), timeout=LIMIT_MS)
        self.visit.settled()


class Call:
    """The Call page."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.page = visit.page

    def run(self, outcome: str, **arguments: str) -> None:
        """Fill the form, press Call and wait for this end (a regular expression)."""
        for name, text in arguments.items():
            self.visit.fill(name, text)
        self.visit.settled()
        self.visit.press("Call")
        badge = self.visit.main.locator(".stMarkdownBadge").filter(has_text=re.compile(f"({outcome})$"))
        expect(badge).to_be_visible(timeout=LIMIT_MS)
        self.visit.see("Changed statistics")
        self.visit.settled()

    def learnt(self, figure: str, before: str, after: str) -> dict[str, list[str]]:
        """Each running figure before and after the call, and its change, once one of them went from this to that: a grid draws its
        numbers after the page."""
        learnt: dict[str, list[str]] = {}

        def drawn() -> bool:
            learnt.update({row[0]: row[1:] for row in self.visit.table("server: success r")[1:]})
            return learnt.get(figure, [])[:2] == [before, after]

        wait_for(drawn)
        return learnt


class Map:
    """The Map page."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.page = visit.page

    @property
    def chart(self) -> Locator:
        """The map itself."""
        return self.visit.main.locator(".js-plotly-plot")

    def drawn(self) -> None:
        """Wait until the map is there."""
        expect(self.chart.locator(".scatterlayer .point").first).to_be_visible(timeout=LIMIT_MS)
        self.visit.settled()

    def tools(self) -> list[str]:
        """The names of the points."""
        return self.chart.evaluate("chart => [...chart.data.find(trace => trace.customdata).customdata]")

    def point_at(self, tool: str) -> None:
        """Move the mouse to a tool, and check its label."""
        x, y = self.page.evaluate(PLACE, [self.chart.element_handle(), tool])
        self.page.mouse.move(x - 2, y)
        self.page.mouse.move(x, y)
        name = plain(tool.split("::", 1)[1])[:12]
        expect(self.chart.locator(".hoverlayer .hovertext")).to_contain_text(name, timeout=LIMIT_MS)

    def click(self, tool: str) -> None:
        """Choose a tool, again if the map was redrawn during the click."""
        for _ in range(3):
            self.point_at(tool)
            self.page.mouse.down()
            self.page.mouse.up()
            with suppress(TimeoutError):
                self.page.wait_for_function(
                    "tool => new URLSearchParams(location.search).get('tool') === tool", arg=tool, timeout=LIMIT_MS / 4
                )
                return

    def topmost(self) -> str:
        """A tool with room around it, so that a click hits nothing else."""
        return self.chart.evaluate(
            """chart => {
              const {x, y, customdata} = chart.data.find(trace => trace.customdata);
              const [xs, ys] = [chart._fullData[0].x, chart._fullData[0].y];
              const room = at => Math.min(...[...xs.keys()].filter(other => other !== at)
                .map(other => Math.hypot(xs[at] - xs[other], ys[at] - ys[other])));
              return customdata[[...xs.keys()].sort((a, b) => room(b) - room(a))[0]];
            }"""
        )
