"""The Catalog page's connections: discovery asks for values and reports, states and errors are text."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.catalog import ConnectionState, Imported, ServerId
from core.domain.errors import CatalogError
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from dashboard.pages.catalog.connection_job import JOB, Asked
from dashboard.pages.catalog.connections import connection_frame
from tests.dashboard.catalog_visits import CATALOG, CONFIG, SECRET, button, everything, paste, visit
from tests.dashboard.harness import app_with, text_of
from tests.importing import import_text

app = app_with({"mine": CATALOG})


def test_connecting_warns_asks_for_values_and_reports(app: App) -> None:
    page = visit(catalog="mine")
    button(page, "Connect a client configuration…").click().run()
    paste(page, json.dumps(CONFIG))
    plan = page.dataframe[-1].value.iloc[0]
    assert (plan["command or address"], plan["needs"]) == ("no-such-command-anywhere", "token")
    assert "1 command will be run on this machine" in text_of(page)
    page.text_input(key="catalog.import.value.0").set_value(SECRET)
    page.text_input(key="catalog.import.name").set_value("live")
    button(page, "Connect and discover").click().run()
    assert not page.exception
    job: Job = page.session_state[JOB]
    with pytest.raises(CatalogError):
        job.future.result(timeout=30)
    page.run()
    assert "no server answered, so nothing was kept" in text_of(page)
    assert not page.text_area
    assert SECRET not in everything(page)
    assert [info.name for info in app.catalogs.infos()] == [*SHIPPED_CATALOGS, "mine"]
    button(page, "Try again…").click().run()
    assert page.dataframe[-1].value.iloc[0]["needs"] == ""
    button(page, "Close the report").click().run()
    assert "no server answered" not in text_of(page)


def test_a_value_is_changed_for_one_catalog_at_its_server(app: App) -> None:
    import_text(app.catalog_editor, json.dumps(CATALOG), "twin")
    page = visit(catalog="mine", server="weather")
    assert "All values are entered" in text_of(page)
    page.text_input(key="catalog.detail.value.mine::weather.0").set_value("x" * 40)
    button(page, "Keep them").click().run()
    assert "x" * 40 not in everything(page)
    lengths = {
        name: len(app.vault.resolve(ServerId(name, "weather"), connection).env["KEY"])
        for name in ("mine", "twin")
        if (connection := app.catalogs.catalog(name).servers[0].connection) is not None
    }
    assert lengths == {"mine": 40, "twin": len(SECRET)}


def test_a_running_discovery_shows_its_progress(app: App) -> None:
    imported = Imported("plain", app.catalogs.catalog("mine").servers)
    page = visit(remembered={JOB: Job(Asked(imported, "live", "test"))})
    assert "Asking 2 servers for their tools" in everything(page)


def test_connections_start_empty(app: App) -> None:
    page = visit(catalog="mine", view="connections")
    assert "No server is connected yet." in text_of(page)
    page.button(key="catalog.connect.first").click().run()
    assert "Your file is only read." in text_of(page)


def test_connections_show_state_and_error_as_text() -> None:
    state = ConnectionState(
        server="<b>x</b>", transport="stdio", state="failed", since=datetime(2026, 1, 2, tzinfo=UTC), last_error="it\nbroke",
        protocol_version="", server_version="", calls=3, connect_s=None, stderr_lines=("oops",), pid=None,
    )  # fmt: skip
    row = connection_frame([state]).iloc[0]
    assert (row["server"], row["state"], row["last_error"], row["calls"]) == ("<b>x</b>", "✗ failed", "it broke", 3)
    assert connection_frame([]).empty
