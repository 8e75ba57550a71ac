"""The Catalog page as a visitor uses it, over a store in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.desk import ImportReport
from core.domain.imports import Imported
from core.embedding.cached import CachedEncoder
from core.embedding.onnx import onnx_source
from core.errors import CatalogError
from core.mcp_bridge.slot import ConnectionState
from core.shipped import SHIPPED
from core.store import Store
from dashboard import session
from dashboard.widgets.connection_job import JOB, Job
from dashboard.widgets.connection_table import connection_frame

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


def script() -> None:
    from dashboard.views.catalog import page

    page()


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    store = Store(None)
    with Console(store, CachedEncoder(onnx_source(), store.vectors)) as opened:
        monkeypatch.setattr(session, "_console", opened)
        opened.desk.import_text(json.dumps(CATALOG), "mine", "test")
        yield opened


def visit(**query: str) -> AppTest:
    page = AppTest.from_function(script, default_timeout=30)
    page.query_params.update(query)
    page.run()
    assert not page.exception
    return page


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


def said(page: AppTest) -> str:
    return " ".join(e.value for e in (*page.markdown, *page.error, *page.warning, *page.info, *page.caption)).replace(
        "\\", ""
    )


def test_the_first_visit_shows_the_sample(console: Console) -> None:
    page = visit()
    assert page.selectbox(key="catalog.catalog").value == "sample"
    assert page.metric[0].value == str(len(console.library.catalog("sample").servers))
    assert len(page.dataframe[0].value) == len(console.library.catalog("sample").servers)
    assert page.query_params == {"catalog": "sample"}


def test_every_shipped_catalog_can_be_chosen_and_none_removed(console: Console) -> None:
    page = visit()
    assert page.selectbox(key="catalog.catalog").options[: len(SHIPPED)] == [*SHIPPED]
    for name in SHIPPED:
        page.selectbox(key="catalog.catalog").set_value(name).run()
        assert page.metric[1].value == str(len(console.library.catalog(name).tools))
        assert [block.proto.popover.disabled for block in page.get("popover")] == [True]


def test_a_link_opens_a_server(console: Console) -> None:
    page = visit(catalog="mine", server="weather")
    assert "##### weather" in said(page)
    assert page.code[0].value == "no-such-command\nKEY=${secret:weather/KEY}"
    assert page.query_params == {"catalog": "mine", "server": "weather"}


def test_a_link_opens_a_tool(console: Console) -> None:
    page = visit(catalog="mine", tool="weather::today")
    assert "##### today" in said(page)
    assert button(page, "Call this tool")
    assert page.query_params == {
        "catalog": "mine",
        "view": "tools",
        "server": "weather",
        "tool": "weather::today",
    }


def test_what_is_not_there_is_said(console: Console) -> None:
    assert "There is no catalog ghost" in said(visit(catalog="ghost"))
    assert "There is no server ghost" in said(visit(catalog="mine", server="ghost"))


def test_search_narrows_both_tables_and_can_be_cleared(console: Console) -> None:
    page = visit(catalog="mine", q="READS")
    assert list(page.dataframe[0].value["server"]) == ["files"]
    page.segmented_control(key="catalog.view").set_value("Tools").run()
    assert "None of 3 tools matches the search." in said(page)
    button(page, "Clear the search").click().run()
    assert list(page.dataframe[0].value["tool"]) == ["today", "week", "read"]
    page.selectbox(key="catalog.server").set_value("weather").run()
    assert list(page.dataframe[0].value["tool"]) == ["today", "week"]
    assert page.query_params["server"] == "weather"


def test_a_price_is_set_marked_and_reset(console: Console) -> None:
    page = visit(catalog="mine", tool="weather::today")
    page.text_input(key="catalog.price.mine.weather.today").set_value("$0.5")
    button(page, "Set").click().run()
    row = page.dataframe[0].value.iloc[0]
    assert (row["price_musd"], row["price_source"]) == (500.0, "edited")
    assert "edited] · declared: 2 m$" in said(page)
    button(page, "Reset to declared").click().run()
    row = page.dataframe[0].value.iloc[0]
    assert (row["price_musd"], row["price_source"]) == (2.0, "declared")
    assert button(page, "Reset to declared").disabled


def test_an_ask_is_set(console: Console) -> None:
    page = visit(catalog="mine", server="files")
    page.text_input(key="catalog.price.mine.files.").set_value("3")
    button(page, "Set").click().run()
    assert page.dataframe[0].value.iloc[1]["ask_source"] == "edited"
    assert console.statistics("mine").servers.ask_usd[1] == pytest.approx(0.003)


def test_what_is_no_price_changes_nothing(console: Console) -> None:
    page = visit(catalog="mine", tool="weather::today")
    page.text_input(key="catalog.price.mine.weather.today").set_value("-1")
    button(page, "Set").click().run()
    assert "“-1” is not a price; write a number of at least 0" in said(page)
    assert page.dataframe[0].value.iloc[0]["price_source"] == "declared"


def test_pasting_imports_and_clears_the_text(console: Console) -> None:
    page = importing(json.dumps({**CATALOG, "servers": CATALOG["servers"][:1]}))
    assert "Format plain: 1 server, 2 tools, 1 without a price." in said(page)
    page.text_input(key="catalog.import.name").set_value("new").run()
    button(page, "Import").click().run()
    assert not page.exception
    assert "Imported as new." in said(page)
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
def test_bad_documents_are_refused_with_a_sentence(console: Console, text: str, sentence: str) -> None:
    before = console.catalogs()
    page = importing(text)
    assert sentence in page.error[0].value.replace("\\", "")
    assert "Nothing was imported" in page.error[0].value
    assert SECRET not in page.error[0].value
    assert "Import" not in [one.label for one in page.button]
    assert console.catalogs() == before


def test_a_missing_schema_is_a_remark(console: Console) -> None:
    page = importing('{"servers": [{"name": "a", "description": "d", "tools": [{"name": "t", "description": "d"}]}]}')
    assert any("no input schema" in text.value for text in page.text)


def test_replacing_needs_a_tick_and_the_sample_stays(console: Console) -> None:
    page = importing('{"servers": [{"name": "other", "tools": [{"name": "t"}]}]}')
    page.text_input(key="catalog.import.name").set_value("mine").run()
    assert button(page, "Import").disabled
    page.checkbox(key="catalog.import.replace").check().run()
    assert not button(page, "Import").disabled
    page.text_input(key="catalog.import.name").set_value("sample").run()
    button(page, "Import").click().run()
    assert "belongs to a shipped catalog" in said(page)
    assert [server.name for server in console.library.catalog("mine").servers] == ["weather", "files"]


def test_several_files_are_one_catalog(console: Console) -> None:
    page = visit(catalog="mine")
    button(page, "Import…").click().run()
    one, two = (json.dumps({"servers": [server]}).encode() for server in CATALOG["servers"])
    page.file_uploader(key="catalog.import.files").set_value(
        [("one.json", one, "application/json"), ("two.json", two, "application/json")]
    ).run()
    button(page, "Import").click().run()
    assert page.query_params == {"catalog": "one"}
    assert [server.name for server in console.library.catalog("one").servers] == ["weather", "files"]


def test_hostile_names_are_text(console: Console) -> None:
    name = "<script>alert(1)</script> **bold** :red[x] $a$ [l](http://x.org)"
    hostile = {"servers": [{"name": name, "description": name, "tools": [{"name": name, "description": name}]}]}
    console.desk.import_text(json.dumps(hostile), name, "test")
    for query in ({"server": name}, {"tool": f"{name}::{name}"}):
        page = visit(catalog=name, **query)
        for element in page.markdown:
            assert not element.allow_html
            assert "**bold**" not in element.value
            assert "<script>" not in element.value
        assert name in [text.value for text in page.text]


def test_removing_asks_first_and_returns_to_the_sample(console: Console) -> None:
    page = visit(catalog="mine")
    assert "Remove **mine** with its 2 servers?" in said(page)
    page.button(key="catalog.remove").click().run()
    assert "The catalog mine was removed." in said(page)
    assert page.query_params == {"catalog": "sample"}
    assert [info.name for info in console.catalogs()] == [*SHIPPED]
    page.button(key="catalog.notice").click().run()
    assert "was removed" not in said(page)


def test_connecting_warns_asks_for_values_and_reports(console: Console) -> None:
    page = visit(catalog="mine")
    button(page, "Connect a client configuration…").click().run()
    paste(page, json.dumps(CONFIG))
    plan = page.dataframe[-1].value.iloc[0]
    assert (plan["command or address"], plan["needs"]) == ("no-such-command-anywhere", "token")
    assert "1 command will be run on this machine" in said(page)
    page.text_input(key="catalog.import.value.0").set_value(SECRET)
    page.text_input(key="catalog.import.name").set_value("live")
    button(page, "Connect and discover").click().run()
    assert not page.exception
    job: Job = page.session_state[JOB]
    with pytest.raises(CatalogError):
        job.future.result(timeout=30)
    page.run()
    assert "no server answered, so nothing was kept" in said(page)
    assert not page.text_area
    assert SECRET not in everything(page)
    assert [info.name for info in console.catalogs()] == [*SHIPPED, "mine"]
    button(page, "Try again…").click().run()
    assert page.dataframe[-1].value.iloc[0]["needs"] == ""
    button(page, "Close the report").click().run()
    assert "no server answered" not in said(page)


def test_a_running_discovery_shows_its_progress(console: Console) -> None:
    waiting: Future[ImportReport] = Future()
    page = AppTest.from_function(script, default_timeout=30)
    imported = Imported("plain", console.library.catalog("mine").servers)
    page.session_state[JOB] = Job("live", "test", imported, waiting, 0.0)
    page.run()
    assert not page.exception
    assert "Asking 2 servers for their tools" in everything(page)


def test_connections_start_empty(console: Console) -> None:
    page = visit(catalog="mine", view="connections")
    assert "No server was connected to yet." in said(page)
    page.button(key="catalog.connect.first").click().run()
    assert "Your file is only read." in said(page)


def test_connections_show_state_and_error_as_text() -> None:
    state = ConnectionState(
        server="<b>x</b>", transport="stdio", state="failed", since=datetime(2026, 1, 2, tzinfo=UTC), last_error="it\nbroke",
        protocol_version="", server_version="", calls=3, connect_s=None, stderr_tail=("oops",), pid=None,
    )  # fmt: skip
    row = connection_frame([state]).iloc[0]
    assert (row["server"], row["state"], row["last_error"], row["calls"]) == ("<b>x</b>", "✗ failed", "it broke", 3)
    assert connection_frame([]).empty
