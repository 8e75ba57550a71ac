"""Tokens of clients, keys of servers, and arguments that are secret: in no table and file of the store, no line of a log, no page, no
metric and no exported record, whichever way they went."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from mcp import Client

from core.app import App, Settings, build_app
from core.governance.policy import ApprovalRules, Scope
from core.governance.status import Metrics
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from dashboard import session
from tests.dashboard.harness import open_page, text_of
from tests.gateway.conftest import ask, refused, talk, with_token
from tests.gateway.serving import served
from tests.importing import import_text
from tests.relevance.toy_encoders import WordEncoder

KEY, WORD, TOLD, TYPED = (
    "sk-serverkey0123456789",
    "plumtree orchard",
    "ghp_toldbytheagent012345",
    "sk-typedinatask0123456",
)
SERVER = str(Path(__file__).with_name("telling_server.py"))
PIN = {"type": "object", "properties": {"pin": {"type": "string", "format": "password"}, "note": {"type": "string"}}}
PAGES = ("activity", "govern", "call", "catalog")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An app whose server needs a key of the environment; the pages show it."""
    store = Store(tmp_path / "wayfare.duckdb")
    settings = Settings(db=store.path, cache=tmp_path, seed=1, environment={"SERVICE_KEY": KEY}, words_after_s=60.0)
    source = EncoderSource.of(WordEncoder())
    with build_app(store, settings, encoder=CachedEncoder(source, store.vectors)) as app:
        tools = [
            {"name": name, "description": f"{name.title()} words.", "price_usd": 0.002, "inputSchema": PIN}
            for name in ("work", "fail")
        ]
        connection = {
            "type": "stdio",
            "command": "${python}",
            "args": ["-S", SERVER],
            "env": {"SERVICE_API_KEY": "${env:SERVICE_KEY}"},
        }
        telling = {"name": "telling", "description": "Work words.", "tools": tools, "connection": connection}
        import_text(app.catalog_editor, json.dumps({"servers": [telling]}), "world")
        session.use_app(app)
        yield app
        session.use_app(None)


def test_secrets_are_nowhere(
    app: App, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    governance = app.governance
    token = governance.clients.make("ann", Scope(), origin="test")
    call: dict[str, Any] = {"arguments": {"pin": WORD, "note": f"token={TOLD}"}}

    async def script(client: Client) -> None:
        search = await ask(client, "search_tools", task=f"Work words with {TYPED}", server_hint=f"key={TYPED}")
        result = await ask(client, "execute_tool", tool="telling::work", route_id=search["route_id"], **call)
        assert WORD in json.dumps(result)  # the client gets what the tool said
        assert KEY not in json.dumps(result)
        await refused(client, "execute_tool", tool="telling::fail", route_id=search["route_id"], **call)
        await refused(client, "execute_tool", tool="telling::work", arguments={"pin": [WORD], "note": TOLD})
        await refused(client, "execute_tool", tool=f"telling::{TYPED}")
        await ask(client, "report_outcome", route_id=search["route_id"], useful=True, note=f"with {TOLD}")
        governance.set_policy(replace(governance.policy, approvals=ApprovalRules(writes=True, hold_s=0)), origin="test")
        await refused(client, "execute_tool", tool="telling::work", **call)

    with served(app, "world") as url:
        talk(with_token(f"{url}/mcp", token), script)
    app.store.events.flush()
    lines: list[str] = []
    assert not app.store.events.audit(lines.append).problem
    pages = {name: open_page(name, catalog="world") for name in PAGES}
    texts = {name: repr(page) + text_of(page) for name, page in pages.items()}
    texts["metrics"] = Metrics(app.store, governance, app.pool.states, app.settings.now).text().decode()
    texts["exported log"] = "\n".join(lines)
    app.close()
    with duckdb.connect(str(app.store.path), read_only=True) as connection:
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            texts[table] = repr(connection.execute(f'SELECT CAST(t AS VARCHAR) FROM "{table}" t').fetchall())
    for file in tmp_path.iterdir():
        if file.is_file():
            texts[file.name] = file.read_bytes().decode("latin-1")
    texts["log"] = "\n".join([caplog.text, *capfd.readouterr()])
    secrets = {"token": token, "key": KEY, "argument": WORD, "told": TOLD, "typed": TYPED}
    assert [(where, what) for where, text in texts.items() for what, secret in secrets.items() if secret in text] == []
    assert [
        where
        for where in ("activity", "govern", "metrics", "exported log", "outcomes", "wayfare.duckdb")
        if "telling" not in texts[where]
    ] == []
    assert "•••" in texts["exported log"]
