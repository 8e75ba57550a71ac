"""A server that was down is offered again: a check in the background finds it, and a search says meanwhile that it fits and is down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.app import App, Settings, build_app
from core.domain.outcome import OutcomeKind, ToolCall
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from tests.gateway.conftest import ask, served, talk
from tests.governance.conftest import Clock
from tests.importing import import_text
from tests.relevance.toy_encoders import WordEncoder
from tests.world import RAW


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The program of the server; while the file is not there, the server cannot be started."""
    return tmp_path / "server.py"


@pytest.fixture
def app(clock: Clock, gate: Path, tmp_path: Path):
    """An app with one server that fits, which is down."""
    store = Store(None)
    settings = Settings(db=":memory:", cache=tmp_path, seed=1, now=clock, words_after_s=60.0)
    encoder = CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors)
    with build_app(store, settings, encoder=encoder) as test_app:
        tools = [{"name": "echo", "description": "Echo words.", "price_usd": 0.001, "success": 0.9, "latency_s": 0.5}]
        tools.append({"name": "crash", "description": "Break the server."})
        raw = {
            "name": "raw", "description": "Echo words.", "tools": tools,
            "connection": {"type": "stdio", "command": "${python}", "args": ["-S", str(gate)]},
        }  # fmt: skip
        import_text(test_app.catalog_editor, json.dumps({"servers": [raw]}), "world")
        yield test_app


def call(app: App) -> OutcomeKind:
    return app.calls.run(ToolCall("raw", "echo", {"text": "a"}, catalog="world")).outcome.kind


def search(app: App) -> list[dict[str, str]]:
    return talk(served(app), lambda client: ask(client, "search_tools", task="Echo words."))["candidates"]


def test_what_fits_and_is_down_is_said_and_a_check_brings_it_back(app: App, clock: Clock, gate: Path) -> None:
    before = app.catalogs.statistics("world").servers.success.tolist()
    for _ in range(15):
        assert call(app) is OutcomeKind.NOT_CONNECTED
        clock.pass_s(1)
    assert app.catalogs.statistics("world").servers.success[0] < 0.3
    candidate, *_ = search(app)
    assert "down since " in candidate["why"]
    assert "next check in 5 s" in candidate["why"]

    assert app.health.check_due() == ()  # the first check is due after five seconds
    (down,) = app.health.down("world").values()
    assert down.words(clock.now).endswith("next check in 5 s")
    clock.pass_s(5)
    assert app.health.check_due() == ()  # it is tried and still down
    (down,) = app.health.down("world").values()
    assert down.words(clock.now).endswith("next check in 10 s")

    gate.write_text(Path(RAW).read_text())
    clock.pass_s(60)
    assert [server.server for server in app.health.check_due()] == ["raw"]
    assert app.health.down("world") == {}
    assert app.catalogs.statistics("world").servers.success.tolist() == before
    candidate, *_ = search(app)
    assert "down" not in candidate["why"]
    assert [*app.store.events.outcomes("world")][-1].kind == OutcomeKind.NOT_CONNECTED  # no tool was called


def test_a_tool_that_takes_its_server_down_is_not_forgiven_by_a_handshake(app: App, clock: Clock, gate: Path) -> None:
    gate.write_text(Path(RAW).read_text())
    for _ in range(3):
        outcome = app.calls.run(ToolCall("raw", "crash", {}, catalog="world")).outcome
        assert outcome.kind is OutcomeKind.CRASH
        clock.pass_s(1)
    clock.pass_s(600)
    assert app.health.check_due() == ()
    assert "the next call tells" in app.health.down("world")["raw"].words(clock.now)
