"""Virtual servers on the Catalog page: their mark, and the dialog that multiplies a server."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from core.app import App
from core.virtual.multiply import Recipe
from tests.dashboard.harness import app_with, checked, open_page, text_of

HOSTILE = "<b>bold</b> :red[x] [link](javascript:alert(1))"
CATALOG = {
    "servers": [
        {"name": "web", "description": "Finds pages.", "call_s": 0.5, "success": 0.9, "virtual": True, "tools": [
            {"name": "find", "description": f"Find a page. {HOSTILE}", "price_usd": 0.002}, {"name": "open", "description": "Open a page."},
        ]},
        {"name": "island", "description": "Far away.", "tools": [{"name": "swim", "description": "Swims."}]},
        {"name": "empty", "description": "Nothing.", "tools": []},
    ]
}  # fmt: skip


app = app_with({"mine": CATALOG})


def visit(server: str) -> AppTest:
    return open_page("catalog", catalog="mine", server=server)


def dialog() -> AppTest:
    return checked(visit("web").button(key="catalog.multiply").click().run())


def test_a_virtual_server_says_so(app: App) -> None:
    page = visit("web")
    assert "Virtual server: real MCP, simulated results." in text_of(page)
    assert "A call starts a process" in text_of(page)
    assert page.dataframe[0].value["reached_by"].tolist() == ["virtual", "no command", "no command"]
    other = text_of(visit("island"))
    assert "Virtual server: real MCP" not in other
    assert "a virtual server can replace it" in other


def test_the_preview_follows_the_figures(app: App) -> None:
    page = dialog()
    (table,) = (frame.value for frame in page.dataframe if "price_musd" in frame.value)
    assert table["server"].tolist() == ["web", "web-1", "web-2", "web-3"]
    assert table["call_s"].iloc[0] == 0.5
    assert len(set(table["description"])) == 4
    page = checked(page.number_input(key="catalog.multiply.copies").set_value(1).run())
    page = checked(page.number_input(key="catalog.multiply.spread").set_value(1.0).run())
    (table,) = (frame.value for frame in page.dataframe if "price_musd" in frame.value)
    assert table["call_s"].tolist() == [0.5, 0.5]
    assert table["price_musd"].tolist() == [2.0, 2.0]


def test_the_preview_shows_the_words_of_a_tool_as_text(app: App) -> None:
    page = dialog()
    (copy, *_) = app.catalog_editor.copies("mine", "web", Recipe(3))
    texts = [element.value for element in page.markdown if "web" in element.value and "page" in element.value]
    assert len(texts) == 4
    assert not any("<b>" in text or "[link]" in text for text in texts)
    assert copy.tools[0].description.split(".")[0] in text_of(page)
    page = checked(page.selectbox(key="catalog.multiply.tool").set_value("open").run())
    assert copy.tools[1].description.rstrip(".") in text_of(page)


def test_the_catalog_is_stored_and_shown(app: App) -> None:
    page = dialog()
    page.number_input(key="catalog.multiply.seed").set_value(7)
    page.number_input(key="catalog.multiply.copies").set_value(2)
    page.checkbox(key="catalog.multiply.replace").set_value(True)  # and pressed before the page is drawn with these
    page = checked(page.button(key="catalog.multiply.go").click().run())
    assert "mine-web-x2 has 2 virtual copies of web: 4 servers in total." in text_of(page)
    assert page.selectbox(key="catalog.catalog").value == "mine-web-x2"
    catalog = app.catalogs.catalog("mine-web-x2")
    assert [server.name for server in catalog.servers] == ["web-1", "web-2", "island", "empty"]
    assert catalog.servers[:2] == app.catalog_editor.copies("mine", "web", Recipe(2, 7, 2.0))
    assert not any(button.key == "catalog.multiply.go" for button in page.button)
