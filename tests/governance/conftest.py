"""A store that is opened again and again, a time of day that a test sets, and calls that clients want."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.app import App, Settings, build_app
from core.domain.errors import Refusal
from core.domain.outcome import ToolCall
from core.governance.refusals import Wanted
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from tests.importing import import_text
from tests.relevance.toy_encoders import WordEncoder
from tests.world import document


class Clock:
    """A time of day that a test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def open_app(store: Store, folder: Path, clock: Clock) -> App:
    """An app on a store, with its files in a folder."""
    settings = Settings(db=folder / "wayfare.duckdb", cache=folder, seed=1, now=clock)
    return build_app(store, settings, encoder=CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors))


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Iterator[Callable[[], App]]:
    """Opens the store of this test, again and again. Without this fixture `app` has a store in memory."""
    apps: list[App] = []

    def open_again() -> App:
        apps.append(open_app(Store(tmp_path / "wayfare.duckdb"), tmp_path, clock))
        return apps[-1]

    yield open_again
    for app in apps:
        app.close()


@pytest.fixture
def app(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[App]:
    """An app with the catalog `world`."""
    reopens = "opened" in request.fixturenames
    with request.getfixturevalue("opened")() if reopens else open_app(Store(), tmp_path, clock) as app:
        import_text(app.catalog_editor, document(), "world")
        yield app


def wanted(
    app: App, tool: str = "raw::echo", client: str = "ann", tokens: int = 100, catalog: str = "world", **arguments: Any
) -> Wanted:
    """A call that a client wants to make."""
    server, _, name = tool.partition("::")
    definition = app.catalogs.catalog(catalog).find(server, name)[1]
    return Wanted(client, ToolCall(server, name, arguments, catalog=catalog), definition, tokens)


def refused(app: App, call: Wanted) -> Refusal:
    """The refusal of a call."""
    with pytest.raises(Refusal) as error:
        app.governance.before(call)
    return error.value


def policy(app: App, **rules: Any) -> None:
    """Change rules of the policy."""
    app.governance.set_policy(replace(app.governance.policy, **rules), origin="test")
