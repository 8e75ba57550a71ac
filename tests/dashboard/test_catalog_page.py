"""The Catalog page as a visitor uses it, over a store in memory."""

from __future__ import annotations

import json
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.connection_state import ConnectionState
from core.domain.imports import Imported
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.services.catalog_editor import ImportReport
from core.shared.errors import CatalogError
from dashboard.pages.catalog.connections.job import JOB, Job
from dashboard.pages.catalog.connections.table import connection_frame
from tests.dashboard.harness import app_with, open_page, text_of

SECRET = "hunter2-is-my-secret"
CATALOG = {
    "servers": [
        {
            "name": "weather",
            "description": "Forecasts for any place.",
            "connection": {"command": "no-such-command", "env": {"KEY": SECRET}},
            "tools": [
                {"name": "today", "description": "The weather now.", "price_usd": 0.002, "inputSchema": {}},
                {"name": "week", "description": "Seven days ahead."},
            ],
        },
        {"name": "files", "description": "Reads files.", "tools": [{"name": "read", "price_usd": 0.1}]},
    ]
}
CONFIG = {
    "inputs": [{"id": "token", "type": "promptString", "description": "Your token", "password": True}],
    "servers": {"gone": {"command": "no-such-command-anywhere", "env": {"TOKEN": "${input:token}", "KEY": SECRET}}},
}


app = app_with({"mine": CATALOG})
visit = partial(open_page, "catalog")


def everything(page: AppTest) -> str:
    """All that the page shows and holds in its elements, as one text."""
    return "\n".join(str(element.proto) for element in page.main) + json.dumps(dict(page.query_params))


def paste(page: AppTest, text: str) -> AppTest:
    page.segmented_control(key="catalog.import.way").set_value("Paste text").run()
    page.text_area(key="catalog.import.text").set_value(text).run()
    assert not page.exception
    return page


def importing(text: str) -> AppTest:
    page = visit(catalog="mine")
    button(page, "Import…").click().run()
    return paste(page, text)


def button(page: AppTest, label: str):
    return next(one for one in page.button if one.label == label)


def test_the_first_visit_shows_the_sample(app: App) -> None:
    page = visit()
    assert page.selectbox(key="catalog.catalog").value == "sample"
    assert page.metric[0].value == str(len(app.catalogs.catalog("sample").servers))
    assert len(page.dataframe[0].value) == len(app.catalogs.catalog("sample").servers)
    assert page.query_params == {"catalog": "sample"}


def test_every_shipped_catalog_can_be_chosen_and_none_removed(app: App) -> None:
    page = visit()
    assert page.selectbox(key="catalog.catalog").options[: len(SHIPPED_CATALOGS)] == [*SHIPPED_CATALOGS]
    for name in SHIPPED_CATALOGS:
        page.selectbox(key="catalog.catalog").set_value(name).run()
        assert page.metric[1].value == str(len(app.catalogs.catalog(name).tools))
        assert [block.proto.popover.disabled for block in page.get("popover")] == [True]


def test_a_link_opens_a_server(app: App) -> None:
    page = visit(catalog="mine", server="weather")
    assert "##### weather" in text_of(page)
    assert page.code[0].value == "no-such-command\nKEY=${secret:weather/KEY}"
    assert page.query_params == {"catalog": "mine", "server": "weather"}


def test_a_link_opens_a_tool(app: App) -> None:
    page = visit(catalog="mine", tool="weather::today")
    assert "##### today" in text_of(page)
    assert button(page, "Call this tool")
    assert page.query_params == {
        "catalog": "mine",
        "view": "tools",
        "server": "weather",
        "tool": "weather::today",
    }


def test_what_is_not_there_is_said(app: App) -> None:
    assert "There is no catalog ghost" in text_of(visit(catalog="ghost"))
    assert "There is no server ghost" in text_of(visit(catalog="mine", server="ghost"))


def test_search_narrows_both_tables_and_can_be_cleared(app: App) -> None:
    page = visit(catalog="mine", q="READS")
    assert list(page.dataframe[0].value["server"]) == ["files"]
    page.segmented_control(key="catalog.view").set_value("Tools").run()
    assert "None of 3 tools matches the search." in text_of(page)
    button(page, "Clear the search").click().run()
    assert list(page.dataframe[0].value["tool"]) == ["today", "week", "read"]
    page.selectbox(key="catalog.server").set_value("weather").run()
    assert list(page.dataframe[0].value["tool"]) == ["today", "week"]
    assert page.query_params["server"] == "weather"


def test_a_price_is_set_marked_and_reset(app: App) -> None:
    page = visit(catalog="mine", tool="weather::today")
    page.text_input(key="catalog.price.mine.weather.today").set_value("$0.5")
    button(page, "Set").click().run()
    row = page.dataframe[0].value.iloc[0]
    assert (row["price_musd"], row["price_source"]) == (500.0, "edited")
    assert "edited] · declared: 2 m$" in text_of(page)
    button(page, "Reset to declared").click().run()
    row = page.dataframe[0].value.iloc[0]
    assert (row["price_musd"], row["price_source"]) == (2.0, "declared")
    assert button(page, "Reset to declared").disabled


def test_an_ask_is_set(app: App) -> None:
    page = visit(catalog="mine", server="files")
    page.text_input(key="catalog.price.mine.files.").set_value("3")
    button(page, "Set").click().run()
    assert page.dataframe[0].value.iloc[1]["ask_source"] == "edited"
    assert app.catalogs.statistics("mine").servers.ask_usd[1] == pytest.approx(0.003)


