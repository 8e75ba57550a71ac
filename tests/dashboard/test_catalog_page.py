"""The Catalog page as a visitor uses it, over a store in memory."""

from __future__ import annotations

import json
from pathlib import Path

from core.app import App
from core.domain.catalog import Catalog, Server
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from tests.dashboard.catalog_visits import CATALOG, button, visit
from tests.dashboard.harness import app_with, text_of
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


def test_what_is_no_price_changes_nothing(app: App) -> None:
    page = visit(catalog="mine", tool="weather::today")
    page.text_input(key="catalog.price.mine.weather.today").set_value("-1")
    button(page, "Set").click().run()
    assert "“-1” is not a price; write a number of at least 0" in text_of(page)
    assert page.dataframe[0].value.iloc[0]["price_source"] == "declared"


def test_hostile_names_are_text(app: App) -> None:
    name = "<script>alert(1)</script> **bold** :red[x] $a$ [l](http://x.org)"
    hostile = {"servers": [{"name": name, "description": name, "tools": [{"name": name, "description": name}]}]}
    import_text(app.catalog_editor, json.dumps(hostile), name, "test")
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
