"""The Catalog page: a followed file is shown before it is taken, and one server is changed alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from core.app import App
from core.catalogs.background_jobs import Job
from dashboard.pages.catalog.connection_job import JOB
from tests.cli.conftest import RAW
from tests.cli.test_servers import mirror  # noqa: F401 - a fixture
from tests.dashboard.catalog_visits import CATALOG, button, everything, visit
from tests.dashboard.harness import app_with, text_of

app = app_with({"mine": CATALOG})
SECRET = "hunter2-PLANTED"
ENTRY: dict[str, Any] = {"command": sys.executable, "args": ["-S", RAW]}


def done(page: Any) -> Any:
    """The page after its job."""
    job: Job = page.session_state[JOB]
    job.future.result(timeout=60)
    return page.run()


def names(app: App) -> tuple[list[str], list[str]]:
    known = app.catalogs.catalog("live")
    return [server.name for server in known.servers], [server.name for server in known.off]


def test_changes_of_the_file_are_shown_taken_and_ignored(app: App, tmp_path: Path) -> None:
    file = tmp_path / "live.json"

    def write(**servers: Any) -> None:
        file.write_text(json.dumps({"mcpServers": servers}))

    write(raw=ENTRY)
    app.catalog_editor.discover_file(file)
    assert "has changed" not in text_of(visit(catalog="live"))
    write(raw={**ENTRY, "env": {"KEY": SECRET}}, **{"<b>x</b>": ENTRY})
    page = visit(catalog="live")
    assert "has changed" in text_of(page)
    assert "variables KEY" in text_of(page)
    assert "**<b>x</b>** added" in text_of(page)
    assert SECRET not in everything(page)
    page = done(page.button(key="catalog.file.take").click().run())
    assert names(app) == (["raw", "<b>x</b>"], [])
    assert "2 of 2 servers answered" in text_of(page)
    write(raw=ENTRY)
    visit(catalog="live").button(key="catalog.file.ignore").click().run()
    assert names(app) == (["raw", "<b>x</b>"], [])
    page = visit(catalog="live")
    assert "has changed" not in text_of(page)
    file.write_text("{")
    assert "The catalog stays as it is" in everything(visit(catalog="live"))
    page.radio(key="catalog.file.follow.live").set_value("off").run()
    assert "stays as it is" not in everything(page)


def test_one_server_is_added_switched_off_and_on_and_removed(app: App) -> None:
    app.catalog_editor.discover(
        app.catalog_editor.read(json.dumps({"mcpServers": {"raw": ENTRY}}), "test"), "live", "test"
    )
    page = visit(catalog="live")
    button(page, "Add a server…").click().run()
    page.text_input(key="catalog.import.server").set_value("two")
    page.text_input(key="catalog.import.command").set_value(f"{sys.executable} -S {RAW}")
    page.text_area(key="catalog.import.given").set_value(f"KEY={SECRET}").run()
    page = done(page.button(key="catalog.import.add").click().run())
    assert "1 of 1 server answered with 10 tools" in text_of(page)
    assert SECRET not in everything(page)
    for action in ("discover", "restart"):
        page = done(visit(catalog="live", server="two").button(key=f"catalog.server.{action}").click().run())
        assert not page.exception
    visit(catalog="live", server="two").button(key="catalog.server.off").click().run()
    assert names(app) == (["raw"], ["two"])
    page = visit(catalog="live")
    assert "1 server switched off" in text_of(page)
    done(page.button(key="catalog.on.two").click().run())
    assert names(app) == (["raw", "two"], [])
    visit(catalog="live", server="two").button(key="catalog.server.remove").click().run()
    assert names(app) == (["raw"], [])
    assert not [one for one in app.catalog_editor.vault.names() if one[0].server == "two"]
    assert not [
        key for key in visit(catalog="sample", server="web-search").button if str(key.key).startswith("catalog.server.")
    ]


def test_a_published_server_is_fetched_and_held(app: App, mirror: str) -> None:  # noqa: F811
    app.servers.registry = mirror
    page = visit(catalog="mine")
    page.button(key="catalog.add").click().run()
    assert page.button(key="catalog.import.registry").disabled
    page.text_input(key="catalog.import.server").set_value("io.github.x/gone").run()
    page.button(key="catalog.import.registry").click().run()
    assert "has no server io.github.x/gone" in text_of(page)
    page.text_input(key="catalog.import.server").set_value("io.github.x/weather").run()
    page.button(key="catalog.import.registry").click().run()
    assert not page.exception
    assert "held: it starts or is reached as uvx weather-mcp@1.2; it needs io.github.x/weather/KEY" in text_of(page)
    assert "uvx weather-mcp@1.2\nKEY=${secret:io.github.x/weather/KEY}" in [code.value for code in page.code]
    page.button(key="catalog.off.remove.io.github.x/weather").click().run()
    assert not app.catalogs.catalog("mine").off
