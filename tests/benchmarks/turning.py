"""A knob's response, beside the floor: the delay of a chart, the rate while dragging, and the rest after the release.

The floor is a page with the page host's own slider and one plain chart, and a page with six; all are measured in turn, in one run.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.benchmarks.measuring import free_port, percentile, report, running
from tests.browser.chromium import FLAGS

QUESTION = "?q=report+today%27s+air+quality+in+Krak%C3%B3w"
FLOOR = Path(__file__).with_name("floor_page.py")
QUIET_MS = 300  # after which a knob that was let go is stored
PRESSES, DRAG_STEPS, STEP_MS = 40, 240, 16

# from now on: ms until a chart's text changes, and until all are drawn and the page host is done
TIMED = """() => {
  const charts = () => [...document.querySelectorAll('.js-plotly-plot')];
  const text = (box) => [...box.querySelectorAll('text')].map(t => t.textContent).join('|');
  const before = charts().map(text), began = performance.now(), query = location.search;
  let changed;
  window.timed = new Promise(resolve => {
    const look = () => {
      const now = performance.now() - began;
      const differ = charts().map((box, number) => text(box) !== before[number]);
      if (differ.some(Boolean)) changed ??= now;
      const stored = document.querySelector('.wayfare-knobs') ? location.search !== query : differ.every(Boolean);
      const done = changed && stored && document.querySelector('[data-test-script-state=notRunning]')
        && !document.querySelector('[data-due]');
      done || now > 8000 ? resolve([changed ?? now, now]) : requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
}"""
# from now on: ms until the score over labelled tasks is redrawn
SCORED = """() => {
  const began = performance.now();
  window.scored = new Promise(resolve => {
    new MutationObserver((changes, watch) => {
      if (!changes.some(one => one.target.closest?.('[data-part="route:score"]'))) return;
      watch.disconnect();
      resolve(performance.now() - began);
    }).observe(document.body, {childList: true, subtree: true});
    setTimeout(() => resolve(8000), 8000);
  });
}"""
COUNTED = """() => {
  window.answers = 0;
  new MutationObserver(() => window.answers += 1)
    .observe(document.querySelector('[data-part="route:headline"]'), {childList: true});
}"""


def turning() -> None:
    """Key presses on three pages in turn, then a drag. A loaded machine distorts the figures."""
    folder = Path(tempfile.mkdtemp())
    try:
        with _pages(folder) as pages:
            times = {name: [(0.0, 0.0)] * 0 for name in pages}
            for number in range(PRESSES):
                for name, page in pages.items():
                    times[name].append(_press(page, number))
            changes = {name: sorted(changed_ms for changed_ms, _ in pairs) for name, pairs in times.items()}
            drawn_times = {name: sorted(drawn_ms for _, drawn_ms in pairs) for name, pairs in times.items()}
            print(f"load {os.getloadavg()[0]:.1f}")
            for name in pages:
                report(f"key press to changed chart, {name}", _both(changes[name]), "ms")
            ratios = [
                percentile(changes["ours"], share) / percentile(changes["floor of one"], share) for share in (0.5, 0.9)
            ]
            report("of the floor with one chart", dict(zip(("p50", "p90"), ratios, strict=True)), "", "0.6, 0.8")
            after_release = sorted(shown_ms - QUIET_MS for shown_ms in drawn_times["ours"])
            report("all drawn after letting go", _both(after_release), "ms")
            report("all drawn, floor of six", _both(drawn_times["floor of six"]), "ms")
            ratio = percentile(after_release, 0.5) / percentile(drawn_times["floor of six"], 0.5)
            report("of the floor with six charts", {"p50": ratio}, "", "1.3")
            scored = sorted(_scored(pages["ours"], number) for number in range(PRESSES))
            report("key press to changed score", _both(scored), "ms", "150 ms, complete in 1 s")
            report("while dragging", {"answers": _dragged(pages["ours"])}, "1/s", "12")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _both(times: list[float]) -> Mapping[str, float]:
    return {"p50": percentile(times, 0.5), "p90": percentile(times, 0.9)}


@contextmanager
def _pages(folder: Path) -> Iterator[dict[str, Page]]:
    """The floor with one chart and with six charts, and our page, drawn and at rest."""
    ports = [free_port() for _ in range(3)]
    with ExitStack() as stack:
        for port, charts in zip(ports[:2], (1, 6), strict=True):
            floor = ["-m", "streamlit", "run", str(FLOOR), "--server.port", str(port), "--server.headless", "true"]
            stack.enter_context(running(floor, f"http://127.0.0.1:{port}/_stcore/health", {"CHARTS": str(charts)}))
        console = ["-m", "core.cli", "up", "--port", str(ports[2])]
        environment = {"WAYFARE_DB": str(folder / "bench.duckdb")}
        stack.enter_context(running(console, f"http://127.0.0.1:{ports[2]}/healthz", environment))
        browser = stack.enter_context(sync_playwright()).chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or shutil.which("chromium"), args=FLAGS
        )
        names = {"floor of one": "", "floor of six": "", "ours": QUESTION}
        yield {
            name: _opened(browser, f"http://127.0.0.1:{port}/{query}")
            for port, (name, query) in zip(ports, names.items(), strict=True)
        }


def _opened(browser: Browser, url: str) -> Page:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(url, wait_until="domcontentloaded")
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot text').length > 10", timeout=180_000)
    page.wait_for_timeout(2_000)
    return page


def _press(page: Page, number: int) -> tuple[float, float]:
    page.bring_to_front()
    page.get_by_role("slider", name="αt").focus()
    page.evaluate(TIMED)
    page.keyboard.press("ArrowRight" if number % 40 < 20 else "ArrowLeft")
    changed_ms, drawn_ms = page.evaluate("timed")
    page.wait_for_timeout(200)
    return float(changed_ms), float(drawn_ms)


def _scored(page: Page, number: int) -> float:
    page.get_by_role("slider", name="αt").focus()
    page.evaluate(SCORED)
    page.keyboard.press("ArrowRight" if number % 40 < 20 else "ArrowLeft")
    scored = page.evaluate("scored")
    page.wait_for_timeout(1_000)
    return float(scored)


def _dragged(page: Page) -> float:
    """Answers drawn a second while the mouse moves to and fro."""
    page.bring_to_front()
    box = page.get_by_role("slider", name="αt").bounding_box()
    assert box is not None
    page.evaluate(COUNTED)
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    began = page.evaluate("performance.now()")
    for step in range(DRAG_STEPS):
        share = 0.2 + 0.5 * abs((step % 80) - 40) / 40
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        page.wait_for_timeout(STEP_MS)
    answers, ended = page.evaluate("[window.answers, performance.now()]")
    page.mouse.up()
    return 1e3 * answers / (ended - began)


if __name__ == "__main__":
    sys.exit(turning())