def test_what_is_no_price_changes_nothing(app: App) -> None:
    page = visit(catalog="mine", tool="weather::today")
    page.text_input(key="catalog.price.mine.weather.today").set_value("-1")
    button(page, "Set").click().run()
    assert "“-1” is not a price; write a number of at least 0" in text_of(page)
    assert page.dataframe[0].value.iloc[0]["price_source"] == "declared"


def test_pasting_imports_and_clears_the_text(app: App) -> None:
    page = importing(json.dumps({**CATALOG, "servers": CATALOG["servers"][:1]}))
    assert "Format plain: 1 server, 2 tools, 1 without a price." in text_of(page)
    page.text_input(key="catalog.import.name").set_value("new").run()
    button(page, "Import").click().run()
    assert not page.exception
    assert "Imported as new." in text_of(page)
    assert page.query_params == {"catalog": "new"}
    assert not page.text_area
    assert "Forecasts" in everything(visit(catalog="new", server="weather"))
    assert SECRET not in everything(page) + everything(visit(catalog="new", server="weather"))
    assert SECRET not in str(page.session_state)


BAD = {
    "not json": ("{", "is not JSON"),
    "no format": ("[1, 2]", "none of the formats known"),
    "duplicate tools": (
        '{"servers": [{"name": "a", "tools": [{"name": "t"}, {"name": "t"}]}]}',
        "name is the same as that of tools[0]",
    ),
    "non-finite price": (
        '{"servers": [{"name": "a", "tools": [{"name": "t", "price_usd": NaN}]}]}',
        "price_usd is NaN",
    ),
    "negative ask": ('{"servers": [{"name": "a", "ask_usd": -1, "tools": [{"name": "t"}]}]}', "ask_usd is -1"),
    "control character": ('{"servers": [{"name": "a\\u0007", "tools": []}]}', "holds the control character U+0007"),
    "missing command": ('{"mcpServers": {"a": {"env": {"KEY": "' + SECRET + '"}}}}', "neither command nor url"),
    "long description": (
        json.dumps({"servers": [{"name": "a", "description": "x" * 10_000_000, "tools": []}]}),
        "description has 10,000,000 characters",
    ),
    "empty": ('{"servers": []}', "it lists no server"),
}


@pytest.mark.parametrize(("text", "sentence"), BAD.values(), ids=BAD)
def test_bad_documents_are_refused_with_a_sentence(app: App, text: str, sentence: str) -> None:
    before = app.catalogs.infos()
    page = importing(text)
    assert sentence in page.error[0].value.replace("\\", "")
    assert "Nothing was imported" in page.error[0].value
    assert SECRET not in page.error[0].value
    assert "Import" not in [one.label for one in page.button]
    assert app.catalogs.infos() == before


def test_a_missing_schema_is_a_remark(app: App) -> None:
    page = importing('{"servers": [{"name": "a", "description": "d", "tools": [{"name": "t", "description": "d"}]}]}')
    assert any("no input schema" in text.value for text in page.text)


def test_replacing_needs_a_tick_and_the_sample_stays(app: App) -> None:
    page = importing('{"servers": [{"name": "other", "tools": [{"name": "t"}]}]}')
    page.text_input(key="catalog.import.name").set_value("mine").run()
    assert button(page, "Import").disabled
    page.checkbox(key="catalog.import.replace").check().run()
    assert not button(page, "Import").disabled
    page.text_input(key="catalog.import.name").set_value("sample").run()
    button(page, "Import").click().run()
    assert "belongs to a shipped catalog" in text_of(page)
    assert [server.name for server in app.catalogs.catalog("mine").servers] == ["weather", "files"]


def test_several_files_are_one_catalog(app: App) -> None:
    page = visit(catalog="mine")
    button(page, "Import…").click().run()
    one, two = (json.dumps({"servers": [server]}).encode() for server in CATALOG["servers"])
    page.file_uploader(key="catalog.import.files").set_value(
        [("one.json", one, "application/json"), ("two.json", two, "application/json")]
    ).run()
    button(page, "Import").click().run()
    assert page.query_params == {"catalog": "one"}
    assert [server.name for server in app.catalogs.catalog("one").servers] == ["weather", "files"]


def test_hostile_names_are_text(app: App) -> None:
    name = "<script>alert(1)</script> **bold** :red[x] $a$ [l](http://x.org)"
    hostile = {"servers": [{"name": name, "description": name, "tools": [{"name": name, "description": name}]}]}
    app.catalog_editor.import_text(json.dumps(hostile), name, "test")
    for query in ({"server": name}, {"tool": f"{name}::{name}"}):
        page = visit(catalog=name, **query)
        for element in page.markdown:
            assert not element.allow_html
            assert "**bold**" not in element.value
            assert "<script>" not in element.value
        assert name in [text.value for text in page.text]


def test_removing_asks_first_and_returns_to_the_sample(app: App) -> None:
    page = visit(catalog="mine")
    assert "Remove **mine** with its 2 servers?" in text_of(page)
    page.button(key="catalog.remove").click().run()
    assert "The catalog mine was removed." in text_of(page)
    assert page.query_params == {"catalog": "sample"}
    assert [info.name for info in app.catalogs.infos()] == [*SHIPPED_CATALOGS]
    page.button(key="catalog.notice").click().run()
    assert "was removed" not in text_of(page)


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


def test_a_running_discovery_shows_its_progress(app: App) -> None:
    waiting: Future[ImportReport] = Future()
    imported = Imported("plain", app.catalogs.catalog("mine").servers)
    page = visit(remembered={JOB: Job("live", "test", imported, waiting, 0.0)})
    assert "Asking 2 servers for their tools" in everything(page)


def test_connections_start_empty(app: App) -> None:
    page = visit(catalog="mine", view="connections")
    assert "No server was connected to yet." in text_of(page)
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
