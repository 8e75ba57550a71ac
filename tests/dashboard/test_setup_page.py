"""The Setup page: the text follows the choices, a token is made when asked and shown once, a first request appears."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.app import App
from core.catalogs.background_jobs import Job
from core.catalogs.catalog_editor import ImportReport
from core.domain.catalog import Imported
from dashboard.pages.setup.view import JOB
from tests.dashboard.harness import BARE, app_with, checked, open_page, press, text_of
from tests.importing import import_text

app = app_with({"hollow": BARE})


def test_the_text_the_token_and_the_check(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text('{"mcpServers": {"<b>time</b>": {"command": "uvx"}}}')
    page = open_page("setup", client="cursor", over="stdio")
    assert json.loads(page.code[0].value)["mcpServers"]["wayfare"]["args"][0] == "mcp"
    assert "<b>" not in "".join(str(caption.value) for caption in page.caption).replace("\\<b\\>", "")
    assert not app.governance.clients.all()
    page.text_input(key="setup:name-cursor").set_value("ann").run()
    press(page, "setup:make-token")
    (client,) = app.governance.clients.all()
    token = json.loads(page.code[0].value)["mcpServers"]["wayfare"]["env"]["WAYFARE_TOKEN"]
    assert app.governance.clients.of_token(token) is not None
    assert client.name == "ann"
    assert "Waiting for the first request" in text_of(press(page, "setup:check"))
    app.governance.visits.note("other*", "")
    assert "Meanwhile came: other" in text_of(page.run())
    app.governance.visits.note("anything", "ann")
    page.run()
    assert "with the token of ann" in text_of(page)
    press(page, "setup:token-copied")
    assert token not in str(page)
    assert token not in str(open_page("setup", client="cursor", over="stdio"))


def test_an_imported_catalog_that_was_removed_is_forgotten(app: App) -> None:
    job = Job()
    job.future.set_result(ImportReport("cursor", 1, 2, Imported("plain", ()), 0, ()))
    import_text(app.catalog_editor, '{"servers": [{"name": "a", "tools": [{"name": "t"}]}]}', "cursor")
    page = open_page("setup", remembered={JOB: job})
    assert "The catalog cursor has 1 servers" in text_of(page).replace("*", "")
    app.catalog_editor.remove("cursor")
    assert "The catalog cursor" not in text_of(checked(page.run())).replace("*", "")


def test_a_catalog_without_tools_is_told_before_a_client_is_set_up() -> None:
    assert "has no tools" not in text_of(open_page("setup"))
    assert "Catalog hollow has no tools: none of its servers lists one." in text_of(
        open_page("setup", catalog="hollow")
    )
