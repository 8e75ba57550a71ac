"""Whatever strangers put into names, descriptions and results is text on every page: nothing runs, nothing is fetched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from core.app import Settings, open_app
from tests.importing import import_text

from .conftest import Started, Visitor
from .pages import Call, Map, Route
from .serving import ConsoleProgram
from .visit import Visit

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
TEXTS: list[str] = json.loads((HERE / "hostile_texts.json").read_text(encoding="utf-8"))
EVERYTHING = " ".join(TEXTS)
NEED = f"{TEXTS[0]} {TEXTS[3]} {TEXTS[5]} {TEXTS[1]}"
CALLED = f"{TEXTS[0]}::{TEXTS[1]}"
LONG = "Wide" * 50  # the longest name that is taken

FOUND = """() => {
  const own = location.origin + '/';
  const seen = [];
  if ('owned' in window) seen.push('a script ran: ' + window.owned);
  for (const script of document.querySelectorAll('script'))
    if (script.textContent.includes('owned')) seen.push('script element');
  for (const element of document.querySelectorAll('[src], [href], [xlink\\\\:href], [action], [srcset]'))
    for (const name of ['src', 'href', 'xlink:href', 'action', 'srcset']) {
      const text = element.getAttribute(name) ?? '';
      if (!text.startsWith("#") && (/^\\s*javascript:/i.test(text) || /evil/i.test(text) || text === "x"))
        seen.push(`${element.tagName} ${name}=${text}`);
    }
  for (const element of document.querySelectorAll('*'))
    for (const {name} of element.attributes)
      if (name.startsWith('on')) seen.push(`${element.tagName} has ${name}`);
  for (const element of document.querySelectorAll('iframe, object, embed'))
    seen.push(`${element.tagName} ${element.src ?? ''}`);
  for (const element of document.querySelectorAll('[data-testid=stMain] .katex'))
    seen.push('formula: ' + element.textContent);
  for (const element of document.querySelectorAll('[data-testid=stMain] .stMarkdownColoredText'))
    if (element.textContent === 'alarm') seen.push('coloured: alarm');
  return seen;
}"""


def hostile_catalog() -> str:
    """A catalog whose every text is an attack; its first server can be called."""
    schema = {
        "type": "object",
        "title": EVERYTHING,
        "description": EVERYTHING,
        "properties": {text: {"type": "string", "description": EVERYTHING, "default": text} for text in TEXTS[:4]}
        | {"pick": {"enum": TEXTS, "description": EVERYTHING}, "many": {"type": "array", "default": TEXTS}},
    }
    names = [*TEXTS, LONG]
    servers = [
        {
            "name": name,
            "title": TEXTS[(place + 2) % len(TEXTS)],
            "description": f"{name} {EVERYTHING}",
            "category": name[:60],
            "ask_usd": 0.0001,
            "connection": {"type": "stdio", "command": "${python}", "args": [str(HERE / "hostile_server.py")]},
            "tools": [
                {
                    "name": names[(place + 1) % len(names)],
                    "title": TEXTS[(place + 3) % len(TEXTS)],
                    "description": f"{name} {EVERYTHING}",
                    "inputSchema": schema,
                    "price_usd": 0.0001,
                    "tier": "<b>low</b>",
                    "tier_reason": TEXTS[4],
                    "annotations": {"title": EVERYTHING, "readOnlyHint": True},
                }
            ],
        }
        for place, name in enumerate(names)
    ]
    return json.dumps({"servers": servers})


def fill(db: Path, cache: Path) -> None:
    """Puts the catalog and its vectors into a store: to embed such long texts takes a busy machine a minute."""
    with open_app(Settings.from_environment({"WAYFARE_CACHE": str(cache)}, db=db)) as app:
        import_text(app.catalog_editor, hostile_catalog(), "hostile", source=TEXTS[0])
        app.catalogs.prepare("hostile")


@pytest.fixture(scope="module")
def hostile(browser: Browser, started: Started) -> Iterator[ConsoleProgram]:
    """A console with that catalog in its store."""
    with started(fill) as console:
        yield console


def is_text(visit: Visit, *texts: str) -> None:
    """These are on the page as they were written, and nothing was made from them."""
    visit.settled()
    visit.until_text(*texts)
    assert visit.page.evaluate(FOUND) == []
    visit.check()


def test_decided_called_and_looked_up(hostile: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(hostile)
    route = Route(visit)
    visit.open("", catalog="hostile", q=NEED, hint=TEXTS[4], n="11", k="11")
    route.decided()
    is_text(visit, *TEXTS[:2], "Wide")
    assert visit.field("What is needed?").input_value() == NEED
    assert visit.too_wide() == []
    box = route.bar("1 · Servers", TEXTS[0]).bounding_box()
    assert box is not None
    visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visit.see("similarity 0", within=visit.main.locator(".hoverlayer"))
    for name in (TEXTS[6], LONG):
        visit.choose("Why this server or tool?", name)
        route.until_why(name, "ranks")
        is_text(visit, name[:40])

    visit.open("call", catalog="hostile", tool=CALLED)
    visit.see("Result")
    Call(visit).run("success")
    visit.page.get_by_text("Arguments of this call").click()
    is_text(visit, *TEXTS)
    assert visit.too_wide() == []

    visit.open("activity")
    assert TEXTS[0] in [row[1] for row in visit.table("outcome")[1:]]
    choose_first_row(visit, "The record.")
    is_text(visit, TEXTS[0], TEXTS[1])
    visit.show("Decisions")
    choose_first_row(visit, "Candidates, by utility")
    is_text(visit, NEED)


def test_in_the_catalog_and_on_the_map(hostile: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(hostile)
    tool_map = Map(visit)
    visit.open("map", catalog="hostile", q=NEED, by="server")
    tool_map.drawn()
    tool = tool_map.topmost()
    tool_map.point_at(tool)
    visit.see("similarity 0", within=tool_map.chart.locator(".hoverlayer"))
    is_text(visit)
    tool_map.click(tool)
    visit.see("Nearest tools")
    is_text(visit, EVERYTHING)

    visit.open("catalog", catalog="hostile", server=TEXTS[0])
    visit.see("Show its tool")
    is_text(visit, *TEXTS)
    visit.open("catalog", catalog="hostile", view="tools", tool=f"{TEXTS[6]}::{TEXTS[7]}")
    visit.see("Call this tool")
    is_text(visit, *TEXTS)
    visit.open("catalog", catalog=TEXTS[0], view=TEXTS[1])
    is_text(visit, TEXTS[0])
    visit.press("Connect a client configuration…")
    visit.show("Paste text")
    box = visit.page.get_by_role("dialog").get_by_role("textbox", name="Text")
    box.fill(json.dumps({"mcpServers": {text: {"command": text, "args": TEXTS} for text in TEXTS}}))
    visit.press("Check it")
    visit.see("will be run on this machine", within=visit.page.get_by_role("dialog"))
    is_text(visit)


def choose_first_row(visit: Visit, shows: str) -> None:
    """Tick the first row of the table on top, which shows a text: it is drawn on a canvas, and a live page may draw it anew just then."""
    target = visit.main.get_by_text(shows).first
    for _ in range(3):
        visit.settled()
        visit.main.get_by_test_id("stDataFrame").first.click(position={"x": 16, "y": 50})
        with suppress(AssertionError):
            expect(target).to_be_visible(timeout=10_000)
            return
    expect(target).to_be_visible()
