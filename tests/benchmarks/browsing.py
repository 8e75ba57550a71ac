"""The console as a person meets it: start and first decision, in a real Chromium."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.benchmarks.measuring import free_port, report, running
from tests.browser.chromium import FLAGS

QUESTION = "?q=convert+300+miles+to+kilometres"


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


def _open(playwright: object, url: str) -> Page:
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)  # type: ignore[attr-defined]
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(url, wait_until="domcontentloaded")
    return page
