"""Reads the page for tests of turned knobs: the strip of αt, a value's place on it, and the drawing of each frame."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from core.routers.ehrr import EhrrParameters
from tests.browser.pages import Route
from tests.browser.visit import LIMIT_MS, Visit

AIR = "where is the Super Bowl shown in Germany"
TIMES = next(info for info in EhrrParameters.knobs() if info.name == "alpha_t")

FRAME = "new Promise(requestAnimationFrame)"
# The winner's names in one frame: sentence, card and chart; recorded at every change.
WATCH = """() => {
  window.frames = [];
  const text = (part) => document.querySelector(part)?.textContent;
  const read = () => ({
    value: Number(document.querySelector('[data-knob=alpha_t] input[type=range]').value),
    line: text('.wayfare-winner strong'),
    sentence: text('.wayfare-winner small')?.split(' has ')[0],
    card: text('[data-part="route:card:0"] strong'),
    chart: [...document.querySelectorAll('[data-part="route:tools"] text')].map(t => t.textContent)
      .find(t => t.startsWith('★'))?.slice(2),
  });
  const look = () => {
    const now = read(), last = window.frames.at(-1);
    if (JSON.stringify(now) !== JSON.stringify(last)) window.frames.push(now);
    requestAnimationFrame(look);
  };
  look();
}"""


def strip_loaded(route: Route) -> Locator:
    """The strip of αt, once it is coloured."""
    strip = route.knob("αt").locator(".wayfare-strip")
    expect(strip.locator(".wayfare-break").first).to_be_attached(timeout=LIMIT_MS)
    return strip


def x_of(strip: Locator, value: float) -> tuple[float, float]:
    """The place of a value of αt on the page; low values have more room."""
    box = strip.bounding_box()
    assert box is not None
    assert TIMES.low is not None
    assert TIMES.high is not None
    share = ((value - TIMES.low) / (TIMES.high - TIMES.low)) ** (1 / 3)
    return box["x"] + box["width"] * share, box["y"] + box["height"] / 2


def stored(visit: Visit) -> list[str]:
    """Requests of the fast lane so far."""
    return [url for url in visit.asked if url.endswith("/turn")]
