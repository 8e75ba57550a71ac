"""A Chromium and a console a worker, and a visitor a test; every request and error is watched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from .chromium import FLAGS, NoBrowser, executable
from .serving import ConsoleProgram
from .visit import LIMIT_MS, Visit

Visitor = Callable[..., Visit]
VISITS = pytest.StashKey[list[Visit]]()
FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Playwright, once a process. Expectations and presses have the same time limit."""
    expect.set_options(timeout=LIMIT_MS)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def launch(playwright: Playwright) -> Callable[..., Browser]:
    """Starts a headless Chromium with these flags. Without a Chromium the test is skipped, or fails if CI is set."""
    try:
        path = executable(os.environ, Path(playwright.chromium.executable_path))
    except NoBrowser as missing:
        if os.environ.get("CI"):
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))
    return lambda *flags: playwright.chromium.launch(executable_path=path, args=[*FLAGS, *flags])


@pytest.fixture(scope="package")
def browser(launch: Callable[..., Browser]) -> Iterator[Browser]:
    """A headless Chromium."""
    with launch() as browser:
        yield browser


@pytest.fixture(scope="package")
def windows(browser: Browser) -> list[Page]:
    """Windows that visitors have left. A page reopens three times as fast in its old window, as its scripts are compiled."""
    return []


Started = Callable[..., AbstractContextManager[ConsoleProgram]]


@pytest.fixture(scope="session")
def started(encoder_cache: Path, warm_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Started:
    """Starts a console on a store that holds the sample's vectors, and stops it at the end. `fill` gets the store's file and the cache before."""

    @contextmanager
    def start(
        fill: Callable[[Path, Path], None] = lambda *_: None, options: Sequence[str] = ()
    ) -> Iterator[ConsoleProgram]:
        db = Path(shutil.copy(warm_store, tmp_path_factory.mktemp("console") / "wayfare.duckdb"))
        fill(db, encoder_cache)
        console = ConsoleProgram(db, encoder_cache, options)
        console.start()
        try:
            yield console
        finally:
            console.stop()

    return start


@pytest.fixture(scope="package")
def console(browser: Browser, started: Started) -> Iterator[ConsoleProgram]:
    """The console that tests share. Tests leave nothing in it that others read."""
    with started() as console:
        yield console


@pytest.fixture(scope="module")
def own_console(browser: Browser, started: Started) -> Iterator[ConsoleProgram]:
    """A module's console on a separate store, for tests that count stored rows or stop the console.

    It asks for the browser first: without one nothing is started."""
    with started() as console:
        yield console


@pytest.fixture
def visitor(browser: Browser, windows: list[Page], request: pytest.FixtureRequest) -> Iterator[Visitor]:
    """Opens a browser window on a console. Checks at the end that no request left this machine and no script failed.

    The window is one that another visitor has left, unless it has to be `fresh`. After a failure it is closed.
    """
    visits = request.node.stash.setdefault(VISITS, [])

    def open_window(console: ConsoleProgram, *, width: int = 1440, height: int = 900, fresh: bool = False) -> Visit:
        page = windows.pop() if windows and not fresh else browser.new_context().new_page()
        page.context.set_default_timeout(LIMIT_MS)
        visits.append(Visit(page, console.url, width=width, height=height))
        return visits[-1]

    yield open_window
    passed = False
    try:
        for visit in visits:
            visit.check()
        passed = not request.node.stash.get(FAILED, False)
    finally:
        for visit in reversed(visits):  # the next test begins with the window that has been used longest
            if passed:
                visit.leave()
                windows.append(visit.page)
            else:
                visit.page.context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Reports of a failed test: each open window's picture and address, and the end of the console's log."""
    report = yield
    if report.when == "call" and report.failed:
        item.stash[FAILED] = True
        fixtures: dict[str, object] = getattr(item, "funcargs", {})
        folder, console = fixtures.get("tmp_path"), fixtures.get("own_console", fixtures.get("console"))
        if isinstance(folder, Path):
            for number, visit in enumerate(item.stash.get(VISITS, []), start=1):
                report.sections.append((f"window {number}", visit.picture(folder / f"window-{number}.png")))
        if isinstance(console, ConsoleProgram):
            log = console.log.read_text(encoding="utf-8", errors="replace")
            report.sections.append(("the console's log", log[-4000:]))
    return report


@pytest.fixture(autouse=True)
def _pictures(tmp_path: Path) -> None:
    """Every test has a folder for the pictures of its failure."""
