"""A Chromium a module, a console a module, and a visitor a test whose every request and error is watched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from .chromium import FLAGS, NoBrowser, executable
from .serving import ConsoleProgram
from .visit import Visit

Visitor = Callable[..., Visit]
VISITS = pytest.StashKey[list[Visit]]()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium. Of a module, not of the session: while it runs, no other test could run an event loop."""
    with sync_playwright() as playwright:
        try:
            path = executable(os.environ, Path(playwright.chromium.executable_path))
        except NoBrowser as none:
            if os.environ.get("CI"):
                pytest.fail(str(none), pytrace=False)
            pytest.skip(str(none))
        with playwright.chromium.launch(executable_path=path, args=FLAGS) as launched:
            yield launched


@pytest.fixture(scope="module")
def make_console(
    encoder_cache: Path, warm_store: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], ConsoleProgram]]:
    """Consoles on stores that hold the sample's vectors, not started yet; those that run at the end are ended."""
    made: list[ConsoleProgram] = []

    def make() -> ConsoleProgram:
        db = Path(shutil.copy(warm_store, tmp_path_factory.mktemp("console") / "wayfare.duckdb"))
        made.append(ConsoleProgram(db, encoder_cache))
        return made[-1]

    yield make
    for console in made:
        console.stop()


@pytest.fixture(scope="module")
def console(browser: Browser, make_console: Callable[[], ConsoleProgram]) -> ConsoleProgram:
    """A running console on a store of its own. It asks for the browser first: without one nothing is started."""
    started = make_console()
    started.start()
    return started


@pytest.fixture
def visitor(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Visitor]:
    """Opens a browser window of its own on a console. At the end: nothing left this machine, no script failed."""
    visits = request.node.stash.setdefault(VISITS, [])

    def open_window(console: ConsoleProgram, *, width: int = 1440, height: int = 900) -> Visit:
        visits.append(Visit(browser, console.url, width=width, height=height))
        return visits[-1]

    yield open_window
    try:
        for visit in visits:
            visit.check()
    finally:
        for visit in visits:
            visit.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Of a test that failed: a picture of every open window, where it is, and what the console said last."""
    report = yield
    if report.when == "call" and report.failed:
        given: dict[str, object] = getattr(item, "funcargs", {})
        folder, console = given.get("tmp_path"), given.get("console")
        if isinstance(folder, Path):
            for number, visit in enumerate(item.stash.get(VISITS, []), start=1):
                report.sections.append((f"window {number}", visit.picture(folder / f"window-{number}.png")))
        if isinstance(console, ConsoleProgram):
            said = console.log.read_text(encoding="utf-8", errors="replace")
            report.sections.append(("the console's log", said[-4000:]))
    return report


@pytest.fixture(autouse=True)
def _pictures(tmp_path: Path) -> None:
    """Every test has a folder for the pictures of its failure."""
