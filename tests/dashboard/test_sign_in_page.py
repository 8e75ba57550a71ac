"""The Catalog page beside a server that asks for a sign-in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

import pytest

from core.app import App
from core.domain.outcome import OutcomeKind, ToolCall
from core.domain.settings import Launch, set_launch
from tests.authorization_server import guarded_server
from tests.dashboard.catalog_visits import CATALOG, everything, visit
from tests.dashboard.harness import app_with, labelled, text_of
from tests.importing import import_text

app = app_with({"mine": CATALOG})


@pytest.fixture(autouse=True)
def console() -> Iterator[None]:
    """Pages of a console with an address."""
    set_launch(Launch(url="http://127.0.0.1:8501"))
    yield
    set_launch(Launch())


def test_a_server_that_asks_for_a_sign_in(app: App) -> None:
    with guarded_server() as guarded:
        connection = {"type": "http", "url": guarded.url}
        server = {"name": "tickets", "connection": connection, "tools": [{"name": "count", "description": "Count."}]}
        import_text(app.catalog_editor, json.dumps({"servers": [server]}), "work")
        assert "Servers that ask who you are" not in text_of(visit(catalog="work"))
        assert app.calls.run(ToolCall("tickets", "count", catalog="work")).outcome.kind is OutcomeKind.NOT_TRIED

        page = visit(catalog="work")
        assert "**tickets** :orange[Sign-in needed.]" in text_of(page)
        guarded.person = False
        for _ in range(2):
            labelled(page, "Sign in" if guarded.person is False else "Sign in again").click().run()
            assert "waits for you at 127.0.0.1" in text_of(page)
            where = guarded.visit(app.sign_ins.of("work", "tickets").address)
            assert app.sign_ins.answered(dict(parse_qsl(urlsplit(where).query)))
            app.sign_ins.wait("work", "tickets", 20)
            page = visit(catalog="work", server="tickets")
            if not guarded.person:
                assert ":red[Not signed in.]" in text_of(page)
                guarded.person = True
        assert "Servers that ask who you are" not in text_of(page)
        assert ":green[Signed in] until" in text_of(page)
        assert not any(token in everything(page) for token in (*guarded.tokens, *guarded.refresh_tokens))
        labelled(page, "Sign out").click().run()
        assert guarded.refresh_tokens == {}
        labelled(page, "Use a token").click().run()
        assert "tickets\\/Authorization" in [field.label for field in page.text_input]
