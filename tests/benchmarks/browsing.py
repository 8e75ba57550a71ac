"""The console as a person meets it: start, first decision, and a slider that is moved, in a real Chromium."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.measuring import free_port, percentile, report, running
from tests.browser.chromium import FLAGS

QUESTION = "?q=convert+300+miles+to+kilometres"
WAIT_FOR_CHANGE = """(before) => new Promise(resolve => {
  const text = () => [...document.querySelectorAll('.js-plotly-plot .textpoint')].map(e => e.textContent).join('|');
  const started = performance.now();
  let changed;
  const look = () => {
    const now = text();
    if (!changed && now && now !== before) changed = performance.now() - started;
    const done = changed && document.querySelector('[data-test-script-state=notRunning]')
      && !document.querySelector('.wayfare-chart[data-due]');
    done ? resolve([changed, performance.now() - started]) : requestAnimationFrame(look);
  };
  look();
})"""


def starts() -> None:
    """Cold (no exported model, no store) and warm: seconds to healthy, and to the first decision on the screen."""
    folder = Path(tempfile.mkdtemp())
    try:
        for name, reach in (("cold", ""), ("warm", "1.5 s and 4 s")):
            environment = {"WAYFARE_DB": str(folder / "bench.duckdb"), "WAYFARE_CACHE": str(folder / "cache")}
            port = free_port()
            begun = time.perf_counter()
            with (
                running(
                    ["-m", "core.cli", "up", "--port", str(port)], f"http://127.0.0.1:{port}/healthz", environment
                ) as healthy_s,
                sync_playwright() as playwright,
            ):
                page = _open(playwright, f"http://127.0.0.1:{port}/{QUESTION}")
                page.wait_for_function(
                    "document.querySelectorAll('.js-plotly-plot .textpoint').length > 3", timeout=180_000
                )
                decided_s = time.perf_counter() - begun
                report(f"start, {name}", {"healthy": healthy_s, "first decision on the screen": decided_s}, "s", reach)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def slider(presses: int = 60) -> None:
    """A key press on the alpha_t slider until the tool chart shows other numbers, and until all charts do."""
    folder = Path(tempfile.mkdtemp())
    environment = {"WAYFARE_DB": str(folder / "bench.duckdb")}
    port = free_port()
    try:
        with (
            running(["-m", "core.cli", "up", "--port", str(port)], f"http://127.0.0.1:{port}/healthz", environment),
            sync_playwright() as playwright,
        ):
            page = _open(playwright, f"http://127.0.0.1:{port}/{QUESTION}")
            page.wait_for_function(
                "document.querySelectorAll('.js-plotly-plot .textpoint').length > 3", timeout=180_000
            )
            page.wait_for_timeout(1500)
            changed, all_drawn = (
                sorted(times) for times in zip(*(_press(page, number) for number in range(presses)), strict=True)
            )
            for name, times, reach in (
                ("slider key press to changed chart", changed, "p50 130 ms, p90 200 ms"),
                ("slider key press to all charts drawn", all_drawn, ""),
            ):
                report(name, {"p50": percentile(times, 0.5), "p90": percentile(times, 0.9)}, "ms", reach)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _press(page: Page, number: int) -> tuple[float, float]:
    thumb = page.get_by_role("slider", name="αt")
    thumb.focus()
    before = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot .textpoint')].map(e => e.textContent).join('|')"
    )
    waiting = page.evaluate_handle(f"(before) => ({{done: ({WAIT_FOR_CHANGE})(before)}})", before)
    page.keyboard.press("ArrowRight" if number % 40 < 20 else "ArrowLeft")
    changed_ms, drawn_ms = page.evaluate("(w) => w.done", waiting)
    page.wait_for_timeout(150)
    return float(changed_ms), float(drawn_ms)


def _open(playwright: object, url: str) -> Page:
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)  # type: ignore[attr-defined]
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(url, wait_until="domcontentloaded")
    return page
