"""The Catalog page's dialog that imports: documents pasted, refused, replaced, joined."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.app import App
from tests.cases import each
from tests.dashboard.catalog_visits import CATALOG, SECRET, button, everything, importing, visit
from tests.dashboard.harness import app_with, text_of

app = app_with({"mine": CATALOG})


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
    "duplicate tools": (
        '{"servers": [{"name": "a", "tools": [{"name": "t"}, {"name": "t"}]}]}',
        "name is the same as that of tools[0]",
    ),
    "missing command": ('{"mcpServers": {"a": {"env": {"KEY": "' + SECRET + '"}}}}', "neither command nor url"),
}


@each(("text", "sentence"), BAD.values(), ids=BAD)
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


def test_a_configuration_of_this_machine_is_one_click_away(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"git": {"command": "uvx", "env": {"API_KEY": SECRET}}}}))
    before = file.read_bytes()
    page = visit(catalog="mine")
    button(page, "Import…").click().run()
    page.segmented_control(key="catalog.import.way").set_value("Found on this machine").run()
    assert page.radio(key="catalog.import.found").options == ["Cursor: 1 server"]
    assert "Format client_config" not in text_of(page)
    page.radio(key="catalog.import.found").set_value(0).run()
    assert "Format client_config: 1 server" in text_of(page)
    button(page, "Import").click().run()
    assert "Imported as cursor." in text_of(page)
    (server,) = app.catalogs.catalog("cursor").servers
    assert dict(server.connection.env) == {"API_KEY": "${secret:git/API_KEY}"}
    assert SECRET not in everything(page) + str(page.session_state)
    assert file.read_bytes() == before
