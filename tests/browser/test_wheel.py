"""The wheel in an environment of its own: every file is in it, and its pages ask no other host and look as those of a checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from .conftest import Visitor
from .pages import Route
from .serving import ROOT, ConsoleProgram, Program, free_port
from .visit import LIMIT_MS

pytestmark = pytest.mark.browser

NOT_SOURCE = shutil.ignore_patterns("__pycache__")
FOLDERS = (".streamlit", "core", "dashboard", "sample_catalog")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1], {'--build-option': ['--compression=stored']})"
LOOKS = """() => {
    const style = selector => getComputedStyle(document.querySelector(selector))
    const page = style('[data-testid=stMainBlockContainer]'), app = style('[data-testid=stApp]')
    return [page.paddingTop, page.paddingBottom, page.maxWidth, app.backgroundColor, app.color, app.fontSize]
}"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of the wheel, which is built from a copy of the checkout."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=NOT_SOURCE)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-c", BUILD, folder], cwd=source, capture_output=True, check=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "packages")
    files = [file.relative_to(source) for name in FOLDERS for file in (source / name).rglob("*") if file.is_file()]
    assert [file for file in files if not (folder / "packages" / file).is_file()] == []
    return folder / "packages"


@pytest.fixture
def elsewhere(installed: Path, encoder_cache: Path, warm_store: Path, tmp_path: Path) -> Iterator[SimpleNamespace]:
    """A console of the wheel, started in an empty folder."""
    empty, db, url = (
        tmp_path / "empty",
        shutil.copy(warm_store, tmp_path / "w.duckdb"),
        f"http://127.0.0.1:{free_port()}",
    )
    empty.mkdir()
    words = ["-P", "-m", "core.cli", "up", "--port", url.rpartition(":")[2], "--db", str(db)]
    environment = {"PYTHONPATH": str(installed), "WAYFARE_CACHE": str(encoder_cache)}
    program = Program(words, f"{url}/healthz", tmp_path / "log", environment, python=sys.executable, cwd=empty)
    yield SimpleNamespace(url=url)
    program.stop()


def test_its_pages_ask_no_other_host_draw_a_chart_when_its_library_comes_late_and_look_as_in_a_checkout(
    elsewhere: SimpleNamespace, console: ConsoleProgram, visitor: Visitor
) -> None:
    theirs, ours = visitor(elsewhere, fresh=True), visitor(console)
    library = "**/plotly-*.min.js"
    theirs.page.route(library, lambda route: route.abort())
    theirs.open(q="convert 300 miles to kilometres")
    theirs.see("unit-exchange")
    theirs.see("This chart could not be drawn.")
    theirs.settled()
    assert all("ERR_FAILED" in error or "could not be drawn" in error for error in theirs.errors)
    theirs.errors.clear()

    theirs.page.unroute(library)
    theirs.page.get_by_role("slider", name="αt").press("ArrowRight")
    tools = Route(theirs).chart("3 · Tools")
    expect(tools.locator(".gtitle")).to_be_visible(timeout=LIMIT_MS)
    theirs.settled()
    expect(tools).not_to_contain_text("could not be drawn")
    theirs.check()
    ours.open()
    assert theirs.page.evaluate(LOOKS) == ours.page.evaluate(LOOKS)
    expect(theirs.page.get_by_role("button", name="Deploy")).to_have_count(0)
