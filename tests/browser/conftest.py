"""A Chromium a module, a console a worker, and a visitor a test whose every request and error is watched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from .chromium import FLAGS, NoBrowser, executable
from .serving import ConsoleProgram
from .visit import Visit

Visitor = Callable[..., Visit]
VISITS = pytest.StashKey[list[Visit]]()


@pytest.fixture(scope="session")
def chromium() -> str | None:
    """Returns the path of the Chromium, or None for Playwright's own. Skips the test without one; fails it where CI is set."""
    with sync_playwright() as playwright:
        try:
            return executable(os.environ, Path(playwright.chromium.executable_path))
        except NoBrowser as missing:
            if os.environ.get("CI"):
                pytest.fail(str(missing), pytrace=False)
            pytest.skip(str(missing))


@pytest.fixture(scope="module")
def browser(chromium: str | None) -> Iterator[Browser]:
    """A headless Chromium. It is closed after each module, because no other test can run an event loop beside it."""
    with launched(chromium) as browser:
        yield browser


@contextmanager
def launched(chromium: str | None, *flags: str) -> Iterator[Browser]:
    """Starts a headless Chromium and closes it at the end."""
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, *flags]) as browser,
    ):
        yield browser


Started = Callable[[], AbstractContextManager[ConsoleProgram]]


@pytest.fixture(scope="session")
def started(
    chromium: str | None, encoder_cache: Path, warm_store: Path, tmp_path_factory: pytest.TempPathFactory
) -> Started:
    """Starts a console on a store that holds the sample's vectors, and stops it at the end. It asks for the browser first: without
    one nothing is started."""

    @contextmanager
    def start() -> Iterator[ConsoleProgram]:
        db = Path(shutil.copy(warm_store, tmp_path_factory.mktemp("console") / "wayfare.duckdb"))
        console = ConsoleProgram(db, encoder_cache)
        console.start()
        try:
            yield console
        finally:
            console.stop()

    return start


@pytest.fixture(scope="session")
def console(started: Started) -> Iterator[ConsoleProgram]:
    """The console of a worker, for tests that leave nothing behind that another test reads."""
    with started() as console:
        yield console


@pytest.fixture(scope="module")
def own_console(started: Started) -> Iterator[ConsoleProgram]:
    """A console of the module on a store of its own, for tests that count what is stored, or stop the console."""
    with started() as console:
        yield console


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
        folder, console = given.get("tmp_path"), given.get("own_console", given.get("console"))
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
