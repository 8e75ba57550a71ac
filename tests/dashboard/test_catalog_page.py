"""The Catalog page as a visitor uses it: tables, prices, a followed file, and single servers that are added, switched off and removed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain.catalog import Catalog, Imported, Server
from core.domain.errors import CatalogError
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from dashboard.pages.catalog.connection_job import JOB
from dashboard.pages.catalog.state import Connecting
from tests.cli.conftest import RAW
from tests.cli.test_servers import mirror  # noqa: F401 - a fixture
from tests.dashboard.catalog_visits import CATALOG, everything, visit
from tests.dashboard.harness import app_with, labelled, text_of
from tests.importing import import_text

app = app_with({"mine": CATALOG})


def test_the_first_visit_shows_the_sample(app: App) -> None:
    page = visit()
    assert page.selectbox(key="catalog.catalog").value == "sample"
    assert page.metric[0].value == str(len(app.catalogs.catalog("sample").servers))
    assert len(page.dataframe[0].value) == len(app.catalogs.catalog("sample").servers)
    assert page.query_params == {"catalog": "sample"}
    assert page.selectbox(key="catalog.catalog").options[: len(SHIPPED_CATALOGS)] == [*SHIPPED_CATALOGS]
    assert [block.proto.popover.disabled for block in page.get("popover")] == [True]  # none can be removed


def test_a_link_opens_a_server(app: App) -> None:
    page = visit(catalog="mine", server="weather")
    assert "##### weather" in text_of(page)
    assert page.code[0].value == f"no-such-command\nin {Path.home()}\nKEY=${{secret:weather/KEY}}"
    assert page.query_params == {"catalog": "mine", "server": "weather"}


def test_a_link_opens_a_tool(app: App) -> None:
    page = visit(catalog="mine", tool="weather::today")
    assert "##### today" in text_of(page)
    assert labelled(page, "Call this tool")
    assert page.query_params == {
        "catalog": "mine",
        "view": "tools",
        "server": "weather",
        "tool": "weather::today",
    }


def test_what_is_not_there_is_said(app: App) -> None:
    assert "There is no catalog ghost" in text_of(visit(catalog="ghost"))
    assert "There is no server ghost" in text_of(visit(catalog="mine", server="ghost"))


def test_a_catalog_with_every_server_switched_off_says_so(app: App) -> None:
    app.catalogs.save(Catalog("off", (), off=(Server("solo"),)), "test")
    for view in ("servers", "tools", "findable"):
        page = visit(catalog="off", view=view)
        assert "No server of this catalog is switched on." in text_of(page)
        assert "matches the search" not in text_of(page)


def test_search_narrows_both_tables_and_can_be_cleared(app: App) -> None:
    page = visit(catalog="mine", q="READS")
    assert list(page.dataframe[0].value["server"]) == ["files"]
    page.segmented_control(key="catalog.view").set_value("Tools").run()
    assert "None of 3 tools matches the search." in text_of(page)
    labelled(page, "Clear the search").click().run()
    assert list(page.dataframe[0].value["tool"]) == ["today", "week", "read"]
    page.selectbox(key="catalog.server").set_value("weather").run()
    assert list(page.dataframe[0].value["tool"]) == ["today", "week"]
    assert page.query_params["server"] == "weather"


def test_a_price_is_set_marked_and_reset(app: App) -> None:
    page = visit(catalog="mine", tool="weather::today")
    page.text_input(key="catalog.price.mine.weather.today").set_value("$0.5")
    labelled(page, "Set").click().run()
    row = page.dataframe[0].value.iloc[0]
    assert (row["price_musd"], row["price_source"]) == (500.0, "edited")
    assert "edited] · declared: 2 m$" in text_of(page)
    labelled(page, "Reset to declared").click().run()
    row = page.dataframe[0].value.iloc[0]
    assert (row["price_musd"], row["price_source"]) == (2.0, "declared")
    assert labelled(page, "Reset to declared").disabled


def test_what_is_no_price_changes_nothing(app: App) -> None:
    page = visit(catalog="mine", tool="weather::today")
    page.text_input(key="catalog.price.mine.weather.today").set_value("-1")
    labelled(page, "Set").click().run()
    assert "“-1” is not a price; write a number of at least 0" in text_of(page)
    assert page.dataframe[0].value.iloc[0]["price_source"] == "declared"


def test_hostile_names_are_text(app: App) -> None:
    name = "<script>alert(1)</script> **bold** :red[x] $a$ [l](http://x.org)"
    catalog = name.replace("/", "")
    hostile = {"servers": [{"name": name, "description": name, "tools": [{"name": name, "description": name}]}]}
    import_text(app.catalog_editor, json.dumps(hostile), catalog, "test")
    for query in ({"server": name}, {"tool": f"{name}::{name}"}):
        page = visit(catalog=catalog, **query)
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


SECRET = "hunter2-PLANTED"
ENTRY: dict[str, Any] = {"command": sys.executable, "args": ["-S", RAW]}


def done(page: Any) -> Any:
    """The page after its job."""
    job: Job = page.session_state[JOB]
    job.future.result(timeout=60)
    return page.run()


def names(app: App) -> tuple[list[str], list[str]]:
    catalog = app.catalogs.catalog("live")
    return [server.name for server in catalog.servers], [server.name for server in catalog.off]


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
    write(raw={**ENTRY, "env": {"KEY": SECRET}}, **{"<b>x</b>": ENTRY, "late": ENTRY})  # after the page was drawn
    page = labelled(page, "Ignore").click().run()
    assert "changed again; look at its changes once more" in text_of(page)
    assert "**late** added" in text_of(page)
    write(raw={**ENTRY, "env": {"KEY": SECRET}}, **{"<b>x</b>": ENTRY})
    with pytest.raises(CatalogError, match="changed again"):
        done(labelled(page, "Take").click().run())
    assert names(app) == (["raw"], [])
    page = visit(catalog="live")
    file.write_text(json.dumps({"started": 2, **json.loads(file.read_text())}))  # the servers are those that were shown
    page = done(labelled(page, "Take").click().run())
    assert names(app) == (["raw", "<b>x</b>"], [])
    assert "2 of 2 servers answered" in text_of(page)
    write(raw=ENTRY)
    labelled(visit(catalog="live"), "Ignore").click().run()
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
    labelled(page, "Add a server…").click().run()
    page.text_input(key="catalog.import.server").set_value("two")
    page.text_input(key="catalog.import.command").set_value(f"{sys.executable} -S {RAW}")
    page.text_area(key="catalog.import.given").set_value(f"KEY={SECRET}").run()
    other = Job(Connecting(Imported("plain", ()), "live"))
    page.session_state[JOB] = other
    page.button(key="catalog.import.add").click().run()
    assert "Another discovery is running" in text_of(page)
    del page.session_state[JOB]
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
    page.session_state[JOB] = other
    assert "Another discovery is running" in text_of(page.button(key="catalog.on.two").click().run())
    del page.session_state[JOB]
    done(page.button(key="catalog.on.two").click().run())
    assert names(app) == (["raw", "two"], [])
    visit(catalog="live", server="two").button(key="catalog.server.remove").click().run()
    assert names(app) == (["raw"], [])
    assert not [secret for secret in app.catalog_editor.vault.names() if secret[0].server == "two"]
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
