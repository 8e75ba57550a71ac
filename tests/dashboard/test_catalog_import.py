"""The Catalog page's dialogs that import and connect: documents pasted, refused, replaced, joined; values asked for, states as text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.catalog import Connection, ConnectionState, Imported, ServerId
from core.domain.errors import CatalogError
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from dashboard.pages.catalog.connection_job import JOB, command_line, connection_lines
from dashboard.pages.catalog.connections import connection_frame
from dashboard.pages.catalog.detail import parse_price
from dashboard.pages.catalog.imports import (
    PASTED,
    Document,
    name_for,
    read_documents,
    source_of,
)
from dashboard.pages.catalog.state import Connecting
from tests.dashboard.catalog_visits import CATALOG, CONFIG, SECRET, everything, importing, paste, visit
from tests.dashboard.harness import app_with, labelled, text_of
from tests.importing import import_text

app = app_with({"mine": CATALOG})


def test_pasting_imports_and_clears_the_text(app: App) -> None:
    page = importing(json.dumps({**CATALOG, "servers": CATALOG["servers"][:1]}))
    assert "Format plain: 1 server, 2 tools, 1 without a price." in text_of(page)
    page.text_input(key="catalog.import.name").set_value("new").run()
    labelled(page, "Import").click().run()
    assert not page.exception
    assert "Imported as new." in text_of(page)
    assert page.query_params == {"catalog": "new"}
    assert not page.text_area
    assert "Forecasts" in everything(visit(catalog="new", server="weather"))
    assert SECRET not in everything(page) + everything(visit(catalog="new", server="weather"))
    assert SECRET not in str(page.session_state)


def test_a_bad_document_is_refused_with_a_sentence(app: App) -> None:
    previous = app.catalogs.infos()
    page = importing('{"mcpServers": {"a": {"env": {"KEY": "' + SECRET + '"}}}}')
    assert "neither command nor url" in page.error[0].value.replace("\\", "")
    assert "Nothing was imported" in page.error[0].value
    assert SECRET not in page.error[0].value
    assert "Import" not in [button.label for button in page.button]
    assert app.catalogs.infos() == previous


def test_replacing_needs_a_tick_and_the_sample_stays(app: App) -> None:
    page = importing('{"servers": [{"name": "other", "tools": [{"name": "t"}]}]}')
    page.text_input(key="catalog.import.name").set_value("mine").run()
    assert labelled(page, "Import").disabled
    page.checkbox(key="catalog.import.replace").check().run()
    assert not labelled(page, "Import").disabled
    page.text_input(key="catalog.import.name").set_value("sample").run()
    labelled(page, "Import").click().run()
    assert "belongs to a shipped catalog" in text_of(page)
    assert [server.name for server in app.catalogs.catalog("mine").servers] == ["weather", "files"]


def test_several_files_are_one_catalog(app: App) -> None:
    page = visit(catalog="mine")
    labelled(page, "Import…").click().run()
    first, second = (json.dumps({"servers": [server]}).encode() for server in CATALOG["servers"])
    page.file_uploader(key="catalog.import.files").set_value(
        [("one.json", first, "application/json"), ("two.json", second, "application/json")]
    ).run()
    labelled(page, "Import").click().run()
    assert page.query_params == {"catalog": "one"}
    assert [server.name for server in app.catalogs.catalog("one").servers] == ["weather", "files"]


def test_a_configuration_of_this_machine_is_one_click_away(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"git": {"command": "uvx", "env": {"API_KEY": SECRET}}}}))
    content = file.read_bytes()
    page = visit(catalog="mine")
    labelled(page, "Import…").click().run()
    page.segmented_control(key="catalog.import.way").set_value("Found on this machine").run()
    assert page.radio(key="catalog.import.found").options == ["Cursor: 1 server"]
    assert "Format client_config" not in text_of(page)
    page.radio(key="catalog.import.found").set_value(0).run()
    assert "Format client_config: 1 server" in text_of(page)
    labelled(page, "Import").click().run()
    assert "Imported as cursor." in text_of(page)
    (server,) = app.catalogs.catalog("cursor").servers
    assert dict(server.connection.env) == {"API_KEY": "${secret:git/API_KEY}"}
    assert SECRET not in everything(page) + str(page.session_state)
    assert file.read_bytes() == content


ONE = '{"servers": [{"name": "a", "tools": [{"name": "t", "price_usd": 0.001}]}]}'


def test_one_bad_document_spoils_all_and_every_problem_is_listed(app: App) -> None:
    bad = '{"servers": [{"name": "a", "tools": [{"name": "t"}, {"name": "t", "price_usd": NaN}]}]}'
    reading = read_documents(app, (Document("one.json", ONE), Document("bad.json", bad)))
    assert reading.imported is None
    assert reading.sentence.startswith("Nothing was imported: bad.json: ")
    assert reading.sentence.endswith("(and 1 more problem).")
    assert len(reading.problems) == 2


def test_a_name_suggests_itself(app: App) -> None:
    assert name_for([Document("my tools.json", "")], app) == "my-tools"
    assert name_for([Document("sample.json", "")], app) == "imported-1"
    assert name_for([Document("search-15.json", "")], app) == "imported-1"
    assert name_for([Document(PASTED, "")], app) == "imported-1"
    assert source_of([Document(f"{n}.json", "") for n in range(7)]).endswith("4.json and 2 more")


def test_what_is_no_price_is_told_in_a_sentence() -> None:
    for text in ("", "free", "-1", "nan", "1e999", "$", "1 2"):
        with pytest.raises(ValueError, match="write a number of at least 0"):
            parse_price(text)


def test_a_command_is_shown_as_it_will_run() -> None:
    hostile = Connection(
        "stdio", command="sh", args=("-c", "a b; rm\nx\u202e"), env={"K": "${secret:s/K}"}, cwd="/tmp/a b"
    )
    assert command_line(hostile) == r'sh -c "a b; rm\nx\u202e"'
    assert connection_lines(hostile).splitlines()[1:] == ["in '/tmp/a b'", "K=${secret:s/K}"]
    remote = Connection("http", url="https://x.org/mcp", headers={"Authorization": "Bearer ${env:T}"})
    assert connection_lines(remote) == "https://x.org/mcp\nAuthorization: 'Bearer ${env:T}'"


def test_connecting_warns_asks_for_values_and_reports(app: App) -> None:
    page = visit(catalog="mine")
    labelled(page, "Connect a client configuration…").click().run()
    paste(page, '{"mcpServers": {"units": {"type": "http", "url": "https://units.example/mcp"}}}')
    assert "1 address will be contacted over the network" in text_of(page)
    paste(page, json.dumps(CONFIG))
    plan = page.dataframe[-1].value.iloc[0]
    assert (plan["command or address"], plan["needs"]) == ("no-such-command-anywhere", "token")
    assert "1 command will be run on this machine" in text_of(page)
    page.text_input(key="catalog.import.value.0").set_value(SECRET)
    page.text_input(key="catalog.import.name").set_value("live")
    labelled(page, "Connect and discover").click().run()
    assert not page.exception
    job: Job = page.session_state[JOB]
    assert job.about.name == "live"  # typed right before the press: not the name that was drawn
    with pytest.raises(CatalogError):
        job.future.result(timeout=30)
    page.run()
    assert "no server answered, so nothing was kept" in text_of(page)
    assert not page.text_area
    assert SECRET not in everything(page)
    assert [info.name for info in app.catalogs.infos()] == [*SHIPPED_CATALOGS, "mine"]
    labelled(page, "Try again…").click().run()
    assert page.dataframe[-1].value.iloc[0]["needs"] == ""
    labelled(page, "Close the report").click().run()
    assert "no server answered" not in text_of(page)


def test_a_value_is_changed_for_one_catalog_at_its_server(app: App) -> None:
    import_text(app.catalog_editor, json.dumps(CATALOG), "twin")
    page = visit(catalog="mine", server="weather")
    assert "All values are entered" in text_of(page)
    page.text_input(key="catalog.detail.value.mine::weather.0").set_value("x" * 40)
    labelled(page, "Keep them").click().run()
    assert "x" * 40 not in everything(page)
    lengths = {
        name: len(app.vault.resolve(ServerId(name, "weather"), connection).env["KEY"])
        for name in ("mine", "twin")
        if (connection := app.catalogs.catalog(name).servers[0].connection) is not None
    }
    assert lengths == {"mine": 40, "twin": len(SECRET)}


def test_a_running_discovery_shows_its_progress(app: App) -> None:
    imported = Imported("plain", app.catalogs.catalog("mine").servers)
    page = visit(remembered={JOB: Job(Connecting(imported, "live", "test"))})
    assert "Asking 2 servers for their tools" in everything(page)
    page = visit(remembered={JOB: Job(Connecting(Imported("plain", ()), "live", whole=False))})
    assert "Asking the changed servers for their tools" in everything(page)


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
