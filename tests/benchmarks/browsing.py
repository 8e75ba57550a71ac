"""The console as a person meets it: start and first decision, in a real Chromium."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

from tests.benchmarks.measuring import ROOT, free_port, report, running
from tests.browser.chromium import FLAGS

QUESTION = "?q=convert+300+miles+to+kilometres"
TURNS = 5


def starts() -> None:
    """Cold (no exported model, no store) and warm: seconds to healthy, and to the first decision on the screen.

    Warm starts take turns with the page host alone, which shows an empty page with one chart.
    """
    folder = Path(tempfile.mkdtemp())
    environment = {"WAYFARE_DB": str(folder / "bench.duckdb"), "WAYFARE_CACHE": str(folder / "cache")}
    try:
        healthy_s, decided_s = _started(_console, "/healthz", QUESTION, environment)
        report("start, cold", {"healthy": healthy_s, "first decision on the screen": decided_s}, "s")
        pairs = [
            (_started(_console, "/healthz", QUESTION, environment), _started(_floor, "/_stcore/health", "", {}))
            for _ in range(TURNS)
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    console_starts, floor_starts = ([start[place] for start in pairs] for place in (0, 1))
    figures = {
        "healthy": min(start[0] for start in console_starts),
        "first decision on the screen": min(start[1] for start in console_starts),
    }
    report("start, warm, the best", figures, "s", "1.5 s and 4 s")
    ratios = sorted(start[1] / floor_start[1] for start, floor_start in zip(console_starts, floor_starts, strict=True))
    report("  in starts of an empty page with one chart", {"best": ratios[0], "median": median(ratios)}, "", "1.3")


def _console(port: int) -> list[str]:
    return ["-m", "core.cli", "up", "--port", str(port)]


def _floor(port: int) -> list[str]:
    options = ("--server.port", str(port), "--server.headless", "true", "--browser.gatherUsageStats", "false")
    return ["-m", "streamlit", "run", str(ROOT / "tests" / "benchmarks" / "floor_page.py"), *options]


def _started(
    command: Callable[[int], list[str]], health: str, query: str, environment: dict[str, str]
) -> tuple[float, float]:
    """Seconds from the start of a server to healthy, and to a chart with its numbers on the screen."""
    port = free_port()
    with sync_playwright() as playwright:
        executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        begun = time.perf_counter()
        with running(command(port), f"http://127.0.0.1:{port}{health}", environment) as healthy_s:
            page.goto(f"http://127.0.0.1:{port}/{query}", wait_until="domcontentloaded")
            page.wait_for_function(
                "document.querySelectorAll('.js-plotly-plot .textpoint, .js-plotly-plot text').length > 3",
                timeout=180_000,
            )
            return healthy_s, time.perf_counter() - begun
